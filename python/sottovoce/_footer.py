"""What a Parquet file of reports says about itself in its metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["File", "described", "of_entries"]

HEADER, END = "sottovoce.reports", "sottovoce.end"
OUR_NAME = "sottovoce"


@dataclass(frozen=True)
class File:
    """What the metadata of a file say."""

    name: str
    rows: int
    header: str | None
    end: str | None
    named: bool
    """Whether our name is anywhere in the metadata. Then there was a header."""


def of_entries(name: str, rows: int, entries: Mapping[str, str], others: Iterable[str]) -> File:
    """The file with these entries in its metadata, and what else there is."""
    named = any(OUR_NAME in text for text in (*others, *entries, *entries.values()))
    return File(name, rows, entries.get(HEADER), entries.get(END), named)


def described(name: str, metadata: Any) -> File:
    """The file with these metadata, as pyarrow has them."""
    entries = {_text(key): _text(value) for key, value in (metadata.metadata or {}).items()}
    return of_entries(name, metadata.num_rows, entries, [str(metadata.created_by), str(metadata.schema)])


def _text(bytes: bytes) -> str:
    # What is no text is no header of ours, and is refused as one.
    return bytes.decode(errors="replace")
