"""Ranges that are wide enough to be drawn one by one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.view.tiles.drawing import Drawing, RowLane
from wavescope.view.tiles.lane_sums import sums_of

NARROWEST = 3
"""Pixels of a box."""


class Boxes(NamedTuple):
    """Ranges by depth and start, and instants; of those at most one for each pixel and lane."""

    depth: npt.NDArray[np.uint16]
    start: npt.NDArray[np.float64]
    """In ns from the beginning of pixel 0 on."""
    duration: npt.NDArray[np.float64]
    name: npt.NDArray[np.int32]
    row: npt.NDArray[np.uint32]
    class_: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.start)


NO_BOXES = Boxes(
    np.empty(0, np.uint16),
    np.empty(0),
    np.empty(0),
    np.empty(0, np.int32),
    np.empty(0, np.uint32),
    np.empty(0, np.uint8),
)


def boxes(drawing: Drawing, members: Iterable[RowLane]) -> Boxes:
    """The boxes of all lanes."""
    shortest_ns = max(1, math.ceil(NARROWEST * drawing.pixels.scale))
    found = [
        _of_lane(drawing, member, shortest_ns)
        for member in members
        if drawing.pixels.meet(member.lane)
    ]
    if not any(map(len, found)):
        return NO_BOXES
    columns = [np.concatenate(parts) for parts in zip(*found, strict=True)]
    order = np.lexsort((columns[1], columns[0]))
    return Boxes(*(column[order] for column in columns))


def _of_lane(drawing: Drawing, member: RowLane, shortest_ns: int) -> Boxes:
    lane = member.lane
    places = sums_of(lane).drawn_one_by_one(drawing.pixels, shortest_ns)
    if not len(places):
        return NO_BOXES
    return Boxes(
        np.full(len(places), lane.depth, np.uint16),
        (lane.starts[places] - drawing.pixels.origin_ns).astype(np.float64),
        lane.lengths[places].astype(np.float64),
        lane.names[places],
        lane.rows[places],
        drawing.class_sums(member).classes[places],
    )
