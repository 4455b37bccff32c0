"""Which range lies inside which, per lane (a thread, a queue): parents, depths, innermost ranges.

Ranges are half-open [start, end) in int64 ns and belong to a lane; ranges of different lanes never
meet. Within a lane they are looked at in *opening order*: by start, then the longer one first, then
by row. Everything here follows from two rules:

- the parent of a range is the last range before it in opening order that contains it whole;
- the innermost range at a time is the last in opening order that is open then.

Properly nested ranges (a call stack, pushes and pops) get the tree everybody expects. Ranges that
overlap without nesting, as damaged or asynchronous input has them, get a definite answer too: of
[0, 10) and [5, 15) neither is the other's parent, and from 5 on the second is the innermost. Of two
equal ranges the later row is the child. An empty range [t, t) is an instant: it may have a parent,
which then contains t (so not the range ending at t), but it contains nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wavescope.arrays.intervals import Times, as_rows, as_times, is_sorted
from wavescope.native import columns_library

NO_RANGE = -1

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Nesting:
    """The tree of ranges: per row the parent's row (-1: none) and the number of ancestors."""

    parent: Rows
    depth: Rows


@dataclass(frozen=True)
class FlatRanges:
    """Disjoint segments in order of lane and time, each with the row of its innermost range."""

    starts: Times
    ends: Times
    lanes: Rows
    ranges: Rows

    def range_at(self, times: npt.ArrayLike, lanes: npt.ArrayLike | None = None) -> Rows:
        """For every time (and lane) the row of the innermost range open then, -1 where none is."""
        points = as_times(times)
        if self.starts.size == 0 or points.size == 0:
            return np.full(points.size, NO_RANGE, np.int64)
        point_lanes = _as_lanes(lanes, points.size)
        if self._only_lane and points.size > self.starts.size and is_sorted(points):
            return np.where(point_lanes == self.lanes[0], self._ranges_at_sorted(points), NO_RANGE)
        before = self._last_segment_starting_by(points, point_lanes)
        segment = np.maximum(before, 0)
        inside = (points >= self.starts[segment]) & (points < self.ends[segment])
        inside &= point_lanes == self.lanes[segment]
        return np.where(inside, self.ranges[segment], NO_RANGE)

    def _ranges_at_sorted(self, points: Times) -> Rows:
        """The range at each of many times in order: where segments begin and end among them."""
        bounds = np.stack((self.starts, self.ends), axis=1).ravel()
        cuts = np.concatenate(([0], np.searchsorted(points, bounds), [points.size]))
        inside_and_after = np.full((self.starts.size, 2), NO_RANGE, np.int64)
        inside_and_after[:, 0] = self.ranges
        return np.repeat(np.concatenate(([NO_RANGE], inside_and_after.ravel())), np.diff(cuts))

    @cached_property
    def _only_lane(self) -> bool:
        return bool(self.lanes[0] == self.lanes[-1])

    def _last_segment_starting_by(self, points: Times, point_lanes: Rows) -> Rows:
        """The last segment at or before each (lane, time); -1 before all."""
        if self._only_lane:
            return np.searchsorted(self.starts, points, side="right") - 1
        lanes, lane_firsts = np.unique(self.lanes, return_index=True)
        origin, last = int(self.starts.min()), int(self.ends.max())
        if (last - origin + 1) * lanes.size < 1 << 63:
            return self._search_packed(points, point_lanes, lanes, origin, last - origin + 1)
        found = np.full(points.size, NO_RANGE, np.int64)
        lane_stops = np.append(lane_firsts[1:], self.lanes.size)
        by_lane = np.argsort(point_lanes, kind="stable")
        cuts = np.searchsorted(point_lanes[by_lane], np.append(lanes, lanes[-1]), side="left")
        cuts[-1] = np.searchsorted(point_lanes[by_lane], lanes[-1], side="right")
        for index, (first, stop) in enumerate(zip(lane_firsts, lane_stops, strict=True)):
            mine = by_lane[cuts[index] : cuts[index + 1]]
            position = np.searchsorted(self.starts[first:stop], points[mine], side="right")
            found[mine] = first + position - 1
        return found

    def _search_packed(
        self, points: Times, point_lanes: Rows, lanes: Rows, origin: int, width: int
    ) -> Rows:
        """One search for all lanes: lane number and offset into the time axis make one key."""
        segment_keys = np.searchsorted(lanes, self.lanes) * width + (self.starts - origin)
        offsets = np.clip(points, origin, origin + width - 1) - origin
        lane_numbers = np.searchsorted(lanes, point_lanes)
        known = np.minimum(lane_numbers, lanes.size - 1)
        keys = known * width + offsets
        return np.searchsorted(segment_keys, keys, side="right") - 1


def nest(starts: npt.ArrayLike, ends: npt.ArrayLike, lanes: npt.ArrayLike | None = None) -> Nesting:
    """The parent and depth of every range; without lanes all ranges are in one."""
    opened = _Opened.of(starts, ends, lanes)
    count = opened.rows.size
    parent, depth = np.empty((2, count), np.int64)
    opened_parent, opened_depth = np.empty((2, count), np.int64)
    columns = (np.ascontiguousarray(part) for part in (opened.starts, opened.ends, opened.lanes))
    if columns_library().wavescope_nest(*columns, count, opened_parent, opened_depth):
        raise MemoryError
    depth[opened.rows] = opened_depth
    # Position -1 (no parent) picks the last element, hence the NO_RANGE appended there.
    parent[opened.rows] = np.append(opened.rows, NO_RANGE)[opened_parent]
    return Nesting(parent, depth)


