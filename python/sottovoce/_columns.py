"""Columns as the compiled part takes them: Arrow, numpy arrays of numbers, lists, or bytes."""

from __future__ import annotations

import sys
from typing import Any

from .errors import InvalidInput

__all__ = ["Packed", "prepared"]


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
