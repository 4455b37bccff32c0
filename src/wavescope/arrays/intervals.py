"""Exact arithmetic on half-open intervals [start, end) of int64 nanoseconds.

`Intervals` is a normalised set: sorted, disjoint, touching pieces merged, none empty. The free
functions answer questions about raw rows (unsorted, overlapping) without building a set.

One observation carries everything here. Sort the starts and the ends *independently*, S and E.
In the stretch from E[i] to S[i + 1] exactly i + 1 rows have started and all of them have ended, so
nothing covers it if S[i + 1] > E[i]; and where S[i + 1] < E[i], at least two rows overlap in
[S[i + 1], E[i]). No pairing of starts with ends, no argsort.

Empty rows (start == end) cover nothing and vanish. Inverted rows (end < start) have no meaning as
a set: they raise ValueError, and whoever reads a file repairs or drops them first, and says so.

Lengths are computed modulo 2**64, where they are exact for every pair of int64 times, and handed
out as Python integers or, for arrays, as int64 after a check that they fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.arrays.coded_columns import blocks

Times = npt.NDArray[np.int64]

_SHUFFLE_DISTANCE = 64
_DEPTH_WORK_PER_ROW = 4


def as_times(values: npt.ArrayLike) -> Times:
    """The values as a one-dimensional int64 array; no copy where it is one already.

    Floats are refused: they cannot hold nanoseconds since 1970.
    """
    array: npt.NDArray[Any] = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"times must be one-dimensional, not {array.ndim}-dimensional")
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"times must be integer nanoseconds, not {array.dtype}")
    if array.dtype == np.uint64 and int(array.max()) > np.iinfo(np.int64).max:
        raise ValueError("times must fit int64")
    return array.astype(np.int64, copy=False)


def as_rows(starts: npt.ArrayLike, ends: npt.ArrayLike) -> tuple[Times, Times]:
    """Both columns as int64, after checking that they belong together and no row is inverted."""
    start_times, end_times = as_times(starts), as_times(ends)
    if start_times.size != end_times.size:
        raise ValueError(f"{start_times.size} starts but {end_times.size} ends")
    if np.any(end_times < start_times):
        row = int(np.argmax(end_times < start_times))
        raise ValueError(f"row {row} ends before it starts")
    return start_times, end_times


def is_sorted(times: Times) -> bool:
    """Whether the times never decrease."""
    return bool(np.all(times[1:] >= times[:-1]))


def sorted_times(times: Times) -> Times:
    """The times in ascending order; the same array if they are already.

    Trace rows are nearly sorted (written as they complete, or one queue after the other). A merge
    sort then takes close to linear time, several times less than NumPy's default, which in turn
    wins on shuffled rows.
    """
    if is_sorted(times):
        return times
    distance = _SHUFFLE_DISTANCE
    far_inversions = np.count_nonzero(times[distance:] < times[:-distance])
    return np.sort(times, kind="stable" if far_inversions * 8 < times.size else "quicksort")


def elapsed_ns(from_times: Times, to_times: Times) -> npt.NDArray[np.uint64]:
    """to - from for every row, exact for any pair of int64 with to >= from."""
    elapsed: npt.NDArray[np.uint64] = to_times.view(np.uint64) - from_times.view(np.uint64)
    return elapsed


@dataclass(frozen=True, eq=False, repr=False)
class Intervals:
    """A set of instants as sorted, disjoint, non-touching, non-empty half-open intervals.

    The constructor takes such arrays and checks them; `from_pairs` makes them from any rows.
    """

    starts: Times
    ends: Times

    def __post_init__(self) -> None:
        starts, ends = as_times(self.starts), as_times(self.ends)
        if starts.size != ends.size:
            raise ValueError(f"{starts.size} starts but {ends.size} ends")
        if np.any(starts >= ends) or np.any(ends[:-1] >= starts[1:]):
            raise ValueError("not a normalised set: use Intervals.from_pairs")
        for name, column in (("starts", starts), ("ends", ends)):
            view = column.view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    @classmethod
    def from_pairs(cls, starts: npt.ArrayLike, ends: npt.ArrayLike) -> Intervals:
        """The union of any rows, however sorted and overlapping; ValueError for inverted ones."""
        start_times, end_times = as_rows(starts, ends)
        return cls._from_sorted(sorted_times(start_times), sorted_times(end_times))

    @classmethod
    def _from_sorted(cls, starts: Times, ends: Times) -> Intervals:
        """The union of rows whose starts and ends were sorted independently."""
        firsts, lasts = stretches_of_sorted(starts, ends)
        covers = firsts < lasts
        return cls(firsts[covers], lasts[covers])

    @classmethod
    def empty(cls) -> Intervals:
        """The set without any instant."""
        nothing = np.empty(0, np.int64)
        return cls(nothing, nothing)

    def __len__(self) -> int:
        return int(self.starts.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Intervals):
            return NotImplemented
        return np.array_equal(self.starts, other.starts) and np.array_equal(self.ends, other.ends)

    __hash__ = None  # type: ignore[assignment]  # arrays inside: equal by content, so not hashable

    def __repr__(self) -> str:
        shown = [f"[{a}, {b})" for a, b in zip(self.starts[:6], self.ends[:6], strict=True)]
        more = [f"... {len(self) - 6} more"] if len(self) > 6 else []
        return f"Intervals({', '.join(shown + more)})"

    @property
    def total_ns(self) -> int:
        """How much time the set covers."""
        return int(elapsed_ns(self.starts, self.ends).sum(dtype=np.uint64))

    @property
    def lengths_ns(self) -> Times:
        """The length of each interval; OverflowError if one does not fit int64."""
        lengths = elapsed_ns(self.starts, self.ends)
        if lengths.size and int(lengths.max()) > np.iinfo(np.int64).max:
            raise OverflowError("an interval is longer than int64 nanoseconds can say")
        return lengths.view(np.int64)

    @property
    def span(self) -> tuple[int, int] | None:
        """First start and last end, None for the empty set."""
        return (int(self.starts[0]), int(self.ends[-1])) if len(self) else None

    def union(self, other: Intervals) -> Intervals:
        """The instants in either set."""
        starts = np.concatenate((self.starts, other.starts))
        ends = np.concatenate((self.ends, other.ends))
        return Intervals._from_sorted(sorted_times(starts), sorted_times(ends))

    def intersect(self, other: Intervals) -> Intervals:
        """The instants in both sets."""
        starts = sorted_times(np.concatenate((self.starts, other.starts)))
        ends = sorted_times(np.concatenate((self.ends, other.ends)))
        # Within one set nothing overlaps or touches, so two sets overlap at most twofold.
        shared = starts[1:] < ends[:-1]
        return Intervals(starts[1:][shared], ends[:-1][shared])

    def subtract(self, other: Intervals) -> Intervals:
        """The instants in this set but not in the other."""
        span = self.span
        return self if span is None else self.intersect(other.gaps(within=span))

    def gaps(self, within: tuple[int, int] | None = None) -> Intervals:
        """The instants not covered: between the intervals, or anywhere `within` [start, end)."""
        if within is None:
            return Intervals(self.ends[:-1], self.starts[1:])
        inside = self.clip(*within)
        starts = np.concatenate((as_times([within[0]]), inside.ends))
        ends = np.concatenate((inside.starts, as_times([within[1]])))
        uncovered = starts < ends
        return Intervals(starts[uncovered], ends[uncovered])

    def clip(self, start: int, end: int) -> Intervals:
        """The part of the set in [start, end)."""
        if end < start:
            raise ValueError(f"the window ends ({end}) before it starts ({start})")
        first = int(np.searchsorted(self.ends, start, side="right"))
        stop = int(np.searchsorted(self.starts, end, side="left"))
        if first >= stop:
            return Intervals.empty()
        starts, ends = self.starts[first:stop].copy(), self.ends[first:stop].copy()
        starts[0] = max(int(starts[0]), start)
        ends[-1] = min(int(ends[-1]), end)
        return Intervals(starts, ends) if start < end else Intervals.empty()

    def contains_points(self, times: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """For every time whether it lies in the set; an interval's end does not."""
        points = as_times(times)
        if len(self) == 0:
            return np.zeros(points.size, np.bool_)
        index = np.searchsorted(self.starts, points, side="right") - 1
        contained: npt.NDArray[np.bool_] = (index >= 0) & (points < self.ends[index])
        return contained


