"""The lanes of a row while its trace is being read."""

from __future__ import annotations

from itertools import chain

import numpy as np

from wavescope.view.lanes.lane import Lane
from wavescope.view.lanes.packing import (
    MOST_LANES,
    PackedLanes,
    Packing,
    Ranges,
    all_ranges,
    end_to_end,
    joined_lanes,
    packed_lanes,
    ranges_of,
    repacked_lanes,
)

LONGEST_PART = 1 << 22
"""Ranges of a part that is not joined with the next any more."""


class GrowingLanes:
    """Adds ranges part by part: the same lanes come out as if all were packed at once.

    Parts may overlap a little in time, as batches of a trace do. One that begins far back is kept
    on the side, in lanes that may overlap the others, until `whole` or until there is enough of it
    to pack everything anew.
    """

    def __init__(self, packing: Packing, patience: int = 4096) -> None:
        """`patience`: how many ranges are always packed anew rather than waited with."""
        self._packing = packing
        self._patience = patience
        self._parts: dict[int, list[Lane]] = {}
        self._aside: list[Lane] = []
        self.left_out_count = 0
        """Ranges that found no place."""

    def __len__(self) -> int:
        return sum(map(len, self.lanes()))

    def add(self, ranges: Ranges) -> None:
        """Take ranges in any order; their columns are kept where they are in order already."""
        if not len(ranges.starts):
            return
        first = int(ranges.starts.min())
        later = sum(len(lane) - _place(lane, first) for lane in self._in_place())
        if later > 4 * len(ranges.starts) + self._patience:
            self._set_aside(ranges, later)
        elif later:
            self._pack(all_ranges([ranges_of(self._cut(first)), ranges]))
        else:
            self._pack(ranges)

    def lanes(self) -> tuple[Lane, ...]:
        """What was added so far; a depth has several lanes, of which all but the last stay."""
        return (*self._in_place(), *self._aside)

    @property
    def is_in_order(self) -> bool:
        """Whether the lanes of one depth follow each other, none kept on the side."""
        return not self._aside

    def whole(self) -> tuple[Lane, ...]:
        """Everything, with one lane for each depth."""
        join = repacked_lanes if self._aside else joined_lanes
        joined = join(self.lanes(), self._packing)
        self._take(joined)
        return joined.lanes

    def _in_place(self) -> chain[Lane]:
        return chain.from_iterable(self._parts.values())

    def _pack(self, ranges: Ranges) -> None:
        free_at = np.full(MOST_LANES, np.iinfo(np.int64).min)
        for depth, parts in self._parts.items():
            free_at[depth] = parts[-1].ends_ns
        packed = packed_lanes(ranges, self._packing, free_at)
        self.left_out_count += packed.left_out_count
        for lane in packed.lanes:
            _append(self._parts.setdefault(lane.depth, []), lane)

    def _cut(self, first_ns: int) -> list[Lane]:
        """Take away what starts at `first_ns` or later."""
        tails = []
        for depth, parts in list(self._parts.items()):
            while parts and int(parts[-1].starts[-1]) >= first_ns:
                lane = parts.pop()
                place = _place(lane, first_ns)
                tails.append(_slice(lane, slice(place, None)))
                if place:
                    parts.append(_slice(lane, slice(place)))
            if not parts:
                del self._parts[depth]
        return tails

    def _set_aside(self, ranges: Ranges, later: int) -> None:
        packed = packed_lanes(ranges, self._packing)
        self.left_out_count += packed.left_out_count
        self._aside += packed.lanes
        if 4 * sum(map(len, self._aside)) > later:
            self._take(repacked_lanes(self.lanes(), self._packing))

    def _take(self, packed: PackedLanes) -> None:
        self.left_out_count += packed.left_out_count
        self._parts = {lane.depth: [lane] for lane in packed.lanes}
        self._aside = []


def _append(parts: list[Lane], lane: Lane) -> None:
    """Add a part, joined with those before it as long as that is cheap on the average."""
    joined = [lane]
    total = len(lane)
    while parts and len(parts[-1]) < 2 * total and len(parts[-1]) + total <= LONGEST_PART:
        joined.insert(0, parts.pop())
        total += len(joined[0])
    parts.append(end_to_end(joined))


def _place(lane: Lane, first_ns: int) -> int:
    return int(np.searchsorted(lane.starts, first_ns))


def _slice(lane: Lane, part: slice) -> Lane:
    return Lane(
        lane.starts[part], lane.lengths[part], lane.names[part], lane.rows[part], lane.depth
    )
