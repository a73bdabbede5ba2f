"""What Spark's workers do: count the rows of a partition, and merge what others have counted.

Both are functions of their input alone, and have no effect but their output. A task that is repeated gives the same part again, and Spark keeps the output of one attempt only: nothing is
counted twice when a worker is lost.

An error that we know is an output too. Spark would repeat the task, which cannot help, and wrap what we say into its own pages.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ._partial import PartialTally, runs
from ._protocol import Protocol
from .errors import InvalidInput, SottovoceError

__all__ = ["Count", "Merge"]

MAX_JUMPS = 1000
"""A task whose rows jump more often within a file does not have them in the order of their files. (Each jump is kept: 10⁸ shuffled rows would be gigabytes.) A group whose rows do is mixed with others,
and known by its counts. Spark's pieces of a file are large, so whole files have few jumps."""


@dataclass(frozen=True)
class Work:
    """What every task knows."""

    specification: str
    form: str
    keys: int
    """The number of columns that rows are grouped by."""

    def protocol(self) -> Protocol:
        return Protocol(self.specification)

    def row(self, keys: Any, *, grouped: bool = False, part: PartialTally | None = None, problem: bytes | None = None) -> Any:
        """One row: the key of a group, whether it is one, and what was counted or why not."""
        import pyarrow

        values = [None if part is None else part.to_bytes(), problem]
        columns = [*keys, pyarrow.array([grouped]), *(pyarrow.array([value], pyarrow.binary()) for value in values)]
        names = [*(f"key{place}" for place in range(self.keys)), "grouped", "part", "problem"]
        return pyarrow.RecordBatch.from_arrays(columns, names=names)

    def missing_keys(self, schema: Any) -> list[Any]:
        import pyarrow

        return [pyarrow.nulls(1, schema.field(f"key{place}").type) for place in range(self.keys)]

    def tried(self, batches: Iterator[Any], work: Any) -> Iterator[Any]:
        """The rows that the work makes of the batches, or one that says what is wrong."""
        for first in batches:
            break
        else:
            return
        try:
            yield from work(first, batches)
        except SottovoceError as error:
            yield self.row(self.missing_keys(first.schema), problem=pickle.dumps(error))


@dataclass(frozen=True)
class Count(Work):
    """Counts the rows of a partition: a part of all of them, and one for each group."""

    text: bool
    files: Any
    """A broadcast: the name of each file by its number, and whether its reports follow from a test seed. None if rows do not know their places."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        return self.tried(batches, self.counted)

    def counted(self, first: Any, rest: Iterator[Any]) -> Iterator[Any]:
        protocol = self.protocol()
        whole, groups = Group(self, protocol), dict[tuple[Any, ...], Group]()
        for batch in _chain(first, rest):
            if self.files is not None or not self.keys:
                whole.add(batch)
            for key, at, rows in self.split(batch):
                if key not in groups:
                    groups[key] = Group(self, protocol, at)
                groups[key].add(rows)
        yield self.row(self.missing_keys(first.schema), part=whole.part)
        for group in groups.values():
            yield self.row(group.key, grouped=True, part=group.part)

    def split(self, batch: Any) -> Iterator[tuple[tuple[Any, ...], list[Any], Any]]:
        """The groups of a batch: each with its key, as values and as arrays, and its rows."""
        import numpy

        if not self.keys:
            return
        columns = [batch.column(f"key{place}") for place in range(self.keys)]
        codes = numpy.zeros(batch.num_rows, dtype=numpy.int64)
        for column in columns:
            encoded = column.dictionary_encode(null_encoding="encode")
            # Numbers stay small: groups are numbered again after every column.
            codes = codes * (len(encoded.dictionary) + 1) + numpy.asarray(encoded.indices)
            codes = numpy.unique(codes, return_inverse=True)[1]
        for code in range(int(codes.max(initial=-1)) + 1):
            rows = numpy.flatnonzero(codes == code)
            at = [column.slice(int(rows[0]), 1) for column in columns]
            together = rows[-1] - rows[0] + 1 == len(rows)
            chosen = batch.slice(int(rows[0]), len(rows)) if together else batch.take(rows)
            yield tuple(value[0].as_py() for value in at), at, chosen


class Group:
    """What is counted together: all rows of a partition, or those of a group."""

    def __init__(self, work: Count, protocol: Protocol, key: list[Any] | None = None) -> None:
        self.work, self.key = work, key
        self.part, self.jumps = PartialTally(protocol, form=work.form), 0
        self.placed = work.files is not None
        self.next: dict[int, int] = {}
        """The row that would follow, by the number of the file."""

    def add(self, batch: Any) -> None:
        import numpy

        if self.work.files is None:
            return self.rows(batch, 0, batch.num_rows)
        files, rows = (numpy.asarray(batch.column(name)) for name in ("file", "row"))
        if not self.placed:
            for file in numpy.unique(files):
                self.known(int(file))
            return self.rows(batch, 0, batch.num_rows)
        for start, end in runs(files, rows):
            name = self.known(int(files[start]))
            self.follow(int(files[start]), int(rows[start]), int(rows[end - 1]) + 1)
            self.rows(batch, start, end, name if self.placed else None, int(rows[start]))

    def known(self, file: int) -> str:
        """The name of a file that has some of the rows."""
        name, insecure = self.work.files.value.get(file, (None, False))
        if name is None:
            raise InvalidInput("a row is from a file that the DataFrame did not name; was the table changed meanwhile?")
        if insecure:
            self.part._native.mark_insecure()
        return str(name)

    def follow(self, file: int, first: int, end: int) -> None:
        """Notes rows of a file, and gives up their places if they jump too often."""
        self.jumps += self.next.get(file, first) != first
        self.next[file] = end
        if self.placed and self.jumps > MAX_JUMPS:
            if self.key is None:
                raise InvalidInput("rows are not in the order of their files: tally a DataFrame before it is sorted or shuffled")
            self.placed = False
            self.part._native.forget_places()

    def rows(self, batch: Any, start: int, end: int, file: str | None = None, first: int = 0) -> None:
        reports = batch.column("report")[start:end]
        self.part._native.update(reports, file=file, first=first, text=self.work.text)


@dataclass(frozen=True)
class Merge(Work):
    """Merges parts: one row a group."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        return self.tried(batches, self.merged)

    def merged(self, first: Any, rest: Iterator[Any]) -> Iterator[Any]:
        protocol = self.protocol()
        parts: dict[tuple[Any, ...], tuple[list[Any], bool, PartialTally]] = {}
        for batch in _chain(first, rest):
            for place in range(batch.num_rows):
                row = batch.slice(place, 1)
                problem = row.column("problem")[0].as_py()
                if problem is not None:
                    raise pickle.loads(problem)
                at, grouped = [row.column(key) for key in range(self.keys)], row.column("grouped")[0].as_py()
                part = PartialTally.from_bytes(row.column("part")[0].as_py(), protocol)
                key = (grouped, *(value[0].as_py() for value in at))
                if key in parts:
                    parts[key][2].merge(part)
                else:
                    parts[key] = (at, grouped, part)
        for at, grouped, part in parts.values():
            yield self.row(at, grouped=grouped, part=part)


def _chain(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest
