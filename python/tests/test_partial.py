"""Parts of tallies: whichever way rows are counted and merged, they give one tally."""

import pickle

import numpy
import pytest
from engines import reports, save, saved, written

import sottovoce as sv

GRR = sv.grr(64, 1)


@pytest.mark.parametrize("q", [GRR, sv.oue(20, 1), sv.lh(20, 1), sv.block(20, 1)])
@pytest.mark.parametrize("form", ["auto", "patterns", "supports"])
def test_parts_in_any_order_are_the_tally_of_the_file(q, form, tmp_path, command):
    path = save(q, tmp_path / "day.parquet", 3000)
    rows = sv.Reports(q._native, reports(q, 0).to_bytes())
    assert len(rows) == 0
    table = pytest.importorskip("pyarrow.parquet").read_table(path)
    cuts = [0, 1, 700, 1999, 3000]
    parts = [
        sv.PartialTally(q, form=form).update(table[start:end], column="report", file=str(path), first=start)
        for start, end in zip(cuts, cuts[1:], strict=False)
    ]
    orders = [(0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0)]
    sums = [sum((parts[place] for place in order[1:]), parts[order[0]]) for order in orders]
    assert len({one.to_bytes() for one in sums}) == 1
    sent = pickle.loads(pickle.dumps(sums[1]))
    assert sent == sums[0] and sent.n == 3000
    assert saved(sent.check([path]).finish(), tmp_path) == written(command, [path], tmp_path, "--form", form)


def test_places_in_columns(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    values = numpy.arange(3000) % 64
    files = ["a"] * 1000 + ["b"] * 2000
    rows = [*range(1000), *range(2000)]
    order = numpy.random.default_rng(5).permutation(3000)
    whole = sv.PartialTally(GRR).update(values[:1000], file="a").update(values[1000:], file="b")
    table = pyarrow.table({"report": values, "file": files, "row": rows})
    assert sv.PartialTally(GRR).update(table, places=("file", "row")) == whole
    assert sv.PartialTally(GRR).update(table.take(order), places=("file", "row")) == whole
    with pytest.raises(sv.SottovoceError, match="a: row 1 was counted twice"):
        whole.update(table, places=("file", "row"))
    missing = table.set_column(1, "file", pyarrow.array([None] * 3000, pyarrow.string()))
    with pytest.raises(sv.SottovoceError, match="missing their places"):
        sv.PartialTally(GRR).update(missing, places=("file", "row"))


def test_rows_are_counted_once_and_all_of_them():
    first, last = sv.PartialTally(GRR).update([1, 2], file="a"), sv.PartialTally(GRR).update([3], file="a", first=3)
    with pytest.raises(sv.SottovoceError, match="a: row 3 was not counted"):
        (first + last).finish()
    with pytest.raises(sv.SottovoceError, match="a: row 2 was counted twice"):
        first + sv.PartialTally(GRR).update([3], file="a", first=1)
    assert first.n == 2
    first.update([7, 99, -1], file="b")
    assert (first.n, first.rejected) == (3, {"out_of_range": 2})
    with pytest.raises(sv.SottovoceError, match="another protocol"):
        first + sv.PartialTally(sv.grr(63, 1))
    with pytest.raises(TypeError):
        first + 1
    with pytest.raises(sv.SottovoceError, match="ask all workers for the same form"):
        sv.PartialTally(sv.oue(3, 1)) + sv.PartialTally(sv.oue(3, 1), form="supports")


def test_reports_from_nowhere_are_known_by_their_counts():
    values = numpy.arange(5000) % 64
    halves = [sv.PartialTally(GRR).update(values[:2000]), sv.PartialTally(GRR).update(values[2000:])]
    thirds = [sv.PartialTally(GRR).update(values[start::3]) for start in range(3)]
    tally = (halves[0] + halves[1]).finish()
    assert [batch["of"] for batch in tally.data["batches"]] == ["counts"]
    assert (thirds[2] + thirds[0] + thirds[1]).finish().to_json() == tally.to_json()


def test_marks_of_test_seeds_stay():
    insecure = sv.PartialTally(GRR).update(reports(GRR, 10, seed=1), file="a")
    assert insecure.insecure and not sv.PartialTally(GRR).update(reports(GRR, 10), file="b").insecure
    assert (sv.PartialTally(GRR) + insecure).finish().insecure
    with pytest.raises(sv.SottovoceError, match="another protocol"):
        sv.PartialTally(sv.grr(63, 1)).update(reports(GRR, 10))


def test_files_are_checked(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = save(GRR, tmp_path / "day.parquet", 3000, seed=4)
    table = parquet.read_table(path)
    part = sv.PartialTally(GRR).update(table, file=str(path))
    assert part.check([path]).insecure
    with pytest.raises(sv.SottovoceError, match="row 2001 was not counted"):
        sv.PartialTally(GRR).update(table[:2000], file=str(path)).check([path])
    with pytest.raises(sv.SottovoceError, match="protocol"):
        sv.PartialTally(sv.grr(65, 1)).update(numpy.zeros(3000, int), file=str(path)).check([path])
    changed = table.to_pydict()["report"]
    changed[5] = (changed[5] + 1) % 64
    with pytest.raises(sv.SottovoceError, match="digest|changed|incomplete"):
        sv.PartialTally(GRR).update(changed, file=str(path)).check([path])
    parquet.write_table(table.replace_schema_metadata({"sottovoce.end": "{}"}), path)
    with pytest.raises(sv.SottovoceError, match="header"):
        part.check([path])


def test_bytes_that_are_no_part_are_refused():
    sent = sv.PartialTally(GRR).update([1, 2, 3], file="a").to_bytes()
    for wrong in (b"", b"SVTALLY", sent[:-1], sent[:20] + b"\0" + sent[21:], sent + b"\0", b"{}"):
        with pytest.raises(sv.SottovoceError):
            sv.PartialTally.from_bytes(wrong, GRR)
    with pytest.raises(sv.SottovoceError, match="another protocol"):
        sv.PartialTally.from_bytes(sent, sv.grr(63, 1))
    with pytest.raises(TypeError):
        sv.PartialTally.from_bytes("text", GRR)


def test_a_worker_knows_the_places_of_many_batches():
    """Batches are no jumps: a group that has 1500 of them, in two files, still has the files as a whole. A group that is mixed with another does not."""
    pyarrow = pytest.importorskip("pyarrow")
    from sottovoce._spark_work import Count, Merge

    class Files:
        value = {1: ("a", False), 2: ("b", True)}

    def batch(place, keys):
        file, row = divmod(place * 4, 3000)
        columns = [[0, 1, 2, 99], keys, [file + 1] * 4, list(range(row, row + 4))]
        return pyarrow.RecordBatch.from_arrays(list(map(pyarrow.array, columns)), names=["report", "key0", "file", "row"])

    work = (GRR._native.specification, "auto", 1)

    def parts(keys):
        whole = Count(*work, False, Files)(batch(place, keys) for place in range(1500))
        rows = list(Merge(*work)(whole))
        return {(row["grouped"][0].as_py(), row["key0"][0].as_py()): row["part"][0].as_py() for row in rows}

    alone = parts(["x"] * 4)
    found = sv.PartialTally.from_bytes(alone[True, "x"], GRR)
    assert alone[True, "x"] == alone[False, None] and found.n == 4500 and found.rejected == {"out_of_range": 1500}
    assert found.insecure and found._native.is_whole({"a": 3000, "b": 3000})
    assert [batch["n"] for batch in found.finish(allow_copies=True).data["batches"]] == [2250, 2250]
    mixed = parts(["x", "y", "x", "y"])
    ones = [sv.PartialTally.from_bytes(mixed[True, key], GRR) for key in "xy"]
    assert [one.n for one in ones] == [3000, 1500]
    assert all([batch["of"] for batch in one.finish().data["batches"]] == ["counts"] for one in ones)
