"""Which ranks ended the same exchanges together, told by the distances between ends.

Members of one group end an exchange within microseconds of each other, whatever their clocks show.
So from one exchange to the next the same time passes on all of them, and on ranks of other groups
another time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays.intervals import Times

Levels = npt.NDArray[np.float64]

_COMPARED = 256
_LEAST_COMPARED = 8
CLEARLY = 3.0
"""Ranks are told apart if those of other groups differ so many times more."""
ENOUGH = 1.5
"""Ranks are told apart so much less clearly where the parts are those that a launcher makes."""
_RESOLUTION_NS = 500.0
_USUAL_NS = 2_000.0
_MOST_APART_NS = 20_000.0
_NEARLY_ALL_PERCENT = 90
_FEW_RANKS = 4
_MUCH = 6.0
"""An exchange whose ends lie so many times further apart than usual is one of other ranks."""


class Partition(NamedTuple):
    """Ranks in parts, and how clearly they are told apart."""

    parts: list[list[int]]
    separation: float
    """The least distance to another part / the greatest within one; 0 when nothing was told."""


def partition_by_times(
    end_ns: Times, size: int | None, ways: Sequence[list[list[int]]] | None = None
) -> Partition | None:
    """The parts of ranks, of `size` each where that is known; None where times do not tell, or
    where they tell none of `ways`.

    `end_ns`: [rank, exchange], each rank's own clock, only exchanges that all have.
    """
    distances = _sampled_distances(end_ns)
    if distances is None:
        return None
    parts = _parts(distances, size, ways)
    if parts is None:
        return None
    return Partition(parts, _separation(distances, parts))


def _sampled_distances(end_ns: Times) -> Times | None:
    """[rank, distance]: how long from one exchange's end to the next one's, of some of them."""
    if end_ns.shape[1] <= _LEAST_COMPARED:
        return None
    first = max(0, (end_ns.shape[1] - _COMPARED - 1) // 2)
    distances: Times = np.diff(end_ns[:, first : first + _COMPARED + 1], axis=1)
    return distances


def _apart(distances: Times, leader: int, others: list[int]) -> npt.NDArray[np.float64]:
    apart: npt.NDArray[np.float64] = np.median(
        np.abs(distances[others] - distances[leader]), axis=1
    )
    return np.maximum(apart, _RESOLUTION_NS)


def _parts(
    distances: Times, size: int | None, ways: Sequence[list[list[int]]] | None
) -> list[list[int]] | None:
    left = list(range(len(distances)))
    parts = []
    # Comparing all ranks with each other takes long: mostly the first part is in none of the ways.
    possible = None if ways is None else [{tuple(sorted(part)) for part in way} for way in ways]
    while left:
        leader, others = left[0], left[1:]
        apart = _apart(distances, leader, others) if others else np.empty(0)
        order = np.argsort(apart, kind="stable")
        count = _gap(apart[order]) if size is None else min(size - 1, len(others))
        if count is None:
            return None
        part = sorted([leader, *(others[place] for place in order[:count].tolist())])
        if possible is not None:
            possible = [way for way in possible if tuple(part) in way]
            if not possible:
                return None
        parts.append(part)
        left = [rank for rank in left if rank not in part]
        if size is None:
            size = len(part)
    return parts


def _gap(ordered: npt.NDArray[np.float64]) -> int | None:
    """How many of the ranks in order of distance belong to the leader's part: all where no gap."""
    if len(ordered) < 2:
        return len(ordered)
    ratios = ordered[1:] / ordered[:-1]
    place = int(np.argmax(ratios))
    return place + 1 if ratios[place] >= CLEARLY else len(ordered)


def _separation(distances: Times, parts: list[list[int]]) -> float:
    """By the first rank of each part: how much nearer its own part is than the others."""
    if len(parts) < 2:
        return 1.0
    worst = np.inf
    for part in parts:
        inside = set(part)
        outside = [rank for rank in range(len(distances)) if rank not in inside]
        own = _apart(distances, part[0], part[1:]).max(initial=_RESOLUTION_NS)
        other = _apart(distances, part[0], outside).min(initial=np.inf)
        worst = min(worst, float(other / own))
    return float(worst)


