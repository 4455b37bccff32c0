"""Ranges of one table put on their rows, batch by batch, with little memory beside the lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.coded_columns import DistinctRows
from wavescope.arrays.groups import rows_by_number
from wavescope.view.lanes import GrowingLanes, Lane, Packing, Ranges
from wavescope.view.rows import Place

MOST_PLACES = 4096
"""Rows for ranges of one table; what lies on further ones is counted, not shown."""
PART_ROWS = 1 << 20
"""Ranges that wait at most until they are put on their rows."""

MOST_JOINED = 1 << 24
"""Ranges of a row whose parts are joined though they follow each other already."""


class GrowingRows:
    """The lanes of all places that ranges lie at; a place is told by a pair of numbers."""

    def __init__(self, packing: Packing, place: Callable[[int, int], Place]) -> None:
        self._packing = packing
        self._place = place
        self._distinct = DistinctRows(2)
        self._places: list[Place] = []
        self._growing: list[GrowingLanes] = []
        self._numbers: list[npt.NDArray[np.uint16]] = []
        self._waiting: list[Ranges] = []
        self._waiting_count = 0
        self._unplaced_count = 0

    def add(self, majors: Array, minors: Array, ranges: Ranges) -> None:
        """Take in ranges, each with the pair of numbers that tells its place."""
        if not len(ranges.starts):
            return
        numbers, firsts = self._distinct.number((majors, minors))
        for first in firsts[: MOST_PLACES - len(self._places)].tolist():
            self._places.append(self._place(int(majors[first]), int(minors[first])))
            self._growing.append(GrowingLanes(self._packing))
        if self._distinct.count > MOST_PLACES:
            has_place = numbers < MOST_PLACES
            self._unplaced_count += len(numbers) - int(has_place.sum())
            numbers, ranges = numbers[has_place], some_ranges(ranges, has_place)
        self._numbers.append(numbers.astype(np.uint16))
        self._waiting.append(ranges)
        self._waiting_count += len(numbers)
        if self._waiting_count >= PART_ROWS:
            self.flush()

    def flush(self) -> None:
        """Put all ranges that wait on their rows."""
        if not self._waiting_count:
            return
        numbers = np.concatenate(self._numbers)
        columns = [np.concatenate(parts) for parts in zip(*self._waiting, strict=True)]
        self._numbers, self._waiting, self._waiting_count = [], [], 0
        order = np.arange(len(self._places), dtype=np.int32)
        grouped, counts = rows_by_number(numbers, order, columns)
        first = 0
        for growing, count in zip(self._growing, counts.tolist(), strict=True):
            part = slice(first, first + count)
            growing.add(Ranges(*(column[part] for column in grouped)))
            first += count

    def lanes(self) -> dict[Place, tuple[Lane, ...]]:
        """What was put on rows so far."""
        made = (growing.lanes() for growing in self._growing)
        return {place: lanes for place, lanes in zip(self._places, made, strict=True) if lanes}

    def join(self) -> Iterator[int]:
        """Make one lane of each depth, place after place; yields how many ranges each has.

        Parts of a very long row stay apart: joining would take as much memory again.
        """
        self.flush()
        for growing in self._growing:
            count = len(growing)
            if count <= MOST_JOINED or not growing.is_in_order:
                growing.whole()
            yield count

    @property
    def left_out_count(self) -> int:
        """Ranges that found no place."""
        return self._unplaced_count + sum(growing.left_out_count for growing in self._growing)


def some_ranges(ranges: Ranges, mask: npt.NDArray[np.bool_]) -> Ranges:
    """The ranges at which `mask` is true."""
    return Ranges(ranges.starts[mask], ranges.ends[mask], ranges.names[mask], ranges.rows[mask])
