"""Where ops, calls and markers lie in the rows of a timeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.view.lanes import Lane
from wavescope.view.opening import Loaded
from wavescope.view.rows import Row

_FIRST_LOOK = 1 << 12


def rows_of_table(loaded: Loaded, table: str) -> Iterator[Row]:
    """The rows of the timeline whose lanes hold rows of `table`."""
    return (row for row in loaded.rows if row.table == table and row.lanes)


class Spot(NamedTuple):
    """The row of the timeline in which a range lies, and how deep; an empty id: not there (yet)."""

    row_id: str
    depth: int


def spot_of(loaded: Loaded, table: str, number: int, start_ns: int, likely: str = "") -> Spot:
    """Where a range lies; `likely` is the id of the row to look at first, or how it begins."""
    rows = sorted(rows_of_table(loaded, table), key=lambda row: not row.id.startswith(likely))
    for row in rows:
        for lane in row.lanes:
            first, stop = np.searchsorted(lane.starts, (start_ns, start_ns + 1))
            if (lane.rows[first:stop] == number).any():
                return Spot(row.id, lane.depth)
    return Spot("", 0)


@dataclass(frozen=True, order=True)
class Place:
    """A range by its time; ranges that begin together are in the order of table and row."""

    start_ns: int
    table: int
    number: int
    row_id: str = ""
    duration_ns: int = 0
    name: int = -1


Hits = Callable[[npt.NDArray[np.int32]], npt.NDArray[np.bool_]]
"""Of names (codes) which are meant."""


@dataclass(frozen=True)
class LaneOf:
    """A lane, the number of its table and the id of its row."""

    table: int
    row_id: str
    lane: Lane

    def at(self, index: int) -> Place:
        """The range in a place of the lane."""
        lane = self.lane
        start_ns, number, length, name = (
            int(values[index]) for values in (lane.starts, lane.rows, lane.lengths, lane.names)
        )
        return Place(start_ns, self.table, number, self.row_id, length, name)


def nearest(lanes: Iterable[LaneOf], hits: Hits, origin: Place, direction: int) -> Place | None:
    """The first range after `origin` (before it for -1) whose name is a hit."""
    best: Place | None = None
    for each in lanes:
        for found in _hits_of(each, hits, origin, best, direction):
            if _is_between(found, origin, best, direction):
                best = found
                break
    return best


def _hits_of(
    of: LaneOf, hits: Hits, origin: Place, best: Place | None, direction: int
) -> Iterator[Place]:
    """The hits of a lane from `origin` on, until behind `best`."""
    starts = of.lane.starts
    if direction > 0:
        low = int(np.searchsorted(starts, origin.start_ns))
        high = len(starts) if best is None else int(np.searchsorted(starts, best.start_ns, "right"))
    else:
        low = 0 if best is None else int(np.searchsorted(starts, best.start_ns))
        high = int(np.searchsorted(starts, origin.start_ns, "right"))
    step = _FIRST_LOOK
    while low < high:
        if direction > 0:
            first, stop = low, min(high, low + step)
            low = stop
        else:
            first, stop = max(low, high - step), high
            high = first
        found = np.flatnonzero(hits(of.lane.names[first:stop])) + first
        yield from map(of.at, (found if direction > 0 else found[::-1]).tolist())
        step *= 4


def _is_between(found: Place, origin: Place, best: Place | None, direction: int) -> bool:
    keys = [(each.start_ns, each.table, each.number) for each in (found, origin)]
    is_beyond = keys[0] > keys[1] if direction > 0 else keys[0] < keys[1]
    if best is None or not is_beyond:
        return is_beyond
    last = (best.start_ns, best.table, best.number)
    return keys[0] < last if direction > 0 else keys[0] > last
