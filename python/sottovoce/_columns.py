"""Columns as the compiled part takes them: Arrow, numpy arrays of numbers, lists, or bytes."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import InvalidInput

__all__ = ["Packed", "prepared", "write_csv"]


class Packed:
    """Reports of equal length, one after another in memory."""

    def __init__(self, bytes: bytes, length: int) -> None:
        self.bytes, self.length = bytes, length


def prepared(column: Any, name: str | None) -> tuple[Any, str | None]:
    """A column, or a table and the name of its column, in one of these forms."""
    library = type(column).__module__.partition(".")[0]
    if library == "polars" and hasattr(column, "collect"):
        return column.collect(), name
    if library == "pandas":
        try:
            # pandas speaks Arrow if pyarrow is there.
            import pyarrow  # noqa: F401

            if hasattr(column, "__arrow_c_stream__"):
                return column, name
        except ImportError:
            pass
        if hasattr(column, "columns"):
            column, name = _of_table(column, name), None
        return (_of_numpy(column.to_numpy()) if hasattr(column, "to_numpy") else column), name
    if hasattr(column, "__arrow_c_array__") or hasattr(column, "__arrow_c_stream__"):
        return column, name
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(column, numpy.ndarray):
        return _of_numpy(column), name
    return column, name


def _of_table(table: Any, name: str | None) -> Any:
    names = [str(column) for column in table.columns]
    if name is None and len(names) == 1:
        name = names[0]
    if name not in names:
        raise InvalidInput(f"column is to be one of {', '.join(names)}", path="column")
    return table[name]


def _of_numpy(array: Any) -> Any:
    import numpy

    if array.dtype == numpy.uint8 and array.ndim == 2:
        return Packed(numpy.ascontiguousarray(array).tobytes(), array.shape[1])
    if array.ndim != 1:
        raise InvalidInput(f"a column has one dimension, not {array.ndim}")
    if array.dtype.kind in "SV" and array.dtype.itemsize > 0 and array.dtype.names is None:
        return Packed(numpy.ascontiguousarray(array).tobytes(), array.dtype.itemsize)
    if array.dtype.kind == "u" and array.dtype.itemsize == 8 and array.size and array.max() > numpy.iinfo("i8").max:
        return array.tolist()
    if array.dtype.kind in "iu":
        return numpy.ascontiguousarray(array, dtype=numpy.int64)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        return numpy.ascontiguousarray(array, dtype=numpy.float64)
    return array.tolist()


def write_csv(table: Any, path: str) -> None:
    """Writes a table with all its columns."""
    library = type(table).__module__.partition(".")[0]
    if library == "polars" and hasattr(table, "collect"):
        table = table.collect()
    if library == "polars" and hasattr(table, "write_csv"):
        table.write_csv(path)
    elif library == "pandas" and hasattr(table, "columns"):
        table.to_csv(path, index=False)
    elif isinstance(table, Mapping):
        _write_rows(path, [str(name) for name in table], zip(*table.values(), strict=True))
    elif hasattr(table, "__arrow_c_stream__"):
        import pyarrow

        arrow = pyarrow.table(table)
        _write_rows(path, arrow.column_names, zip(*(column.to_pylist() for column in arrow.columns), strict=True))
    else:
        raise TypeError(f"people is the path of a file or a table with named columns, not a {type(table).__name__}")


def _write_rows(path: str, names: list[str], rows: Iterable[tuple[Any, ...]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        try:
            writer.writerows(rows)
        except (ValueError, TypeError):
            # What Python says of a column may repeat what stands in it.
            raise InvalidInput("the columns of a table are lists of the same length", path="people") from None
