"""How much of the time between two moments some ranges cover, lane by lane (a thread, a queue)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays.intervals import Intervals, Times, elapsed_ns

Lanes = npt.NDArray[np.int64]
Lengths = npt.NDArray[np.uint64]


class _Lane(NamedTuple):
    """The stretches that a lane's ranges cover, and how long all before each of them are."""

    starts: Times
    ends: Times
    before_ns: Lengths

    @classmethod
    def of(cls, covered: Intervals) -> _Lane:
        lengths = elapsed_ns(covered.starts, covered.ends)
        return cls(covered.starts, covered.ends, np.append(np.uint64(0), np.cumsum(lengths)))

    def until_ns(self, times: Times) -> Lengths:
        """How much of the time until each moment is covered."""
        begun = np.searchsorted(self.starts, times, side="right")
        last = np.maximum(begun - 1, 0)
        still_open = (begun > 0) & (self.ends[last] > times)
        ahead = np.where(still_open, elapsed_ns(times, self.ends[last]), np.uint64(0))
        covered: Lengths = self.before_ns[begun] - ahead
        return covered


class LaneCover:
    """Ranges [start, end) of several lanes, overlaps counted once."""

    def __init__(self, intervals: dict[int, Intervals]) -> None:
        self._intervals = intervals
        self._lanes = {lane: _Lane.of(covered) for lane, covered in intervals.items()}

    @classmethod
    def of(cls, starts: Times, ends: Times, lanes: Lanes) -> LaneCover:
        """The cover of any ranges, one lane for each."""
        return cls(
            {
                lane: Intervals.from_pairs(starts[rows], ends[rows])
                for lane, rows in rows_by_lane(lanes)
            }
        )

    def less(self, other: LaneCover) -> LaneCover:
        """What this one covers and the other does not."""
        nothing = Intervals.empty()
        return LaneCover(
            {
                lane: covered.subtract(other._intervals.get(lane, nothing))
                for lane, covered in self._intervals.items()
            }
        )

    @property
    def total_ns(self) -> int:
        """The covered time of all lanes added up."""
        return sum(covered.total_ns for covered in self._intervals.values())

    def between_ns(self, starts: Times, ends: Times, lanes: Lanes) -> Lengths:
        """How much of each [start, end) the ranges of its lane cover."""
        covered = np.zeros(len(starts), np.uint64)
        for lane, rows in rows_by_lane(lanes):
            known = self._lanes.get(lane)
            if known is not None and len(known.starts):
                covered[rows] = known.until_ns(ends[rows]) - known.until_ns(starts[rows])
        return covered


def rows_by_lane(lanes: Lanes) -> Iterator[tuple[int, npt.NDArray[np.intp] | slice]]:
    """Each lane with the places of its rows."""
    if not len(lanes):
        return
    if lanes.min() == lanes.max():
        yield int(lanes[0]), slice(None)
        return
    order = np.argsort(lanes, kind="stable")
    numbers, firsts = np.unique(lanes[order], return_index=True)
    yield from zip(numbers.tolist(), np.split(order, firsts[1:]), strict=True)
