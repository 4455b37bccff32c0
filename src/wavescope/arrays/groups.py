"""Rows put together by group, and exact statistics of integer values in groups.

Groups are pairs of few distinct values, such as GPU and queue. Statistics take one sort per group,
sums none.

A percentile is the nearest rank: the smallest value that at least p % of the values do not exceed.
It is always a value that occurred. The standard deviation is the population's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.coded_columns import BLOCK_ROWS, DistinctRows, blocks
from wavescope.native import GroupedColumn, columns_library, pointer

Numbers = npt.NDArray[np.int64]

MOST_GROUPS = 1 << 16
"""As many as the numbers of groups have room for in native code."""


class RowGroups(NamedTuple):
    """Columns in order of (major, minor); rows of the same pair keep their order.

    Group i are the rows from bounds[i] to bounds[i + 1], all with majors[i] and minors[i].
    """

    columns: tuple[Array, ...]
    bounds: Numbers
    majors: Numbers
    minors: Numbers

    def by_major(self) -> Iterator[tuple[int, list[tuple[int, slice]]]]:
        """For each major value its minor ones, each with the place of its rows."""
        bounds, minors = self.bounds.tolist(), self.minors.tolist()
        places = [slice(first, stop) for first, stop in pairwise(bounds)]
        changes = np.flatnonzero(self.majors[1:] != self.majors[:-1]) + 1
        cuts = [0, *changes.tolist(), len(minors)] if minors else []
        for first, stop in pairwise(cuts):
            members = list(zip(minors[first:stop], places[first:stop], strict=True))
            yield int(self.majors[first]), members


def grouped_rows(major: Array, minor: Array, columns: Sequence[Array]) -> RowGroups:
    """`columns` (of one, four or eight bytes) grouped by the pair of values, any int64."""
    if not len(major):
        nothing = np.empty(0, np.int64)
        return RowGroups(tuple(columns), np.zeros(1, np.int64), nothing, nothing)
    numbered = _numbered_pairs(major, minor)
    if numbered is None:
        return _sorted_rows(major, minor, columns)
    return _rows_by_number(*numbered, columns)


def sorted_within_groups(
    groups: npt.NDArray[np.uint16], values: Array, group_count: int
) -> tuple[Array, Numbers]:
    """The values (int64 or uint32) in order of (group, value), and how many each group has."""
    groups, values = np.ascontiguousarray(groups), np.ascontiguousarray(values)
    ordered, counts = np.empty_like(values), np.empty(group_count, np.int64)
    library = columns_library()
    if values.dtype == np.uint32:
        sort = library.wavescope_sort_short_within_groups
    else:
        sort = library.wavescope_sort_within_groups
    if sort(groups, values, len(values), group_count, ordered, counts):
        raise ValueError(f"a group is not below {group_count}")
    return ordered, counts


def _numbered_pairs(
    major: Array, minor: Array
) -> tuple[npt.NDArray[np.uint16], Numbers, Numbers] | None:
    """Each row's number among the pairs, and the pairs; None when there are too many."""
    distinct = DistinctRows(2)
    codes = np.empty(len(major), np.uint16)
    first_rows = []
    for rows in blocks(len(major)):
        numbers, firsts = distinct.number((major[rows], minor[rows]))
        if distinct.count > MOST_GROUPS:
            return None
        codes[rows] = numbers
        first_rows.append(firsts + rows.start)
    firsts = np.concatenate(first_rows)
    return codes, major[firsts].astype(np.int64), minor[firsts].astype(np.int64)


def _rows_by_number(
    codes: npt.NDArray[np.uint16], majors: Numbers, minors: Numbers, columns: Sequence[Array]
) -> RowGroups:
    """The rows of each number together, in two passes over each column."""
    order = np.lexsort((minors, majors)).astype(np.int32)
    grouped, counts = rows_by_number(codes, order, columns)
    bounds = np.concatenate(([0], np.cumsum(counts[order])))
    return RowGroups(grouped, bounds, majors[order], minors[order])


def rows_by_number(
    numbers: npt.NDArray[np.uint16], order: npt.NDArray[np.int32], columns: Sequence[Array]
) -> tuple[tuple[Array, ...], Numbers]:
    """`columns` (of one, four or eight bytes) with the rows of each number together, the numbers in
    the given order; and how many rows each number has."""
    given = [np.ascontiguousarray(column) for column in columns]
    grouped = tuple(np.empty_like(column) for column in given)
    described = [
        GroupedColumn(pointer(source, source.dtype), pointer(target, source.dtype), source.itemsize)
        for source, target in zip(given, grouped, strict=True)
    ]
    counts = np.empty(len(order), np.int64)
    failed = columns_library().wavescope_group_rows(
        numbers,
        len(numbers),
        len(order),
        order,
        (GroupedColumn * len(described))(*described),
        len(described),
        counts,
    )
    if failed:
        raise MemoryError
    return grouped, counts


def _sorted_rows(major: Array, minor: Array, columns: Sequence[Array]) -> RowGroups:
    """The same for very many groups, by sorting the row numbers."""
    order = np.lexsort((minor, major))
    majors, minors = major[order].astype(np.int64), minor[order].astype(np.int64)
    is_first = np.append(True, (majors[1:] != majors[:-1]) | (minors[1:] != minors[:-1]))
    firsts = np.flatnonzero(is_first)
    return RowGroups(
        columns=tuple(column[order] for column in columns),
        bounds=np.append(firsts, len(order)),
        majors=majors[firsts],
        minors=minors[firsts],
    )


IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_KEY_BITS = 63
_LOW_BITS = 32
_LOW_MASK = (1 << _LOW_BITS) - 1
_MOST_ROWS = 1 << 20
"""2**20 values of 32 bits add up to less than 2**53, which a double holds exactly."""


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


def group_sums(groups: npt.NDArray[np.integer], values: Array, group_count: int) -> list[int]:
    """The sum of the values (not negative; int64 or uint32) of each group from 0 on."""
    low = np.zeros(group_count, np.int64)
    high = np.zeros(group_count, np.int64)
    is_short = values.dtype == np.uint32
    for rows in blocks(len(values), min(_MOST_ROWS, max(BLOCK_ROWS, 8 * group_count))):
        part = values[rows]
        if is_short or part.max() <= _LOW_MASK:
            low += _bin_sums(groups[rows], part, group_count)
        else:
            low += _bin_sums(groups[rows], part & _LOW_MASK, group_count)
            high += _bin_sums(groups[rows], part >> _LOW_BITS, group_count)
    return [
        (above << _LOW_BITS) + below
        for above, below in zip(high.tolist(), low.tolist(), strict=True)
    ]


def _bin_sums(
    groups: npt.NDArray[np.integer], values: Array, group_count: int
) -> npt.NDArray[np.int64]:
    return np.bincount(groups, weights=values, minlength=group_count).astype(np.int64)


def _totals(ordered: Array, firsts: IntArray) -> list[int]:
    largest = max(abs(int(ordered.min())), abs(int(ordered.max())))
    if largest * len(ordered) < 1 << _KEY_BITS:
        sums: list[int] = np.add.reduceat(ordered, firsts, dtype=np.int64).tolist()
        return sums
    high: list[int] = np.add.reduceat(ordered >> _LOW_BITS, firsts).tolist()
    low: list[int] = np.add.reduceat(ordered & _LOW_MASK, firsts).tolist()
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
