"""Finds rows by an exact time in a column that is more or less in order of time, as traces are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wavescope.arrays.coded_columns import blocks
from wavescope.arrays.intervals import Times

_BLOCK_ROWS = 1 << 14


class RowsByTime:
    """The rows of a column by their time; only blocks whose range holds the time are looked at."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._blocks = [
            (rows, int(times[rows].min()), int(times[rows].max()))
            for rows in blocks(len(times), _BLOCK_ROWS)
        ]

    def at(self, time_ns: int) -> Iterator[int]:
        """The rows with exactly that time, in ascending order."""
        for rows, lowest, highest in self._blocks:
            if lowest <= time_ns <= highest:
                for row in np.flatnonzero(self._times[rows] == time_ns).tolist():
                    yield rows.start + row
