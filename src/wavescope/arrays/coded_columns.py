"""Passes over columns of small codes, block by block.

NumPy widens narrow codes to 64 bits for counting and for look-ups. Of a whole column that is a new
array of many megabytes, and having the system provide its pages costs more than the pass itself;
of a block it is memory that stays in the cache.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays.array_types import Array
from wavescope.native.library import columns_library

BLOCK_ROWS = 1 << 16


class CodeCounts(NamedTuple):
    """The codes that occur in a column, in ascending order, and how often each does."""

    codes: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]


def counted_codes(codes: npt.NDArray[np.int32]) -> CodeCounts:
    """The codes of a column of codes from -1 on."""
    counts = code_counts(codes, int(codes.max(initial=-1)) + 1)
    used = np.flatnonzero(counts)
    found = CodeCounts(used, counts[used])
    unknown_count = len(codes) - int(found.counts.sum())
    if not unknown_count:
        return found
    return CodeCounts(np.append(-1, found.codes), np.append(unknown_count, found.counts))


def code_counts(codes: Array, code_count: int) -> npt.NDArray[np.int64]:
    """How often each of the codes 0 to `code_count` - 1 occurs; code -1 is not counted."""
    library = columns_library()
    if library is not None and codes.dtype == np.int32:
        counts = _native_counts(library, codes, code_count)
        if counts is not None:
            return counts
    counts = np.zeros(code_count, np.int64)
    for rows in blocks(len(codes), max(BLOCK_ROWS, 8 * code_count)):
        part = codes[rows]
        counts += np.bincount(part if part.min() >= 0 else part[part >= 0], minlength=code_count)
    return counts


def looked_up(table: Array, codes: Array) -> Array:
    """`table[codes]`; code -1 gives the last entry, as an index does."""
    values = np.empty(len(codes), table.dtype)
    for rows in blocks(len(codes)):
        np.take(table, codes[rows], out=values[rows], mode="wrap")
    return values


def blocks(row_count: int, rows: int = BLOCK_ROWS) -> Iterator[slice]:
    """The places of `row_count` rows, at most `rows` at a time."""
    return (slice(start, start + rows) for start in range(0, row_count, rows))


def _native_counts(
    library: ctypes.CDLL, codes: npt.NDArray[np.int32], code_count: int
) -> npt.NDArray[np.int64] | None:
    codes, counts = np.ascontiguousarray(codes), np.empty(code_count, np.int64)
    failed = library.wavescope_count_codes(
        ctypes.c_void_p(codes.ctypes.data),
        ctypes.c_int64(len(codes)),
        ctypes.c_int32(code_count),
        ctypes.c_void_p(counts.ctypes.data),
    )
    return None if failed else counts
