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

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_KEY_BITS = 63
_LOW_BITS = 32
_RADIX_GROUPS = 1 << 16
_MOST_SLICES = 2_048


@dataclass(frozen=True)
class GroupStatistics:
    """Statistics of the groups that have values, in ascending order of their number."""

    groups: IntArray
    counts: IntArray
    _sorted_values: IntArray
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
        values: IntArray = self._sorted_values[self._firsts]
        return values

    @property
    def maxima(self) -> IntArray:
        """The largest value of each group."""
        values: IntArray = self._sorted_values[self._firsts + self.counts - 1]
        return values

    def percentiles(self, percent: int) -> IntArray:
        """The nearest-rank percentile of each group, for a whole percentage from 1 to 100."""
        ranks = (self.counts * percent + 99) // 100
        values: IntArray = self._sorted_values[self._firsts + ranks - 1]
        return values

    @property
    def means(self) -> list[float]:
        """Total by count of each group."""
        return [
            total / count for total, count in zip(self.totals, self.counts.tolist(), strict=True)
        ]


def group_statistics(
    groups: npt.NDArray[np.integer], values: IntArray, group_count: int
) -> GroupStatistics:
    """Statistics of `values` in the groups 0 to `group_count` - 1 that `groups` assigns them to."""
    counts = np.bincount(groups, minlength=group_count)
    present = np.flatnonzero(counts)
    counts = counts[present]
    firsts = np.concatenate(([0], np.cumsum(counts)[:-1])).astype(np.int64)
    if not len(present):
        empty = np.empty(0, np.int64)
        return GroupStatistics(empty, empty, empty, empty)
    ordered = _sorted_within_groups(groups, values, group_count, counts)
    return GroupStatistics(present, counts, ordered, firsts)


def _sorted_within_groups(
    groups: npt.NDArray[np.integer], values: IntArray, group_count: int, counts: IntArray
) -> IntArray:
    """The values ordered by group, and by size within a group."""
    low, high = int(values.min()), int(values.max())
    value_bits = (high - low).bit_length()
    if value_bits > _KEY_BITS:
        return values[np.lexsort((values, groups))]
    if group_count <= _RADIX_GROUPS and len(counts) <= _MOST_SLICES:
        return _sorted_slices(groups.astype(np.uint16, copy=False), values - low, counts) + low
    if value_bits + (group_count - 1).bit_length() > _KEY_BITS:
        return values[np.lexsort((values, groups))]
    # Group and value in one integer: sorting it is faster than sorting by two keys.
    keys = groups.astype(np.int64)
    keys <<= value_bits
    keys |= values - low
    keys.sort()
    keys &= (1 << value_bits) - 1
    keys += low
    return keys


def _sorted_slices(
    groups: npt.NDArray[np.uint16], offsets: IntArray, counts: IntArray
) -> npt.NDArray[np.int64]:
    """The offsets gathered group by group, each group sorted.

    NumPy sorts 16-bit keys by radix, and a group of 32-bit offsets fits the cache: together about
    half the time of one sort of everything.
    """
    if int(offsets.max()) >> _LOW_BITS == 0:
        ordered: npt.NDArray[np.integer] = offsets.astype(np.uint32)
    else:
        ordered = offsets
    ordered = ordered[np.argsort(groups, kind="stable")]
    end = 0
    for count in counts.tolist():
        ordered[end : end + count].sort()
        end += count
    return ordered.astype(np.int64, copy=False)


def _totals(ordered: IntArray, firsts: IntArray) -> list[int]:
    largest = max(abs(int(ordered.min())), abs(int(ordered.max())))
    if largest * len(ordered) < 1 << _KEY_BITS:
        sums: list[int] = np.add.reduceat(ordered, firsts).tolist()
        return sums
    high: list[int] = np.add.reduceat(ordered >> _LOW_BITS, firsts).tolist()
    low: list[int] = np.add.reduceat(ordered & ((1 << _LOW_BITS) - 1), firsts).tolist()
    return [(h << _LOW_BITS) + part for h, part in zip(high, low, strict=True)]


def _standard_deviation(ordered: IntArray) -> float:
    """The standard deviation of sorted values: from exact integer sums where 64 bits hold them."""
    count, lowest = len(ordered), int(ordered[0])
    spread = int(ordered[-1]) - lowest
    if spread.bit_length() > _KEY_BITS:
        return float(np.std(ordered.astype(np.float64)))
    offsets = ordered - lowest
    if spread * spread * count < 1 << _KEY_BITS:
        total, squares = int(offsets.sum()), int(np.dot(offsets, offsets))
        return math.sqrt(max(0, count * squares - total * total)) / count
    # Squares of the values themselves would cancel where the spread is small beside the values.
    return float(np.std(offsets.astype(np.float64)))
