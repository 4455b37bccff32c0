"""Passes over columns of small non-negative codes, block by block.

NumPy widens narrow codes to 64 bits for counting and for look-ups. Of a whole column that is a new
array of many megabytes, and having the system provide its pages costs more than the pass itself;
of a block it is memory that stays in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from wavescope.model.source import Array

_BLOCK_ROWS = 1 << 16


def code_counts(codes: Array, code_count: int) -> npt.NDArray[np.int64]:
    """How often each of the codes 0 to `code_count` - 1 occurs."""
    counts = np.zeros(code_count, np.int64)
    for rows in _blocks(len(codes), max(_BLOCK_ROWS, 8 * code_count)):
        counts += np.bincount(codes[rows], minlength=code_count)
    return counts


def looked_up(table: Array, codes: Array) -> Array:
    """`table[codes]`; code -1 gives the last entry, as an index does."""
    values = np.empty(len(codes), table.dtype)
    for rows in _blocks(len(codes), _BLOCK_ROWS):
        np.take(table, codes[rows], out=values[rows], mode="wrap")
    return values


def _blocks(row_count: int, rows: int) -> Iterator[slice]:
    return (slice(start, start + rows) for start in range(0, row_count, rows))