def flatten(
    starts: npt.ArrayLike, ends: npt.ArrayLike, lanes: npt.ArrayLike | None = None
) -> FlatRanges:
    """The ranges cut into disjoint segments, each owned by the innermost range there."""
    opened = _Opened.of(starts, ends, lanes).without_empty()
    crowd = opened.crowded
    alone = opened.alone
    crowd_lanes = opened.lanes[crowd]
    cut_starts, cut_ends, cut_owners = _cut_in_opening_order(
        opened.starts[crowd].tolist(), opened.ends[crowd].tolist(), crowd_lanes.tolist()
    )
    owner = crowd[np.asarray(cut_owners, np.int64)]
    segment_starts = np.concatenate((opened.starts[alone], np.asarray(cut_starts, np.int64)))
    segment_ends = np.concatenate((opened.ends[alone], np.asarray(cut_ends, np.int64)))
    owners = np.concatenate((alone, owner))
    if crowd.size and alone.size:
        order = np.lexsort((segment_starts, opened.lanes[owners]))
        segment_starts, segment_ends = segment_starts[order], segment_ends[order]
        owners = owners[order]
    return FlatRanges(segment_starts, segment_ends, opened.lanes[owners], opened.rows[owners])


def containing_range(
    times: npt.ArrayLike,
    starts: npt.ArrayLike,
    ends: npt.ArrayLike,
    *,
    lanes: npt.ArrayLike | None = None,
    time_lanes: npt.ArrayLike | None = None,
) -> Rows:
    """For every time (in its lane) the row of the innermost range open then, -1 where none is."""
    return flatten(starts, ends, lanes).range_at(times, time_lanes)


@dataclass(frozen=True)
class _Opened:
    """Ranges in opening order, lane by lane; `rows` are their places in the caller's arrays."""

    starts: Times
    ends: Times
    lanes: Rows
    rows: Rows

    @classmethod
    def of(cls, starts: npt.ArrayLike, ends: npt.ArrayLike, lanes: npt.ArrayLike | None) -> _Opened:
        start_times, end_times = as_rows(starts, ends)
        lane_numbers = _as_lanes(lanes, start_times.size)
        rows = _opening_order(start_times, end_times, lane_numbers)
        return cls(start_times[rows], end_times[rows], lane_numbers[rows], rows)

    def without_empty(self) -> _Opened:
        kept = self.starts < self.ends
        if np.all(kept):
            return self
        return _Opened(self.starts[kept], self.ends[kept], self.lanes[kept], self.rows[kept])

    @cached_property
    def _shares_time(self) -> npt.NDArray[np.bool_]:
        """Whether a range overlaps another one of its lane; only these need the slow walk."""
        if self.starts.size == 0:
            return np.zeros(0, np.bool_)
        is_instant = (self.starts == self.ends) & (self.ends < np.iinfo(np.int64).max)
        reach = self.ends + is_instant
        new_lane = self.lanes[1:] != self.lanes[:-1]
        if np.any((reach[1:] < reach[:-1]) & ~new_lane):
            reach = reach[np.lexsort((reach, self.lanes))]
        # Sorted apart from the starts, the i-th end shows whether all i + 1 ranges have ended.
        apart = np.concatenate(([True], new_lane | (self.starts[1:] >= reach[:-1]), [True]))
        shares: npt.NDArray[np.bool_] = ~(apart[:-1] & apart[1:])
        return shares

    @property
    def crowded(self) -> Rows:
        """Positions of the ranges that share time with another."""
        return np.flatnonzero(self._shares_time)

    @property
    def alone(self) -> Rows:
        """Positions of the ranges that share time with none."""
        return np.flatnonzero(~self._shares_time)


def _as_lanes(lanes: npt.ArrayLike | None, count: int) -> Rows:
    if lanes is None:
        return np.zeros(count, np.int64)
    numbers = as_times(lanes)
    if numbers.size != count:
        raise ValueError(f"{numbers.size} lanes for {count} rows")
    return numbers


def _opening_order(starts: Times, ends: Times, lanes: Rows) -> Rows:
    later_lane = lanes[1:] > lanes[:-1]
    same_lane = lanes[1:] == lanes[:-1]
    later_start = starts[1:] > starts[:-1]
    inside = (starts[1:] == starts[:-1]) & (ends[1:] <= ends[:-1])
    if np.all(later_lane | (same_lane & (later_start | inside))):
        return np.arange(starts.size)
    # ~end reverses the order of int64 without the overflow that -end has at its lowest value.
    return np.lexsort((~ends, starts, lanes))


def _cut_in_opening_order(
    starts: list[int], ends: list[int], lanes: list[int]
) -> tuple[list[int], list[int], list[int]]:
    """Segment starts, ends and the position of their innermost range."""
    cuts: tuple[list[int], list[int], list[int]] = ([], [], [])
    open_positions: list[int] = []
    count = len(starts)
    for position, start in enumerate(starts):
        open_positions.append(position)
        following = position + 1
        same_lane = following < count and lanes[following] == lanes[position]
        until = starts[following] if same_lane else None
        _close_until(start, until, ends, open_positions, cuts)
    return cuts


def _close_until(
    cursor: int,
    until: int | None,
    ends: list[int],
    open_positions: list[int],
    cuts: tuple[list[int], list[int], list[int]],
) -> None:
    """Emit the innermost ranges from `cursor` to `until` (None: to the end of the lane)."""
    cut_starts, cut_ends, owners = cuts
    while open_positions and (until is None or cursor < until):
        innermost = open_positions[-1]
        end = ends[innermost]
        stop = end if until is None or end < until else until
        if stop > cursor:
            cut_starts.append(cursor)
            cut_ends.append(stop)
            owners.append(innermost)
            cursor = stop
        if end <= cursor:
            open_positions.pop()