def ends_together(
    levels: Sequence[Levels], is_there: npt.NDArray[np.bool_], parts: list[list[int]]
) -> npt.NDArray[np.bool_]:
    """For each exchange whether the ranks of each part end it about as near as they usually do;
    `levels` are those of each part."""
    together = np.ones(is_there.shape[1], np.bool_)
    for part, level in zip(parts, levels, strict=True):
        if len(part) > 1:
            spread = _spread(level)
            usual = np.median(spread[np.count_nonzero(is_there[part], axis=0) > 1])
            together &= spread <= _MUCH * max(float(usual), _USUAL_NS)
    return together


def usual_spread_ns(
    end_ns: Times, is_there: npt.NDArray[np.bool_], parts: list[list[int]]
) -> float:
    """Within what the ranks of a part mostly end; infinite where no part has several."""
    spreads = [
        float(np.median(_spread(levelled(end_ns[part], is_there[part]))))
        for part in parts
        if len(part) > 1
    ]
    return max(spreads, default=np.inf)


def ends_near(level: Levels) -> bool:
    """Whether ranks end nearly all exchanges as near to each other as only members of a group do.

    One rank of ten may not: a clock that jumped is one rank's.
    """
    unknown = np.isnan(level)
    known = np.where(unknown, 0.0, level)
    # Each exchange's ends side by side: picking the middle one out of a column takes far longer.
    middle = np.median(np.ascontiguousarray(known.T), axis=1)
    apart = np.where(unknown, 0.0, np.abs(known - middle))
    usual = np.sort(np.percentile(apart, _NEARLY_ALL_PERCENT, axis=1))
    left_out = 0 if len(usual) < _FEW_RANKS else max(1, len(usual) // 10)
    return bool(usual[len(usual) - 1 - left_out] <= _MOST_APART_NS)


def levelled(end_ns: Times, is_there: npt.NDArray[np.bool_]) -> Levels:
    """[rank, exchange]: ends against those of the rank that has most, once clocks are a line from
    each other; NaN where one of both has no end."""
    leader = int(np.argmax(np.count_nonzero(is_there, axis=1)))
    level = np.full(end_ns.shape, np.nan)
    clock = _Clock.of(end_ns[leader, is_there[leader]])
    shared = np.flatnonzero(is_there[leader])
    for rank in range(len(end_ns)):
        mine = np.flatnonzero(is_there[rank] & is_there[leader])
        if not len(mine):
            continue
        # Mostly all ranks have all exchanges.
        if not np.array_equal(mine, shared):
            clock, shared = _Clock.of(end_ns[leader, mine]), mine
        level[rank, mine] = clock.off_the_line(end_ns[rank, mine] - clock.times)
    return level


class _Clock(NamedTuple):
    """Times on one clock, and what of them a line to another clock is made of."""

    times: Times
    since: npt.NDArray[np.float64]
    """Since the middle one."""
    run: float
    """From the middle of the first half to that of the second; 0 with only one time."""

    @classmethod
    def of(cls, times: Times) -> _Clock:
        half = len(times) // 2
        since = (times - times[half : half + 1]).astype(np.float64)
        run = float(np.median(since[half:]) - np.median(since[:half])) if half else 0.0
        return cls(times, since, run)

    def off_the_line(self, apart: Times) -> npt.NDArray[np.float64]:
        """How far differences to another clock lie from the line through the middles of both
        halves."""
        half = len(apart) // 2
        above = (apart - apart[half]).astype(np.float64)
        if half:
            rise = np.median(above[half:]) - np.median(above[:half])
            above -= self.since * (rise / max(self.run, 1.0))
        off: npt.NDArray[np.float64] = above - np.median(above)
        return off


def _spread(level: Levels) -> npt.NDArray[np.float64]:
    """How far the ends of each exchange are apart; 0 where there is only one."""
    highest = np.where(np.isnan(level), -np.inf, level).max(axis=0)
    lowest = np.where(np.isnan(level), np.inf, level).min(axis=0)
    return np.where(np.isfinite(highest), highest - lowest, 0.0)
