"""The same values in any table give the same reports, and the same reports in any table the same tallies."""

import pickle

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pytest

import sottovoce as sv

COLOURS = ["red", "green", "blue"]
VALUES = [COLOURS[i % 7 % 3] for i in range(20_000)]
NUMBERS = [COLOURS.index(value) for value in VALUES]
PROTOCOLS = {
    "grr": sv.grr(COLOURS, 1),
    "oue": sv.oue(COLOURS, 1),
    "lh": sv.lh(COLOURS, 1),
    "subset": sv.subset(COLOURS, 1),
    "mixture": sv.mixture([0.5, 0.5], [sv.grr(3, 1), sv.oue(3, 1)], labels=None),
}


def tables(column):
    """A column in every kind of table, with the name that chooses it from a table."""
    arrow = pyarrow.table({"x": column})
    frame, lazy = polars.from_arrow(arrow), polars.from_arrow(arrow).lazy()
    return {
        "pyarrow array": (pyarrow.array(column), None),
        "pyarrow chunked": (pyarrow.chunked_array([column[:7], column[7:]]), None),
        "pyarrow table": (arrow, "x"),
        "pyarrow batch": (arrow.to_batches()[0], "x"),
        "pyarrow reader": (arrow.to_reader(), "x"),
        "pandas frame": (pandas.DataFrame({"x": column, "other": 1}), "x"),
        "pandas series": (pandas.Series(column), None),
        "polars frame": (frame, "x"),
        "polars series": (frame["x"], None),
        "polars lazy": (lazy, "x"),
        "duckdb": (duckdb.sql("select * from arrow"), "x"),
        "list": (list(column), None),
        "tuple": (tuple(column), None),
    }


@pytest.mark.parametrize("kind", list(tables(VALUES[:20])))
def test_values_of_any_table_give_the_same_reports(kind):
    q = PROTOCOLS["oue"]
    wanted = q.randomise(VALUES, insecure_test_seed=7).to_bytes()
    values, column = tables(VALUES)[kind]
    assert q.randomise(values, column=column, insecure_test_seed=7).to_bytes() == wanted


def test_other_columns_of_values_are_the_same():
    labelled, plain = PROTOCOLS["grr"], sv.grr(3, 1)
    wanted = labelled.randomise(VALUES, insecure_test_seed=7).to_bytes()
    for values in [
        pandas.Series(VALUES, dtype="category"),
        polars.Series(VALUES, dtype=polars.Categorical),
        pyarrow.array(VALUES).dictionary_encode(),
        pyarrow.array(VALUES, pyarrow.large_string()),
        numpy.array(VALUES),
        numpy.array(VALUES, dtype=object),
    ]:
        assert labelled.randomise(values, insecure_test_seed=7).to_bytes() == wanted
    for kind in ["i1", "u1", "i2", "u4", "i8", "u8", "f4", "f8"]:
        assert plain.randomise(numpy.array(NUMBERS, dtype=kind), insecure_test_seed=7).to_bytes() == wanted
        assert plain.randomise(pyarrow.array(numpy.array(NUMBERS, dtype=kind)), insecure_test_seed=7).to_bytes() == wanted
    assert plain.randomise([numpy.int64(x) for x in NUMBERS], insecure_test_seed=7).to_bytes() == wanted


@pytest.mark.parametrize("name", list(PROTOCOLS))
def test_reports_of_any_table_give_the_same_tally(name):
    q = PROTOCOLS[name]
    values = NUMBERS if name == "mixture" else VALUES
    reports = q.randomise(values)
    wanted = q.tally(reports)
    assert wanted.n == len(values)
    arrow = pyarrow.table({"x": pyarrow.array(reports)})
    frame = polars.from_arrow(arrow)
    for kind, (found, column) in {
        "pyarrow array": (pyarrow.array(reports), None),
        "pyarrow table": (arrow, "x"),
        "pyarrow reader": (arrow.to_reader(), None),
        "pandas": (arrow.to_pandas(), "x"),
        "pandas, Arrow inside": (arrow.to_pandas(types_mapper=pandas.ArrowDtype)["x"], None),
        "polars": (frame, "x"),
        "polars series": (frame["x"], None),
        "polars lazy": (frame.lazy(), None),
        "duckdb": (duckdb.sql("select * from arrow"), None),
        "numpy": (reports.to_numpy(), None),
        "list": (arrow["x"].to_pylist(), None),
        "chunks": (pyarrow.chunked_array([pyarrow.array(reports)[:9], pyarrow.array(reports)[9:]]), None),
    }.items():
        assert q.tally(found, column=column) == wanted, kind


