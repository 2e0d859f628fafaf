"""Between NumPy and pyarrow without pandas, which pyarrow's own conversions import (0.4 s at every start)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa


def to_numpy(array: pa.Array, dtype: Any) -> npt.NDArray[Any]:
    """Fixed-width values that are all there, as the buffer they stand in."""
    if array.null_count:
        raise ValueError("a column with nulls")
    if not len(array):
        return np.empty(0, dtype=dtype)
    return np.frombuffer(array.buffers()[1], dtype=dtype)[array.offset : array.offset + len(array)]


def is_valid(array: pa.Array) -> npt.NDArray[np.bool_]:
    """Which values are there."""
    import pyarrow as pa

    return to_numpy(array.is_valid().cast(pa.uint8()), np.uint8).astype(bool)


def mask(chosen: npt.NDArray[np.bool_]) -> pa.Array:
    """A filter for an array."""
    import pyarrow as pa

    bits = pa.py_buffer(np.packbits(chosen, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(chosen), [None, bits])
