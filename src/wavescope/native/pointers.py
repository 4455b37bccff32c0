"""Arrays as pointers that C code may follow: of the type it expects, and without gaps."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Int32 = ctypes.c_int32
Int64 = ctypes.c_int64
Size = ctypes.c_size_t
Handle = ctypes.c_void_p
"""An object of the library, or an address that it gives."""


def pointer(array: npt.NDArray[Any] | None, dtype: npt.DTypeLike) -> int | None:
    """Where the values of `array` lie, None for no array; TypeError unless they are as C sees them.

    The array must outlive what is done with the address.
    """
    if array is None:
        return None
    expected = np.dtype(dtype)
    if array.dtype != expected or not array.flags.c_contiguous:
        gaps = "" if array.flags.c_contiguous else " with gaps"
        raise TypeError(f"expected an array of {expected}, not of {array.dtype}{gaps}")
    return array.ctypes.data


class ArrayOf:
    """The type of an argument that is an array of `dtype`, or None."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)

    def from_param(self, array: npt.NDArray[Any] | None) -> ctypes.c_void_p:
        """Called by ctypes for every argument."""
        return ctypes.c_void_p(pointer(array, self._dtype))


def pointers(arrays: Sequence[npt.NDArray[Any]], dtype: npt.DTypeLike) -> ctypes.Array[Any]:
    """The addresses of several arrays as an array of pointers."""
    return (ctypes.c_void_p * len(arrays))(*(pointer(array, dtype) for array in arrays))


def address_of(pointers_: ctypes.Array[Any]) -> int:
    """Where an array that `pointers` made lies, for a member of a structure."""
    return ctypes.addressof(pointers_)


def bytes_at(address: int | None, size: int) -> bytes:
    """A copy of bytes that the library holds."""
    return ctypes.string_at(address, size) if address and size else b""


def texts_at(blob: int | None, ends: int | None, count: int) -> list[str]:
    """Texts that the library holds one after another, the i-th up to the i-th of `ends`."""
    if not count:
        return []
    if not blob or not ends:
        raise MemoryError
    bounds = (ctypes.c_int64 * count).from_address(ends)
    whole = bytes_at(blob, bounds[count - 1])
    starts = (0, *bounds[:-1])
    return [whole[start:end].decode() for start, end in zip(starts, bounds, strict=True)]