def test_reports_keep_their_protocol_and_their_mark_in_arrow():
    red, blue = sv.grr(3, 1), sv.grr(3, 2)
    reports = red.randomise([0, 1, 2], insecure_test_seed=1)
    # pyarrow keeps the metadata of a field in a table, but not in an array alone.
    class Table:
        """What speaks the interface and has the field as it is."""

        def __arrow_c_array__(self, requested_schema=None):
            return reports.__arrow_c_array__(requested_schema)

    assert red.tally(reports).insecure and red.tally(Table()).insecure
    with pytest.raises(sv.SottovoceError, match="another protocol"):
        blue.tally(Table())
    with pytest.raises(sv.SottovoceError, match="another protocol"):
        blue.tally(reports)
    assert pickle.loads(pickle.dumps(reports)).to_bytes() == reports.to_bytes()


def test_a_table_read_from_a_file_keeps_the_protocol_of_its_reports(tmp_path):
    import pyarrow.parquet

    red, blue = sv.grr(3, 1), sv.grr(3, 2)
    red.randomise([0, 1, 2], insecure_test_seed=1).save(tmp_path / "reports.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "reports.parquet")
    assert red.tally(table).insecure
    with pytest.raises(sv.SottovoceError, match="another protocol"):
        blue.tally(table)


def test_the_test_seed_gives_the_reports_of_the_command(command, tmp_path):
    import subprocess

    (tmp_path / "values.csv").write_text("value\n" + "\n".join(VALUES) + "\n")
    out = tmp_path / "reports.parquet"
    shorthand = "oue:a=3,eps=1,labels=red/green/blue"
    arguments = ["randomise", "-q", "-p", shorthand, "values.csv", "-o", str(out), "--insecure-test-seed", "7"]
    subprocess.run([command, *arguments], check=True, cwd=tmp_path)
    q = sv.protocol(shorthand)
    reports = q.randomise(VALUES, insecure_test_seed=7)
    assert sv.tally(out) == q.tally(reports)
    subprocess.run([command, "tally", "-q", str(out), "-o", "tallies.json"], check=True, cwd=tmp_path)
    assert sv.tally(out).to_json() == (tmp_path / "tallies.json").read_text()
    assert sv.Tally.load(tmp_path / "tallies.json") == sv.tally(out)
    for name in ["again.parquet", "again.csv", "again.jsonl"]:
        reports.save(tmp_path / name)
        assert sv.tally(tmp_path / name).to_json() == (tmp_path / "tallies.json").read_text()


def test_values_outside_the_domain():
    q = PROTOCOLS["grr"]
    with pytest.raises(sv.SottovoceError, match="^row 10001: the value is not one of the labels$"):
        q.randomise(VALUES[:10_001] + ["purple"] * 50_000)
    with pytest.raises(sv.SottovoceError, match="row 1: the value is missing"):
        q.randomise(pandas.Series(["red", None]))
    with pytest.raises(sv.SottovoceError, match="row 0: the value is a number, but the protocol has labels"):
        q.randomise([1])
    assert q.randomise(["red", "purple", None, "blue"], on_error="skip").skipped == 2
    with pytest.raises(sv.SottovoceError, match="column is to be one of a, b"):
        q.randomise(pyarrow.table({"a": ["red"], "b": ["red"]}))
    with pytest.raises(TypeError):
        q.randomise("red")


def test_pandas_without_pyarrow(monkeypatch):
    import builtins

    known = builtins.__import__

    def without(name, *rest, **more):
        if name == "pyarrow":
            raise ImportError(name)
        return known(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    q, frame = PROTOCOLS["grr"], pandas.DataFrame({"x": VALUES, "y": 1})
    wanted = q.randomise(VALUES, insecure_test_seed=7).to_bytes()
    assert q.randomise(frame["x"], insecure_test_seed=7).to_bytes() == wanted
    assert q.randomise(frame, column="x", insecure_test_seed=7).to_bytes() == wanted
    with pytest.raises(sv.SottovoceError, match="row 1: the value is missing"):
        sv.grr(3, 1).randomise(pandas.Series([1, None], dtype="Int64"))
    with pytest.raises(TypeError):
        q.randomise(pandas.NA)
