"""Rows put together by group: by two columns of few distinct values, such as GPU and queue, or
with their values sorted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.coded_columns import DistinctRows, blocks
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
    """`columns` (of one or eight bytes) grouped by the pair of values, which may be any int64."""
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
    given = [np.ascontiguousarray(column) for column in columns]
    grouped = tuple(np.empty_like(column) for column in given)
    described = [
        GroupedColumn(pointer(source, source.dtype), pointer(target, source.dtype), source.itemsize)
        for source, target in zip(given, grouped, strict=True)
    ]
    counts = np.empty(len(order), np.int64)
    failed = columns_library().wavescope_group_rows(
        codes,
        len(codes),
        len(order),
        order,
        (GroupedColumn * len(described))(*described),
        len(described),
        counts,
    )
    if failed:
        raise MemoryError
    bounds = np.concatenate(([0], np.cumsum(counts[order])))
    return RowGroups(grouped, bounds, majors[order], minors[order])


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
