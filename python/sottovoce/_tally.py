"""Tallies: what the aggregator counts."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from ._columns import Packed, prepared
from ._counted import Counted
from ._native import Tally as Native
from ._protocol import Protocol
from ._running import encode
from .errors import FileError, InvalidInput

if TYPE_CHECKING:
    from ._posterior import Posterior
    from ._report import Estimate

__all__ = ["Tally", "merge", "tally"]


class Tally(Counted):
    """How often each output of a protocol was reported.

    >>> import sottovoce as sv
    >>> q = sv.grr(["red", "green", "blue"], 2)
    >>> monday, tuesday = sv.Tally(q).update([0, 0, 2]), sv.Tally(q).update([1, 0])
    >>> (monday + tuesday).n
    5
    >>> sv.Tally.from_bytes(monday.to_bytes()) == monday
    True

    What is not a report of the protocol is rejected, and counted in ``rejected``. Reports of unary encoding, subset selection and local hash are kept as they are while there are
    few different ones (``patterns``), then as the number of reports that support each value (``supports``); ``form`` asks for one of them.

    The same reports are not counted twice: a column of a thousand or more that was counted before is refused, and so is a tally that has a part in common. ``allow_copies`` allows it.
    """

    _native: Native

    def __init__(self, protocol: Protocol, *, form: str = "auto") -> None:
        if not isinstance(protocol, Protocol):
            raise TypeError(f"a tally is of a Protocol, not of a {type(protocol).__name__}")
        self._native = _native.Tally(protocol._native, form)

    @classmethod
    def _of(cls, native: Native) -> Tally:
        tally = cls.__new__(cls)
        tally._native = native
        return tally

    def update(self, reports: Any, *, column: str | None = None, allow_copies: bool = False) -> Tally:
        """Counts a column of reports, and returns the tally itself.

        ``reports`` come from `Protocol.randomise`, or are a column of pandas, Polars, pyarrow or DuckDB, a table of them of which ``column`` names one, a numpy array, or a list: numbers for
        protocols whose reports are numbers, else bytes, or text as files have it.
        """
        if isinstance(reports, _native.Reports):
            self._native.update(reports, allow_copies=allow_copies)
            return self
        found, name = prepared(reports, column)
        if isinstance(found, Packed):
            self._native.update_bytes(found.bytes, found.length, allow_copies=allow_copies)
        else:
            self._native.update(found, column=name, allow_copies=allow_copies)
        return self

    def add(self, report: int | bytes | str) -> None:
        """Counts one report, as `Protocol.randomise_one` gives it. What is no report is refused."""
        self._native.add_one(report)

    def merge(self, other: Tally, *, allow_copies: bool = False) -> Tally:
        """Adds what another tally of the same protocol has counted, and returns the tally itself."""
        if not isinstance(other, Tally):
            raise TypeError(f"a {type(other).__name__} is not a tally")
        self._native.merge(other._native, allow_copies=allow_copies)
        return self

    def copy(self) -> Tally:
        """A copy, which counts on its own."""
        return Tally._of(self._native.copy())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return bool(self._native == other._native)

    __hash__ = None  # type: ignore[assignment]

    @property
    def kept(self) -> str:
        """What was kept of the reports: ``patterns`` or ``supports``."""
        return self._native.kept

    @property
    def data(self) -> dict[str, Any]:
        """The tallies file as dictionaries and lists: ``counts`` or ``supports``, and what else it says."""
        found: dict[str, Any] = json.loads(self._native.json())
        return found

    def to_json(self) -> str:
        """The text of the tallies file, as ``sottovoce tally`` writes it."""
        return self._native.json()

    def to_bytes(self) -> bytes:
        """The same in bytes, to send or to store."""
        return self._native.json().encode()

    @staticmethod
    def from_bytes(tallies: bytes | bytearray | memoryview | str) -> Tally:
        """The tally in the bytes or the text of a tallies file that names its protocol."""
        if not isinstance(tallies, (str, bytes, bytearray, memoryview)):
            raise TypeError(f"tallies are bytes or a text, not a {type(tallies).__name__}")
        try:
            text = tallies if isinstance(tallies, str) else bytes(tallies).decode()
        except UnicodeDecodeError:
            raise InvalidInput("the bytes are not those of a tallies file") from None
        return Tally._of(_native.Tally.from_json(text))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the tallies file, whole or not at all."""
        self._native.save(Path(path))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Tally:
        """Reads a tallies file that names its protocol."""
        try:
            found = Path(path).read_bytes()
        except OSError as error:
            raise FileError(f"{path}: cannot be read: {error.strerror}") from error
        return Tally.from_bytes(found)

    def estimate(self, estimator: str | Sequence[str] | None = None, **settings: Any) -> Estimate:
        """Estimates the shares of the values; see `sottovoce.estimate`."""
        from ._jobs import estimate

        return estimate(self, estimator=estimator, **settings)

    def posterior(self, *, draws: int = 4000, **settings: Any) -> Posterior:
        """What the reports say about the shares of the values; see `sottovoce.posterior`."""
        from ._jobs import posterior

        return posterior(self, draws=draws, **settings)

    def __sottovoce_json__(self) -> str:
        return self._native.json()

    def __repr__(self) -> str:
        rejected = f", {sum(self.rejected.values())} rejected" if self.rejected else ""
        insecure = ", insecure" if self.insecure else ""
        return f"<Tally of {self.n} reports of {self.protocol.specification['kind']}, {self.kept}{rejected}{insecure}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self.to_json(), self._native.form))


def _restored(text: str, form: str) -> Tally:
    return Tally._of(_native.Tally.from_json(text, None if form == "auto" else form))


_Path = str | os.PathLike[str]


def tally(
    reports: _Path | Iterable[_Path],
    *,
    protocol: Protocol | str | None = None,
    form: str = "auto",
    allow_copies: bool = False,
) -> Tally:
    """The tally of files of reports: paths, directories or patterns such as ``days/*.parquet``.

    Files that sottovoce wrote name their protocol; for others it must be given. `Tally.save` writes what ``sottovoce tally`` writes.
    """
    paths = [reports] if isinstance(reports, (str, os.PathLike)) else list(reports)
    if "-" in paths:
        raise InvalidInput("standard input is not a file of reports here", path="reports")
    request: dict[str, Any] = {
        "job": "tally",
        "reports": [os.fspath(path) for path in paths],
        "form": form,
        "allow_copies": allow_copies,
        "output": "",
    }
    if protocol is not None:
        request["protocol"] = protocol
    return Tally._of(_native.Tally.from_files(encode(request)))


def merge(tallies: Iterable[Tally | _Path], *, allow_copies: bool = False) -> Tally:
    """The sum of tallies or of tallies files of one protocol, in any order.

    >>> import sottovoce as sv
    >>> q = sv.grr(2, 1)
    >>> sv.merge([q.tally([0, 1, 1]), q.tally([0])]).n
    4
    """
    if isinstance(tallies, (str, bytes, os.PathLike)):
        raise TypeError("several tallies are needed, in a list")
    read = [one.copy() if isinstance(one, Tally) else Tally.load(one) for one in tallies]
    if not read:
        raise TypeError("there is no tally to merge")
    return functools.reduce(lambda left, right: left.merge(right, allow_copies=allow_copies), read)
