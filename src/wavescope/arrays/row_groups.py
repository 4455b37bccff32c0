"""Rows put together by two columns of few distinct values, such as GPU and queue."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays.array_types import Array
from wavescope.arrays.coded_columns import blocks, code_counts, looked_up
from wavescope.arrays.distinct_rows import DistinctRows
from wavescope.native.library import columns_library

Numbers = npt.NDArray[np.int64]

_NARROW_COUNT = 1 << 16
_SAMPLE_ROWS = 4096


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
    return _dealt_rows(major, minor, columns) or _sorted_rows(major, minor, columns)


class _DealtColumn(ctypes.Structure):
    """WavescopeDealtColumn."""

    _fields_ = (
        ("from_", ctypes.c_void_p),
        ("to", ctypes.c_void_p),
        ("value_bytes", ctypes.c_int32),
    )


def _dealt_rows(major: Array, minor: Array, columns: Sequence[Array]) -> RowGroups | None:
    """Natively, in two passes; None without the library, or when there are too many groups."""
    library = columns_library()
    numbered = _numbered_pairs(major, minor) if library is not None else None
    if library is None or numbered is None:
        return None
    codes, majors, minors = numbered
    order = np.lexsort((minors, majors)).astype(np.int32)
    given = [np.ascontiguousarray(column) for column in columns]
    dealt = tuple(np.empty_like(column) for column in given)
    described = [
        _DealtColumn(column.ctypes.data, target.ctypes.data, column.itemsize)
        for column, target in zip(given, dealt, strict=True)
    ]
    counts = np.empty(len(order), np.int64)
    failed = library.wavescope_deal_rows(
        ctypes.c_void_p(codes.ctypes.data),
        ctypes.c_int64(len(codes)),
        ctypes.c_int32(len(order)),
        ctypes.c_void_p(order.ctypes.data),
        (_DealtColumn * len(described))(*described),
        ctypes.c_int32(len(described)),
        ctypes.c_void_p(counts.ctypes.data),
    )
    if failed:
        return None
    bounds = np.concatenate(([0], np.cumsum(counts[order])))
    return RowGroups(dealt, bounds, majors[order], minors[order])


def _numbered_pairs(
    major: Array, minor: Array
) -> tuple[npt.NDArray[np.uint16], Numbers, Numbers] | None:
    """Each row's number among the pairs, and the pairs; None when there are too many."""
    distinct = DistinctRows(2)
    codes = np.empty(len(major), np.uint16)
    first_rows = []
    for rows in blocks(len(major)):
        numbers, firsts = distinct.number((major[rows], minor[rows]))
        if distinct.count > _NARROW_COUNT:
            return None
        codes[rows] = numbers
        first_rows.append(firsts + rows.start)
    firsts = np.concatenate(first_rows)
    return codes, major[firsts].astype(np.int64), minor[firsts].astype(np.int64)


def _sorted_rows(major: Array, minor: Array, columns: Sequence[Array]) -> RowGroups:
    """The same in NumPy, by sorting the row numbers."""
    major_numbers, major_codes = _numbered(major)
    minor_numbers, minor_codes = _numbered(minor)
    if major_numbers.size * minor_numbers.size > _NARROW_COUNT:
        major_numbers, major_codes = _without_unused(major_numbers, major_codes)
        minor_numbers, minor_codes = _without_unused(minor_numbers, minor_codes)
    codes = _combined(major_codes, minor_codes, major_numbers.size, minor_numbers.size)
    used, counts = _counted(codes)
    order = np.argsort(codes, kind="stable")
    return RowGroups(
        columns=tuple(column[order] for column in columns),
        bounds=np.concatenate(([0], np.cumsum(counts))),
        majors=major_numbers[used // minor_numbers.size],
        minors=minor_numbers[used % minor_numbers.size],
    )


def _numbered(values: Array) -> tuple[Numbers, Array]:
    """Ascending numbers among which all values are, and each row's position there."""
    lowest, highest = int(values.min()), int(values.max())
    if highest - lowest < _NARROW_COUNT:
        codes = np.empty(values.size, np.uint16)
        np.subtract(values, lowest, out=codes, casting="unsafe")
        return np.arange(lowest, highest + 1, dtype=np.int64), codes
    distinct = np.unique(values[:: max(1, values.size // _SAMPLE_ROWS)])
    positions = np.searchsorted(distinct, values)
    unseen = distinct[np.minimum(positions, distinct.size - 1)] != values
    if unseen.any():
        distinct = np.union1d(distinct, values[unseen])
        positions = np.searchsorted(distinct, values)
    return distinct.astype(np.int64), positions


def _without_unused(numbers: Numbers, codes: Array) -> tuple[Numbers, Array]:
    """The same with only the numbers that occur."""
    used = code_counts(codes, numbers.size) > 0
    count = int(used.sum())
    places = (np.cumsum(used) - 1).astype(np.uint16 if count <= _NARROW_COUNT else np.int64)
    return numbers[used], looked_up(places, codes)


def _combined(major: Array, minor: Array, major_count: int, minor_count: int) -> Array:
    """One code per row; narrow ones are sorted by radix, in linear time."""
    count = major_count * minor_count
    width = next((w for w in (np.uint8, np.uint16) if count - 1 <= np.iinfo(w).max), np.int64)
    if major_count == 1:
        return minor.astype(width)
    # With two majors or more, minor_count itself fits the width too.
    combined: Array = major.astype(width)
    combined *= minor_count
    combined += minor.astype(width)
    return combined


def _counted(codes: Array) -> tuple[Numbers, Numbers]:
    """The codes that occur and how often."""
    if codes.dtype != np.int64:
        counts = code_counts(codes, int(codes.max()) + 1)
        used = np.flatnonzero(counts)
        return used, counts[used]
    return np.unique(codes, return_counts=True)
