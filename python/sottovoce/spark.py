"""Tallies of the DataFrames of Spark (PySpark 4 or newer).

    import sottovoce.spark

    tally = sottovoce.spark.tally(spark.read.parquet("s3a://bucket/days/"))
    days = sottovoce.spark.tally(spark.read.parquet("s3a://bucket/days/"), by="day")

The package must be installed where the workers run too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from ._partial import PartialTally
from ._protocol import Protocol
from ._spark_files import SparkFile, file_errors, files_of, has_places, has_texts, refuse_other
from ._spark_work import Count, Merge
from ._tally import Tally
from .errors import InvalidInput, Unsupported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["tally"]

FAN = 32
"""So many parts are merged by one task."""

NUMBERS = ("byte", "short", "integer", "long")
KEYS = (*NUMBERS, "string", "boolean", "date", "timestamp", "timestamp_ntz", "decimal", "binary")


@overload
def tally(
    frame: DataFrame,
    protocol: Protocol | Mapping[str, Any] | str | None = None,
    *,
    by: None = None,
    column: str = "report",
    form: str = "auto",
    files: str = "whole",
    allow_copies: bool = False,
) -> Tally: ...


@overload
def tally(
    frame: DataFrame,
    protocol: Protocol | Mapping[str, Any] | str | None = None,
    *,
    by: str | Sequence[str],
    column: str = "report",
    form: str = "auto",
    files: str = "whole",
    allow_copies: bool = False,
) -> dict[Any, Tally]: ...


def tally(
    frame: DataFrame,
    protocol: Protocol | Mapping[str, Any] | str | None = None,
    *,
    by: str | Sequence[str] | None = None,
    column: str = "report",
    form: str = "auto",
    files: str = "whole",
    allow_copies: bool = False,
) -> Tally | dict[Any, Tally]:
    """The tally of a DataFrame, counted by Spark's workers. The protocol may be left out if the files name it.

    With ``by``, a column or a list of them, there is a tally for each group: a dictionary by the value, or by the tuple of values.

    ``files`` says what the DataFrame has to do with files:

    - ``"whole"``: it has all rows of Parquet files, as ``spark.read.parquet`` gives them. Then the tally is that of ``sottovoce tally`` on these files, to the byte. Headers and ends of
      the files are checked, and that each row was counted once.
    - ``"part"``: rows of these files were left out on purpose. Headers are checked.
    - ``"none"``: its rows are from anywhere. Nothing about files is checked.

    A tally of parts of files, or of rows from anywhere, is one batch that is known by its counts. So is that of a group which shares a file with another one.
    """
    if files not in ("whole", "part", "none"):
        raise InvalidInput("files is not one of whole, part and none", path="files")
    keys = [by] if isinstance(by, str) else list(by or ())
    source = _source(frame, protocol, column, files)
    work = (source.protocol._native.specification, form, len(keys))
    rows = _rows(frame, keys, column, source)
    broadcast = source.broadcast(frame)
    try:
        with file_errors():
            parts = _parts(rows, Count(*work, source.text, broadcast), Merge(*work)).collect()
    finally:
        if broadcast is not None:
            broadcast.destroy()
    whole, groups = _read(parts, source.protocol, form, len(keys))
    source.check(whole)
    if not keys:
        _refuse_nothing([whole])
        return whole.finish(allow_copies=allow_copies)
    _refuse_nothing(list(groups.values()))
    finished = {key: source.finished(part, allow_copies) for key, part in groups.items()}
    return {key[0]: part for key, part in finished.items()} if isinstance(by, str) else finished


@dataclass(frozen=True)
class Source:
    """Where the rows of a DataFrame are from."""

    protocol: Protocol
    files: list[SparkFile]
    insecure: set[str]
    text: bool
    whole: bool
    """Whether they are all rows of the files."""

    def broadcast(self, frame: Any) -> Any:
        """The files as workers know them: a name would be much longer than a report, so rows have a number instead."""
        if not self.whole:
            return None
        from pyspark.sql import functions

        session = frame.sparkSession
        names = session.createDataFrame([(file.said.name,) for file in self.files], "name string")
        found = names.select("name", functions.xxhash64("name").alias("number")).collect() if self.files else []
        known = {number: (name, name in self.insecure) for name, number in found}
        if len(known) < len(self.files):
            raise Unsupported("two files have the same number; tally them apart, and merge the tallies")
        return session.sparkContext.broadcast(known)

    def check(self, whole: PartialTally) -> None:
        """Checks that every file was counted as a whole, and has the reports that it should have."""
        if self.insecure:
            whole._native.mark_insecure()
        for file in (file.said for file in self.files if self.whole):
            whole._native.check_file(file.name, file.rows, file.header, file.end)

    def finished(self, group: PartialTally, allow_copies: bool) -> Tally:
        """The tally of a group, which knows its files if they are in it as a whole."""
        if not self.whole and self.insecure:
            group._native.mark_insecure()
        if not group._native.is_whole({file.said.name: file.said.rows for file in self.files}):
            group._native.forget_places()
        return group.finish(allow_copies=allow_copies)


def _source(frame: Any, protocol: Any, column: str, files: str) -> Source:
    if column not in frame.columns:
        raise InvalidInput(f"column is to be one of {', '.join(frame.columns)}", path="column")
    kind = frame.schema[column].dataType.typeName()
    if kind not in (*NUMBERS, "binary", "string"):
        raise InvalidInput(f"a column of type {kind} holds no reports", path="column")
    if files == "none":
        if protocol is None:
            raise InvalidInput("the protocol is missing", path="protocol")
        return Source(_protocol(protocol), [], set(), kind == "string", False)
    if not hasattr(frame, "_jdf"):
        raise Unsupported('Spark Connect does not show what files say about themselves; use a classic session, or files="none"')
    if not has_places(frame):
        message = 'the rows do not know their files, as those of spark.read.parquet do; files="none" counts them without'
        raise InvalidInput(message, path="files")
    found = files_of(frame, column)
    checked = _protocol(protocol if protocol is not None else _named(found))
    insecure = refuse_other(found, checked)
    text = kind == "string" or kind == "binary" and has_texts(found)
    return Source(checked, found, insecure, text, files == "whole")


def _protocol(protocol: Any) -> Protocol:
    return protocol if isinstance(protocol, Protocol) else Protocol(protocol)


def _named(files: list[SparkFile]) -> Mapping[str, Any]:
    """The protocol that the first file names."""
    for file in files:
        try:
            return dict(json.loads(file.said.header or "")["protocol"])
        except (ValueError, KeyError, TypeError):
            raise InvalidInput(f"{file.said.name} does not name its protocol", path="protocol") from None
    raise InvalidInput("there are no files", path="frame")


def _rows(frame: Any, keys: list[str], column: str, source: Source) -> Any:
    """The columns that are counted. Texts are taken as their bytes: nobody has checked that they are texts."""
    from pyspark.sql import functions

    for key in keys:
        if key not in frame.columns:
            raise InvalidInput(f"by is to have some of {', '.join(frame.columns)}", path="by")
        if (kind := frame.schema[key].dataType.typeName()) not in KEYS:
            raise InvalidInput(f"nothing is grouped by a column of type {kind}", path="by")
    report = frame[column].cast("binary") if source.text else frame[column]
    columns = [report.alias("report"), *(frame[key].alias(f"key{place}") for place, key in enumerate(keys))]
    if source.whole:
        places = functions.xxhash64(functions.col("_metadata.file_path")), functions.col("_metadata.row_index")
        columns += [places[0].alias("file"), places[1].alias("row")]
    return frame.select(*columns)


def _parts(rows: Any, count: Count, merge: Merge) -> Any:
    """One row for each group, and one for all: partitions are counted, and merged in a tree."""
    from pyspark.sql import functions
    from pyspark.sql.types import BinaryType, BooleanType, StructField, StructType

    keys = [f"key{place}" for place in range(count.keys)]
    kept = [StructField(key, rows.schema[key].dataType) for key in keys]
    more = [("grouped", BooleanType()), ("part", BinaryType()), ("problem", BinaryType())]
    schema = StructType([*kept, *(StructField(name, kind) for name, kind in more)])
    partitions = rows.rdd.getNumPartitions() if hasattr(rows, "_jdf") else FAN
    parts = rows.mapInArrow(count, schema)
    while partitions > FAN:
        partitions = -(-partitions // FAN)
        slot = (functions.spark_partition_id() % partitions).alias("slot")
        parts = parts.select("*", slot).repartition(partitions, "slot").drop("slot").mapInArrow(merge, schema)
    return parts.repartition(partitions if keys else 1, "grouped", *keys).mapInArrow(merge, schema)


def _read(rows: Any, protocol: Protocol, form: str, keys: int) -> tuple[PartialTally, dict[tuple[Any, ...], PartialTally]]:
    """The part of all rows, and those of the groups."""
    import pickle

    whole, groups = PartialTally(protocol, form=form), {}
    for row in rows:
        if row["problem"] is not None:
            raise pickle.loads(row["problem"])
        part = PartialTally.from_bytes(bytes(row["part"]), protocol)
        if row["grouped"]:
            groups[tuple(row[:keys])] = part
        else:
            whole.merge(part)
    return whole, groups


def _refuse_nothing(parts: list[PartialTally]) -> None:
    """Refuses tallies of nothing but rejected reports."""
    rejected = sum(sum(part.rejected.values()) for part in parts)
    if rejected and not any(part.n for part in parts):
        raise InvalidInput(f"none of the {rejected} reports fits the protocol")