def stretches_of_sorted(starts: Times, ends: Times) -> tuple[Times, Times]:
    """Where gapless stretches of rows begin and end; starts and ends each sorted on their own.

    A row without length that touches no other makes a stretch without length.
    """
    breaks = np.flatnonzero(starts[1:] > ends[:-1])
    return (
        np.concatenate((starts[:1], starts[1:][breaks])),
        np.concatenate((ends[:-1][breaks], ends[-1:])),
    )


def union_length_of_sorted_ns(starts: Times, ends: Times) -> int:
    """How much time the rows cover together; starts and ends each sorted on their own."""
    if starts.size == 0:
        return 0
    covered_until = ends[:-1]
    resumes_at = np.maximum(starts[1:], covered_until)
    uncovered = int(elapsed_ns(covered_until, resumes_at).sum(dtype=np.uint64))
    return int(ends[-1]) - int(starts[0]) - uncovered


def union_length_ns(starts: npt.ArrayLike, ends: npt.ArrayLike) -> int:
    """How much time the rows cover together, overlaps counted once."""
    start_times, end_times = as_rows(starts, ends)
    return union_length_of_sorted_ns(sorted_times(start_times), sorted_times(end_times))


def overlap_depth(starts: npt.ArrayLike, ends: npt.ArrayLike) -> tuple[Times, Times]:
    """The number of rows open at any time, as a step function (times, depth).

    depth[i] holds in [times[i], times[i + 1]) and differs from its neighbours; before the first
    time and from the last on it is 0. No rows, or only empty ones: two empty arrays.
    """
    start_times, end_times = as_rows(starts, ends)
    start_times, end_times = sorted_times(start_times), sorted_times(end_times)
    if start_times.size == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    times, deltas = _merged_events(start_times, end_times)
    depth = np.cumsum(deltas, dtype=np.int64)
    last_of_its_time = np.flatnonzero(np.append(times[1:] != times[:-1], True))
    times, depth = times[last_of_its_time], depth[last_of_its_time]
    changes = np.diff(depth, prepend=0) != 0
    return times[changes], depth[changes]


