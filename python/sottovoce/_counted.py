"""What tallies and parts of tallies have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from ._protocol import Protocol

__all__ = ["Counted"]


class Counted(ABC):
    """Reports of a protocol that were counted, to which others can be added."""

    _native: Any

    @abstractmethod
    def copy(self) -> Self:
        """A copy, which counts on its own."""

    @abstractmethod
    def merge(self, other: Self) -> Self:
        """Adds what another one has counted, and returns this one."""

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.copy().merge(other)

    def __iadd__(self, other: Self) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.merge(other)

    @property
    def protocol(self) -> Protocol:
        """The protocol of the reports."""
        return Protocol(self._native.specification)

    @property
    def n(self) -> int:
        """The number of reports that were counted."""
        return int(self._native.n)

    @property
    def rejected(self) -> dict[str, int]:
        """How many reports were rejected, by reason."""
        return dict(self._native.rejected)

    @property
    def insecure(self) -> bool:
        """Whether some of the reports follow from a test seed, and tell their values to anybody who knows it."""
        return bool(self._native.insecure)
