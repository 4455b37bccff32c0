"""How long ops of each class ran in each bin of a time axis: exact, in whole nanoseconds.

Bins are a power of two wide: a bin is found by shifting, and two of them make one of the next
coarser level.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays.coded_columns import blocks
from wavescope.arrays.intervals import Times

BinTimes = npt.NDArray[np.float64]
"""[class, bin], whole nanoseconds: they stay exact below 2**53, which is a hundred days."""

_BLOCK_ROWS = 1 << 19


class TimeGrid(NamedTuple):
    """Bins of 2**shift ns from `origin_ns` on."""

    origin_ns: int
    shift: int
    bin_count: int

    @property
    def bin_ns(self) -> int:
        return 1 << self.shift

    @classmethod
    def over(cls, first_ns: int, last_ns: int, most_bins: int) -> TimeGrid:
        """The finest grid of at most `most_bins` (a power of two) that covers [first, last)."""
        span_ns = max(last_ns - first_ns, 1)
        shift = 0
        while (span_ns - 1) >> shift >= most_bins:
            shift += 1
        return cls(first_ns, shift, ((span_ns - 1) >> shift) + 1)

    def coarser(self) -> TimeGrid:
        """The grid of half as many bins."""
        return TimeGrid(self.origin_ns, self.shift + 1, (self.bin_count + 1) // 2)


def time_in_bins(
    grid: TimeGrid,
    starts: Times,
    ends: Times,
    classes: Sequence[npt.NDArray[np.uint8]],
    class_counts: Sequence[int],
) -> list[BinTimes]:
    """For each of the classifications `classes` the time of each class in each bin.

    All rows lie inside the grid. Overlapping rows count each.
    """
    sums = [_BinSums(grid.bin_count, count) for count in class_counts]
    for rows in blocks(len(starts), _BLOCK_ROWS):
        pieces = _pieces(grid, starts[rows], ends[rows])
        for of_row, target in zip(classes, sums, strict=True):
            target.add(pieces, of_row[rows])
    return [target.times(grid.bin_ns) for target in sums]


def coarser(times: BinTimes) -> BinTimes:
    """The same on the grid of half as many bins."""
    if times.shape[1] % 2:
        times = np.pad(times, ((0, 0), (0, 1)))
    return times[:, ::2] + times[:, 1::2]


class _Pieces(NamedTuple):
    """Rows cut at the bins' edges: a first piece each, and for some a last one and bins between."""

    first_bin: Times
    first_ns: Times
    crossing: npt.NDArray[np.intp]
    last_bin: Times
    last_ns: Times


def _pieces(grid: TimeGrid, starts: Times, ends: Times) -> _Pieces:
    offsets = starts - grid.origin_ns
    # What takes no time may lie at the very end, where the last bin is over.
    first_bin = np.minimum(offsets >> grid.shift, grid.bin_count - 1)
    last_bin = (ends - (grid.origin_ns + 1)) >> grid.shift
    crossing = np.flatnonzero(last_bin > first_bin)
    first_ns = ends - starts
    first_ns[crossing] = ((first_bin[crossing] + 1) << grid.shift) - offsets[crossing]
    last_bin = last_bin[crossing]
    last_ns = ends[crossing] - grid.origin_ns - (last_bin << grid.shift)
    return _Pieces(first_bin, first_ns, crossing, last_bin, last_ns)


class _BinSums:
    """Adds up the pieces of one classification."""

    def __init__(self, bin_count: int, class_count: int) -> None:
        self._class_count = class_count
        self._cells = np.zeros(bin_count * class_count)
        self._covering = np.zeros(bin_count * class_count)

    def add(self, pieces: _Pieces, classes: npt.NDArray[np.uint8]) -> None:
        size, width = len(self._cells), self._class_count
        self._cells += np.bincount(pieces.first_bin * width + classes, pieces.first_ns, size)
        if not len(pieces.crossing):
            return
        crossing = classes[pieces.crossing]
        last = pieces.last_bin * width + crossing
        self._cells += np.bincount(last, pieces.last_ns, size)
        after_first = (pieces.first_bin[pieces.crossing] + 1) * width + crossing
        self._covering += np.bincount(after_first, minlength=size)
        self._covering -= np.bincount(last, minlength=size)

    def times(self, bin_ns: int) -> BinTimes:
        """[class, bin]"""
        shape = (-1, self._class_count)
        covering = np.cumsum(self._covering.reshape(shape), axis=0)
        sums: BinTimes = self._cells.reshape(shape) + covering * bin_ns
        return np.ascontiguousarray(sums.T)
