"""Parts of tallies: what one worker has counted, as a value that can be sent and merged."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from . import _native
from ._columns import Packed, prepared
from ._counted import Counted
from ._native import PartialTally as Native
from ._footer import File, described
from ._protocol import Protocol
from ._tally import Tally
from .errors import InvalidInput

__all__ = ["PartialTally"]


class PartialTally(Counted):
    """What one worker has counted, and where the reports were: for engines that have the rows of many files on many machines.

    >>> import sottovoce as sv
    >>> q = sv.grr(3, 1)
    >>> first = sv.PartialTally(q).update([0, 2, 2], file="monday")
    >>> second = sv.PartialTally(q).update([1, 0], file="monday", first=3)
    >>> sent = second.to_bytes()
    >>> (sv.PartialTally.from_bytes(sent, q) + first).finish() == q.tally([0, 2, 2, 1, 0])
    True

    Parts are merged in any order, down to the same bytes. Rows of a file that are counted twice are refused when they meet, and rows that are missing when the tally is finished. Then
    every file is a batch, as if one machine had counted it. Reports without a ``file`` came from nobody knows where: a tally that has some is known by its counts alone.
    """

    _native: Native

    def __init__(self, protocol: Protocol, *, form: str = "auto") -> None:
        if not isinstance(protocol, Protocol):
            raise TypeError(f"a tally is of a Protocol, not of a {type(protocol).__name__}")
        self._native = _native.PartialTally(protocol._native, form)

    @classmethod
    def _of(cls, native: Native) -> PartialTally:
        part = cls.__new__(cls)
        part._native = native
        return part

    def update(
        self,
        reports: Any,
        *,
        column: str | None = None,
        file: str | None = None,
        first: int = 0,
        places: tuple[str, str] | None = None,
    ) -> PartialTally:
        """Counts a column of reports, and returns the part itself. ``reports`` and ``column`` are as in `Tally.update`.

        The rows are those of a ``file`` that follow its ``first`` rows. Or they are anywhere: ``places`` names the two columns of the table that have the file of each row, and its number in
        the file, from 0.
        """
        if places is None:
            return self._rows(*prepared(reports, column), file, first)
        if file is not None:
            raise InvalidInput("file goes without places", path="file")
        table = _table(reports)
        reports = table.column(column or "report").combine_chunks()
        names, files, numbers = _places(table, places)
        for start, end in runs(files, numbers):
            self._rows(reports[start:end], None, names[int(files[start])], int(numbers[start]))
        return self

    def _rows(self, reports: Any, name: str | None, file: str | None, first: int) -> PartialTally:
        if isinstance(reports, Packed):
            self._native.update_bytes(reports.bytes, reports.length, file=file, first=first)
        else:
            self._native.update(reports, column=name, file=file, first=first)
        return self

    def check(self, files: Iterable[str | os.PathLike[str]]) -> PartialTally:
        """Checks that all rows of these Parquet files were counted, that they are the reports that each file says it has, and that they are of this protocol. Returns the part itself.

        The files are named as in `update`. Those whose reports follow from a test seed mark the part as insecure. It takes pyarrow.
        """
        from pyarrow import parquet

        for file in files:
            name = os.fspath(file)
            self._check(described(name, parquet.read_metadata(name)))
        return self

    def _check(self, file: File) -> None:
        if _native.check_header(Protocol(self._native.specification)._native, file.name, file.header, file.end, file.named):
            self._native.mark_insecure()
        self._native.check_file(file.name, file.rows, file.header, file.end)

    def merge(self, other: PartialTally) -> PartialTally:
        """Adds what another part has counted, and returns the part itself."""
        if not isinstance(other, PartialTally):
            raise TypeError(f"a {type(other).__name__} is no part of a tally")
        self._native.merge(other._native)
        return self

    def copy(self) -> PartialTally:
        """A copy, which counts on its own."""
        return PartialTally._of(self._native.copy())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartialTally):
            return NotImplemented
        return self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def finish(self, *, allow_copies: bool = False) -> Tally:
        """The tally. Files that have all their reports in common are refused, unless copies are allowed."""
        return Tally._of(self._native.finish(allow_copies=allow_copies))

    def to_bytes(self) -> bytes:
        """The part in a few bytes. Equal parts have equal bytes."""
        return self._native.to_bytes()

    @staticmethod
    def from_bytes(part: bytes | bytearray | memoryview, protocol: Protocol) -> PartialTally:
        """The part in these bytes, which must be of the protocol."""
        if not isinstance(part, (bytes, bytearray, memoryview)):
            raise TypeError(f"a part of a tally is bytes, not a {type(part).__name__}")
        return PartialTally._of(_native.PartialTally.from_bytes(bytes(part), protocol._native))

    def __repr__(self) -> str:
        rejected = f", {sum(self.rejected.values())} rejected" if self.rejected else ""
        insecure = ", insecure" if self.insecure else ""
        return f"<PartialTally of {self.n} reports of {self.protocol.specification['kind']}{rejected}{insecure}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (PartialTally.from_bytes, (self.to_bytes(), self.protocol))


def runs(files: Any, rows: Any) -> Iterator[tuple[int, int]]:
    """Where the rows that follow one another in one file begin and end. Both are arrays of numpy."""
    import numpy

    breaks = numpy.flatnonzero((files[1:] != files[:-1]) | (rows[1:] != rows[:-1] + 1)) + 1
    ends = [*breaks.tolist(), len(rows)] if len(rows) else []
    return zip([0, *ends], ends, strict=False)


def _table(reports: Any) -> Any:
    import pyarrow

    return pyarrow.Table.from_batches([reports]) if isinstance(reports, pyarrow.RecordBatch) else pyarrow.table(reports)


def _places(table: Any, places: tuple[str, str]) -> tuple[list[str], Any, Any]:
    """The names of the files, and for every row the number of its name and its number in the file."""
    import numpy
    import pyarrow

    files, rows = (table.column(name) for name in places)
    if files.null_count or rows.null_count:
        raise InvalidInput("rows are missing their places", path="places")
    files = files.combine_chunks()
    encoded = files if pyarrow.types.is_dictionary(files.type) else files.dictionary_encode()
    return encoded.dictionary.to_pylist(), numpy.asarray(encoded.indices), numpy.asarray(rows, dtype=numpy.int64)
