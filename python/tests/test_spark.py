"""Tallies of Spark's DataFrames are those of `sottovoce tally` on the same files, to the byte; and what is wrong with files is said."""

import os
import re
import shutil
import sys

import pytest
from conftest import FULL, ROOT
from engines import GRR, OUE, needs, save, saved, written

import sottovoce as sv

pytestmark = needs("spark")


@pytest.fixture(scope="module")
def spark():
    """Two workers in processes of their own. Files are cut into many partitions, and batches are small."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.executor.memory", "512m")
        .config("spark.sql.files.maxPartitionBytes", "2k")
        .config("spark.sql.files.openCostInBytes", "0")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "300")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


BOTH = pytest.mark.parametrize("q", [GRR, OUE], ids=["grr", "oue"])


def saved_days(q, place):
    return [save(q, place / "days" / f"day={day}" / "a b.parquet", 2000 + day, seed=day or None) for day in range(4)]


@pytest.fixture
def days(tmp_path):
    return saved_days(GRR, tmp_path)


def spark_tally(*arguments, **settings):
    import sottovoce.spark

    return sottovoce.spark.tally(*arguments, **settings)


@BOTH
def test_the_tally_is_that_of_the_command(spark, q, tmp_path, command):
    days = saved_days(q, tmp_path)
    frame = spark.read.parquet(str(tmp_path / "days"))
    assert frame.rdd.getNumPartitions() > len(days)
    expected = written(command, days, tmp_path)
    for found in (spark_tally(frame), spark_tally(frame.select("day", "report").coalesce(1), q)):
        assert saved(found, tmp_path) == expected
    if q is OUE:
        supports = written(command, days, tmp_path, "--form", "supports")
        assert saved(spark_tally(frame.coalesce(2), form="supports"), tmp_path) == supports


def test_many_partitions_are_merged_in_a_tree(spark, tmp_path, command):
    days = [save(GRR, tmp_path / f"days/{day}.parquet", 700 + day) for day in range(40)]
    frame = spark.read.parquet(str(tmp_path / "days"))
    assert frame.rdd.getNumPartitions() > 32
    assert saved(spark_tally(frame), tmp_path) == written(command, days, tmp_path)


def test_groups_that_have_files_of_their_own(spark, days, tmp_path, command):
    found = spark_tally(spark.read.parquet(str(tmp_path / "days")), by="day")
    assert set(found) == {0, 1, 2, 3}
    for day, path in enumerate(days):
        assert saved(found[day], tmp_path) == written(command, [path], tmp_path)
        assert found[day].insecure == (day > 0)


@BOTH
def test_groups_that_share_files(spark, q, tmp_path):
    versions = ["old" if row % 3 else None for row in range(5000)]
    paths = [save(q, tmp_path / f"day={day}" / "a.parquet", 5000, groups={"version": versions}) for day in range(2)]
    frame = spark.read.parquet(str(tmp_path))
    found = spark_tally(frame, by=["day", "version"])
    assert set(found) == {(day, version) for day in range(2) for version in ("old", None)}
    from pyarrow import parquet

    for (day, version), tally in found.items():
        rows = [row for row in range(5000) if versions[row] == version]
        expected = sv.PartialTally(q).update(parquet.read_table(paths[day]).take(rows), column="report").finish()
        assert tally.to_json() == expected.to_json()
    again = spark_tally(frame.repartition(3), q, by=["day", "version"], files="none")
    assert {key: tally.to_json() for key, tally in again.items()} == {key: tally.to_json() for key, tally in found.items()}


def test_the_recipes(spark, tmp_path, command):
    page = (ROOT / "docs/beyond-one-machine.md").read_text(encoding="utf-8")
    days = [save(GRR, tmp_path / f"days/{day}.parquet", 2000, groups={"day": [day] * 2000}) for day in range(3)]
    for name in ("spark", "spark files"):
        block = re.search(rf"```python {name}\n(.*?)```", page, re.DOTALL).group(1)
        names = {"spark": spark}
        exec(compile(block.replace("/data/", f"{tmp_path}/"), name, "exec"), names)
        assert saved(names["tally"], tmp_path) == written(command, days, tmp_path)
        assert name == "spark files" or set(names["days"]) == {(0,), (1,), (2,)}


def test_bad_reports_are_counted_by_reason(spark, tmp_path, command):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "numbers": pyarrow.array([1, 2, 64, -1, None, 5] * 300, pyarrow.int32()),
        "texts": pyarrow.array(["01", "1", "x1", "", None, "63", "64"] * 300),
        "bytes": pyarrow.array([b"01", b"\xff\xff", b"1", None] * 300, pyarrow.binary()),
        "fixed": pyarrow.array([b"\x01", b"\x40", None] * 300, pyarrow.binary(1)),
        "long": pyarrow.array([b"\x01\x00"] * 300 + [None], pyarrow.binary(2)),
    }
    for name, column in columns.items():
        path = tmp_path / f"{name}.parquet"
        parquet.write_table(pyarrow.table({"report": column}), path)
        frame = spark.read.parquet(str(path))
        if name == "long":
            with pytest.raises(sv.SottovoceError, match="none of the 301 reports fits"):
                spark_tally(frame, GRR)
            continue
        found = spark_tally(frame, GRR)
        assert saved(found, tmp_path) == written(command, [path], tmp_path, "--protocol", "grr:a=64,eps=1"), name
        assert found.n and found.rejected, name
    with pytest.raises(sv.SottovoceError, match="does not name its protocol"):
        spark_tally(frame)
    together = spark.read.parquet(*(str(tmp_path / f"{name}.parquet") for name in ("bytes", "fixed")))
    with pytest.raises(sv.SottovoceError, match="some files have reports in text"):
        spark_tally(together, GRR)


def test_files_that_are_not_what_they_say(spark, tmp_path):
    from pyarrow import parquet

    good = save(GRR, tmp_path / "good.parquet", 3000)
    other = save(sv.grr(65, 1), tmp_path / "other.parquet", 3000)
    with pytest.raises(sv.SottovoceError, match=r"other\.parquet.*another protocol"):
        spark_tally(spark.read.parquet(str(good), str(other)), GRR)
    table = parquet.read_table(good)
    cut, changed = tmp_path / "cut.parquet", tmp_path / "changed.parquet"
    parquet.write_table(table[:2999], cut)
    values = table.to_pydict()["report"]
    values[17] = (values[17] + 1) % 64
    parquet.write_table(type(table).from_pydict({"report": values}, schema=table.schema), changed)
    for path in (cut, changed):
        with pytest.raises(sv.SottovoceError, match=path.name) as found:
            spark_tally(spark.read.parquet(str(path)))
        with pytest.raises(sv.SottovoceError, match=path.name) as expected:
            sv.tally(path)
        assert str(found.value).split("parquet")[-1] == str(expected.value).split("parquet")[-1]
    parquet.write_table(table.replace_schema_metadata({"sottovoce.end": "{}"}), cut)
    with pytest.raises(sv.SottovoceError, match="header"):
        spark_tally(spark.read.parquet(str(cut)), GRR)


def test_files_that_are_damaged_or_gone(spark, days, tmp_path):
    folder = str(tmp_path / "days")
    whole = days[1].read_bytes()
    days[1].write_bytes(whole[:2000] + b"\xff" * 500 + whole[2500:])
    with pytest.raises(sv.SottovoceError, match="a%20b.parquet|incomplete|damaged"):
        spark_tally(spark.read.parquet(folder))
    days[1].write_bytes(whole[:-100])
    with pytest.raises(sv.SottovoceError, match="damaged"):
        spark_tally(spark.read.parquet(folder).select("report"), GRR)
    days[1].write_bytes(whole)
    frame = spark.read.parquet(folder)
    days[2].unlink()
    with pytest.raises(sv.SottovoceError, match="does not exist any more"):
        spark_tally(frame)


def test_a_file_that_goes_while_it_is_counted(spark, days, tmp_path, monkeypatch):
    """Also where Spark was told not to mind."""
    import sottovoce.spark

    rows = sottovoce.spark._rows
    kept = days[2].read_bytes()

    def gone(*arguments):
        days[2].unlink()
        return rows(*arguments)

    monkeypatch.setattr(sottovoce.spark, "_rows", gone)
    with pytest.raises(sv.SottovoceError, match="day=2.*does not exist any more"):
        spark_tally(spark.read.parquet(str(tmp_path / "days")))
    days[2].write_bytes(kept)
    frame = spark.read.option("ignoreMissingFiles", "true").parquet(str(tmp_path / "days"))
    with pytest.raises(sv.SottovoceError, match="day=2.*row 1 was not counted"):
        spark_tally(frame)


def test_rows_that_are_there_twice_or_not_at_all(spark, days, tmp_path):
    frame = spark.read.parquet(str(tmp_path / "days"))
    twice = frame.crossJoin(spark.range(2))
    with pytest.raises(sv.SottovoceError, match="was counted twice|not in the order"):
        spark_tally(twice, GRR)
    some = frame.where("day > 0")
    with pytest.raises(sv.SottovoceError, match="row 1 was not counted"):
        spark_tally(some)
    found = spark_tally(some, files="part")
    assert found.n == 2001 + 2002 + 2003 and found.insecure
    assert found.data.get("counts") == sv.tally(days[1:]).data.get("counts")
    with pytest.raises(sv.SottovoceError, match="do not know their files"):
        spark_tally(frame.union(frame), GRR)
    assert spark_tally(frame.union(frame), GRR, files="none").n == 2 * (2000 + 2001 + 2002 + 2003)


def test_shuffled_rows_are_refused(spark, tmp_path):
    save(GRR, tmp_path / "a.parquet", 25_000)
    frame = spark.read.parquet(str(tmp_path / "a.parquet")).orderBy("report").coalesce(1)
    with pytest.raises(sv.SottovoceError, match="not in the order of their files"):
        spark_tally(frame)


def test_what_cannot_be_counted(spark, days, tmp_path):
    from pyspark.sql import functions

    frame = spark.read.parquet(str(tmp_path / "days"))
    with pytest.raises(sv.SottovoceError, match="column is to be one of report, day"):
        spark_tally(frame, column="y")
    with pytest.raises(sv.SottovoceError, match="of type double holds no reports"):
        spark_tally(frame.select(functions.lit(1.0).alias("report")), GRR)
    with pytest.raises(sv.SottovoceError, match="by is to have some of report, day"):
        spark_tally(frame, by="version")
    with pytest.raises(sv.SottovoceError, match="files is not one of"):
        spark_tally(frame, files="all")
    with pytest.raises(sv.SottovoceError, match="the protocol is missing"):
        spark_tally(frame, files="none")
    with pytest.raises(sv.SottovoceError, match="reports in common"):
        shutil.copy(days[3], days[3].with_name("copy.parquet"))
        spark_tally(spark.read.parquet(str(tmp_path / "days")))
    copies = spark_tally(spark.read.parquet(str(tmp_path / "days")), allow_copies=True)
    assert copies.n == 2000 + 2001 + 2002 + 2 * 2003


@pytest.mark.parametrize("at", range(0, 3000, 300) if FULL else [1500])
def test_a_worker_that_is_killed_changes_nothing(spark, tmp_path, command, at):
    """The executor that is at this row of the third file is killed, once, in the middle of a partition."""
    from pyspark.sql import functions

    days = [save(GRR, tmp_path / f"days/{day}.parquet", 3000) for day in range(6)]
    mark = str(tmp_path / "killed")

    @functions.udf("boolean")
    def kill(path, row):
        if row >= at and path.endswith("2.parquet") and not os.path.exists(mark):
            open(mark, "x").close()
            # The worker's parent is the daemon that forked it, whose parent is the executor.
            daemon = os.getppid()
            with open(f"/proc/{daemon}/stat") as status:
                os.kill(int(status.read().rpartition(")")[2].split()[1]), 9)
        return True

    frame = spark.read.parquet(str(tmp_path / "days"))
    frame = frame.where(kill(functions.col("_metadata.file_path"), functions.col("_metadata.row_index")))
    expected = written(command, days, tmp_path)
    assert saved(spark_tally(frame, GRR), tmp_path) == expected
    assert os.path.exists(mark)