def _merged_events(starts: Times, ends: Times) -> tuple[Times, npt.NDArray[np.int8]]:
    """All starts (+1) and ends (-1) in time order."""
    origin, last = int(starts[0]), int(ends[-1])
    events = np.concatenate((starts, ends))
    if last - origin < 1 << 63:
        # The kind of event rides in the lowest bit: sorting values is cheaper than indexes.
        keys = elapsed_ns(np.full(1, origin, np.int64), events)
        keys <<= np.uint64(1)
        keys[starts.size :] |= np.uint64(1)
        keys.sort(kind="stable")
        deltas = (1 - 2 * (keys & np.uint64(1)).astype(np.int8)).astype(np.int8)
        keys >>= np.uint64(1)
        return keys.view(np.int64) + origin, deltas
    order = np.argsort(events, kind="stable")
    kinds = np.where(order < starts.size, np.int8(1), np.int8(-1))
    return events[order], kinds


def busy_at_depth(starts: Times, ends: Times) -> list[int]:
    """Nanoseconds at every depth: [d] is how long exactly d rows are open, [0] the gaps between.

    The rows' starts and ends were each sorted on their own. The numbers add up to the span of the
    non-empty rows. No such rows: an empty list.
    """
    opens = np.flatnonzero(starts < ends)
    if opens.size == 0:
        return []
    at_least = [int(ends[opens[-1]]) - int(starts[opens[0]])]
    work_left = _DEPTH_WORK_PER_ROW * starts.size
    # [starts[i + depth - 1], ends[i]) for all i in `opens` is where at least `depth` rows are open.
    while opens.size:
        work_left -= opens.size
        if work_left < 0:
            return _busy_at_depth_by_events(starts, ends)
        depth = len(at_least)
        at_least.append(_length_of_staircase_ns(starts[opens + (depth - 1)], ends[opens]))
        opens = opens[: np.searchsorted(opens, starts.size - depth)]
        opens = opens[starts[opens + depth] < ends[opens]]
    return [deep - deeper for deep, deeper in zip(at_least, [*at_least[1:], 0], strict=True)]


def _length_of_staircase_ns(starts: Times, ends: Times) -> int:
    """The union's length for non-empty rows of which neither starts nor ends ever decrease."""
    first = int(ends[0]) - int(starts[0])
    new_from = np.maximum(starts[1:], ends[:-1])
    return first + int(elapsed_ns(new_from, ends[1:]).sum(dtype=np.uint64))


def _busy_at_depth_by_events(starts: Times, ends: Times) -> list[int]:
    """For deep stacks: one walk over all events instead of one over the rows per depth."""
    times, depth = overlap_depth(starts, ends)
    lengths = np.zeros(int(depth.max()) + 1, np.uint64)
    np.add.at(lengths, depth[:-1], elapsed_ns(times[:-1], times[1:]))
    exact: list[int] = lengths.tolist()
    return exact


def lengths_ns(starts: Times, ends: Times) -> npt.NDArray[np.uint32] | npt.NDArray[np.int64]:
    """The length of each row, in 32 bits if all fit: most ops take less than four seconds."""
    short = np.empty(starts.size, np.uint32)
    for rows in blocks(starts.size):
        lengths = ends[rows] - starts[rows]
        if lengths.min() < 0 or lengths.max() > np.iinfo(np.uint32).max:
            return ends - starts
        short[rows] = lengths
    return short


def sum_of_lengths_ns(starts: Times, ends: Times) -> int:
    """The lengths of all rows added up, overlaps counted every time; any order of each column."""
    if starts.size == 0:
        return 0
    longest_possible = int(ends.max()) - int(starts.min())
    if longest_possible * starts.size < 1 << 64:
        # Both sums may wrap around; their difference does not.
        wrapped = int(ends.view(np.uint64).sum()) - int(starts.view(np.uint64).sum())
        return wrapped % (1 << 64)
    return _exact_sum(ends) - _exact_sum(starts)


def _exact_sum(times: Times) -> int:
    return (int((times >> 32).sum()) << 32) + int((times & 0xFFFF_FFFF).sum())
