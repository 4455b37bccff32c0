"""Rows put together by two columns of few distinct values, such as GPU and queue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from wavescope.model.coded_columns import code_counts, looked_up
from wavescope.model.source import Array

Numbers = npt.NDArray[np.int64]

_NARROW_COUNT = 1 << 16
_SAMPLE_ROWS = 4096


@dataclass(frozen=True)
class RowGroups:
    """Rows in order of (major, minor); rows of the same pair keep their order.

    Group i holds the rows order[bounds[i]:bounds[i + 1]], all with majors[i] and minors[i].
    """

    order: npt.NDArray[np.intp]
    bounds: Numbers
    majors: Numbers
    minors: Numbers

    def by_major(self) -> Iterator[tuple[int, list[tuple[int, slice]]]]:
        """For each major value its minor ones, each with its place in `order`."""
        bounds, minors = self.bounds.tolist(), self.minors.tolist()
        places = [slice(first, stop) for first, stop in pairwise(bounds)]
        changes = np.flatnonzero(self.majors[1:] != self.majors[:-1]) + 1
        cuts = [0, *changes.tolist(), len(minors)] if minors else []
        for first, stop in pairwise(cuts):
            members = list(zip(minors[first:stop], places[first:stop], strict=True))
            yield int(self.majors[first]), members


def grouped_rows(major: Array, minor: Array) -> RowGroups:
    """The rows grouped by the pair of values; the values may be any int64."""
    if not len(major):
        nothing = np.empty(0, np.int64)
        return RowGroups(np.empty(0, np.intp), np.zeros(1, np.int64), nothing, nothing)
    major_numbers, major_codes = _numbered(major)
    minor_numbers, minor_codes = _numbered(minor)
    if major_numbers.size * minor_numbers.size > _NARROW_COUNT:
        major_numbers, major_codes = _without_unused(major_numbers, major_codes)
        minor_numbers, minor_codes = _without_unused(minor_numbers, minor_codes)
    codes = _combined(major_codes, minor_codes, major_numbers.size, minor_numbers.size)
    used, counts = _counted(codes)
    return RowGroups(
        order=np.argsort(codes, kind="stable"),
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
