"""Numbers the distinct rows of some integer columns."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from ctypes import c_int64, c_void_p
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.native.library import columns_library


class DistinctRows:
    """Gives equal rows equal numbers: 0, 1, 2, ... in the order in which they first appear."""

    def __init__(self, column_count: int) -> None:
        self.count = 0
        self._numbers: dict[tuple[int, ...], int] = {}
        self._native = columns_library()
        if self._native is not None:
            opened = self._native.wavescope_distinct_rows_open
            opened.restype = c_void_p
            self._native.wavescope_distinct_rows_number.restype = c_int64
            self._handle = c_void_p(opened(c_int64(column_count)))
            if not self._handle:
                raise MemoryError
            weakref.finalize(self, self._native.wavescope_distinct_rows_close, self._handle)

    def number(
        self, columns: Sequence[npt.NDArray[Any]]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """The number of each row, and for each new number the row that introduced it."""
        wide = [np.ascontiguousarray(column, np.int64) for column in columns]
        rows = len(wide[0])
        numbers = np.empty(rows, np.int32)
        firsts = np.empty(rows, np.int64)
        if self._native is None:
            added = self._number_in_python(wide, numbers, firsts)
        else:
            added = self._native.wavescope_distinct_rows_number(
                self._handle,
                c_int64(rows),
                (c_void_p * len(wide))(*(column.ctypes.data for column in wide)),
                c_void_p(numbers.ctypes.data),
                c_void_p(firsts.ctypes.data),
            )
            if added < 0:
                raise MemoryError
        self.count += added
        return numbers, firsts[:added]

    def _number_in_python(
        self,
        columns: list[npt.NDArray[np.int64]],
        numbers: npt.NDArray[np.int32],
        firsts: npt.NDArray[np.int64],
    ) -> int:
        known, added = self._numbers, 0
        for row, key in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            number = known.get(key)
            if number is None:
                number = known[key] = len(known)
                firsts[added] = row
                added += 1
            numbers[row] = number
        return added
