"""Exact statistics of integer values in groups, from one sort per group.

A percentile is the nearest rank: the smallest value that at least p % of the values do not exceed.
It is always a value that occurred. The standard deviation is the population's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wavescope.arrays.array_types import Array
from wavescope.arrays.coded_columns import blocks
from wavescope.arrays.group_sort import MOST_GROUPS, sorted_within_groups

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_KEY_BITS = 63
_LOW_BITS = 32


@dataclass(frozen=True)
class GroupStatistics:
    """Statistics of the groups that have values, in ascending order of their number."""

    groups: IntArray
    counts: IntArray
    _sorted_values: Array  # int64, or uint32
    _firsts: IntArray

    def __len__(self) -> int:
        return len(self.groups)

    @cached_property
    def totals(self) -> list[int]:
        """The sum of each group: exact, and not limited to 64 bits."""
        return _totals(self._sorted_values, self._firsts) if len(self) else []

    @cached_property
    def std(self) -> FloatArray:
        """The standard deviation of each group as a whole population."""
        ends = self._firsts + self.counts
        return np.array(
            [
                _standard_deviation(self._sorted_values[first:end])
                for first, end in zip(self._firsts.tolist(), ends.tolist(), strict=True)
            ]
        )

    @property
    def minima(self) -> IntArray:
        """The smallest value of each group."""
        return self._values_at(self._firsts)

    @property
    def maxima(self) -> IntArray:
        """The largest value of each group."""
        return self._values_at(self._firsts + self.counts - 1)

    def percentiles(self, percent: int) -> IntArray:
        """The nearest-rank percentile of each group, for a whole percentage from 1 to 100."""
        ranks = (self.counts * percent + 99) // 100
        return self._values_at(self._firsts + ranks - 1)

    @property
    def means(self) -> list[float]:
        """Total by count of each group."""
        return [
            total / count for total, count in zip(self.totals, self.counts.tolist(), strict=True)
        ]

    def _values_at(self, places: IntArray) -> IntArray:
        values: IntArray = self._sorted_values[places].astype(np.int64)
        return values


def group_statistics(
    groups: npt.NDArray[np.integer], values: Array, group_count: int
) -> GroupStatistics:
    """Statistics of `values` in the groups 0 to `group_count` - 1 that `groups` assigns them to.

    Values are int64 or uint32.
    """
    if group_count <= MOST_GROUPS:
        ordered, counts = sorted_within_groups(
            groups.astype(np.uint16, copy=False), values, group_count
        )
    else:
        ordered = values[np.lexsort((values, groups))]
        counts = np.bincount(groups, minlength=group_count)
    present = np.flatnonzero(counts)
    counts = counts[present]
    firsts = np.cumsum(counts) - counts
    return GroupStatistics(present, counts, ordered, firsts)


def _totals(ordered: Array, firsts: IntArray) -> list[int]:
    largest = max(abs(int(ordered.min())), abs(int(ordered.max())))
    if largest * len(ordered) < 1 << _KEY_BITS:
        sums: list[int] = np.add.reduceat(ordered, firsts, dtype=np.int64).tolist()
        return sums
    high: list[int] = np.add.reduceat(ordered >> _LOW_BITS, firsts).tolist()
    low: list[int] = np.add.reduceat(ordered & ((1 << _LOW_BITS) - 1), firsts).tolist()
    return [(h << _LOW_BITS) + part for h, part in zip(high, low, strict=True)]


def _standard_deviation(ordered: Array) -> float:
    """The standard deviation of sorted values: from exact integer sums where 64 bits hold them."""
    count, lowest = len(ordered), int(ordered[0])
    spread = int(ordered[-1]) - lowest
    if spread.bit_length() > _KEY_BITS:
        return float(np.std(ordered.astype(np.float64)))
    if spread * spread * count < 1 << _KEY_BITS:
        total = squares = 0
        for rows in blocks(count):
            offsets = ordered[rows].astype(np.int64) - lowest
            total += int(offsets.sum())
            squares += int(np.dot(offsets, offsets))
        return math.sqrt(max(0, count * squares - total * total)) / count
    # Squares of the values themselves would cancel where the spread is small beside the values.
    return float(np.std((ordered.astype(np.int64) - lowest).astype(np.float64)))


def nearest_rank(values: IntArray, percent: int) -> int:
    """The smallest value that at least `percent` % of the values do not exceed."""
    rank = max(1, math.ceil(values.size * percent / 100))
    return int(np.partition(values, rank - 1)[rank - 1])
