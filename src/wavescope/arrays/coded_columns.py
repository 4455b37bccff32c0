"""Columns of small codes: counting them, looking them up, numbering what is distinct by them.

NumPy widens narrow codes to 64 bits for look-ups. Of a whole column that is a new array of many
megabytes, and having the system provide its pages costs more than the pass itself; of a block it is
memory that stays in the cache.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.native import columns_library, pointers

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
    narrow, counts = np.ascontiguousarray(codes, np.int32), np.empty(code_count, np.int64)
    if columns_library().wavescope_count_codes(narrow, len(narrow), code_count, counts):
        raise ValueError(f"a code is not below {code_count}")
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


class DistinctRows:
    """Gives equal rows of some integer columns equal numbers: 0, 1, 2, ... as they first appear."""

    def __init__(self, column_count: int) -> None:
        self.count = 0
        self._library = columns_library()
        self._handle = self._library.wavescope_distinct_rows_open(column_count)
        if not self._handle:
            raise MemoryError
        weakref.finalize(self, self._library.wavescope_distinct_rows_close, self._handle)

    def number(
        self, columns: Sequence[Array]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """The number of each row, and for each new number the row that introduced it."""
        wide = [np.ascontiguousarray(column, np.int64) for column in columns]
        rows = len(wide[0])
        numbers, firsts = np.empty(rows, np.int32), np.empty(rows, np.int64)
        added = self._library.wavescope_distinct_rows_number(
            self._handle, rows, pointers(wide, np.int64), numbers, firsts
        )
        if added < 0:
            raise MemoryError
        self.count += added
        return numbers, firsts[:added]


# Numbers up to here are counted in a table, larger ones found by sorting.
_TABLE_LIMIT = 1 << 16


def distinct(values: Array) -> tuple[list[int], npt.NDArray[np.integer]]:
    """The distinct integers in ascending order, and for each row the index of its own.

    The indices are as narrow as they can be: passes over them are bound by memory.
    """
    if not len(values):
        return [], np.empty(0, np.uint16)
    low, high = int(values.min()), int(values.max())
    if high - low < _TABLE_LIMIT:
        offsets = values - values.dtype.type(low)
        present = np.flatnonzero(code_counts(offsets, high - low + 1))
        index = np.zeros(high - low + 1, index_type(len(present)))
        index[present] = np.arange(len(present))
        return (present + low).tolist(), looked_up(index, offsets)
    found, inverse = np.unique(values, return_inverse=True)
    return found.tolist(), inverse.astype(index_type(len(found)), copy=False)


def different_values(values: Array) -> Array:
    """The different integers in ascending order.

    `np.unique` gives the same, and imports `numpy.ma` at its first call, which takes 45 ms of CPU.
    """
    if not len(values):
        return values
    low, high = int(values.min()), int(values.max())
    if high - low < _TABLE_LIMIT:
        present = np.flatnonzero(code_counts(values - values.dtype.type(low), high - low + 1))
        found: Array = present.astype(values.dtype) + values.dtype.type(low)
    else:
        ordered = np.sort(values)
        found = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    return found


def different_rows(rows: npt.NDArray[np.integer], row_count: int) -> npt.NDArray[np.intp]:
    """Each of the row numbers once in ascending order; marking is quicker than sorting."""
    is_given = np.zeros(row_count, np.bool_)
    is_given[rows] = True
    return np.flatnonzero(is_given)


def index_type(count: int) -> type[np.uint16] | type[np.int64]:
    """The narrowest type used for indices below `count`."""
    return np.uint16 if count < _TABLE_LIMIT else np.int64


def paired(
    outer: npt.NDArray[np.integer], inner: npt.NDArray[np.integer], inner_count: int, count: int
) -> npt.NDArray[np.integer]:
    """outer * inner_count + inner, of which there are `count` at most."""
    kind = index_type(count)
    combined: Array = outer.astype(kind)
    combined *= kind(inner_count)
    combined += inner.astype(kind, copy=False)
    return combined
