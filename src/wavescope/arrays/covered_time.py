"""How much of the time before any moment some ranges cover: sums that answer any window exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wavescope.arrays.interval_union import stretches_of_runs
from wavescope.arrays.intervals import Times, sorted_times
from wavescope.native import columns_library


class CoveredTime(NamedTuple):
    """Gapless stretches in order, none of them empty, and how long all before each are together.

    The whole covered time must be less than 2**63 ns.
    """

    starts: Times
    ends: Times
    before_ns: Times

    @classmethod
    def of(cls, starts: Times, ends: Times) -> CoveredTime:
        """What any rows cover, however sorted and overlapping; none ends before it begins."""
        if not len(starts):
            return NOTHING_COVERED
        return cls._of_run(*stretches_of_runs([(sorted_times(starts), sorted_times(ends))]))

    @classmethod
    def of_all(cls, parts: Sequence[CoveredTime]) -> CoveredTime:
        """What at least one of the parts covers."""
        filled = [part for part in parts if len(part.starts)]
        if len(filled) <= 1:
            return filled[0] if filled else NOTHING_COVERED
        return cls._of_run(*stretches_of_runs([(part.starts, part.ends) for part in filled]))

    @classmethod
    def _of_run(cls, starts: Times, ends: Times) -> CoveredTime:
        lengths = ends - starts
        if len(lengths) and not lengths.min():
            # Rows without length that touch no other cover nothing.
            covers = np.flatnonzero(lengths)
            starts, ends, lengths = starts[covers], ends[covers], lengths[covers]
        before_ns = np.empty(len(lengths), np.int64)
        before_ns[:1] = 0
        np.cumsum(lengths[:-1], out=before_ns[1:])
        return cls(starts, ends, before_ns)

    @property
    def total_ns(self) -> int:
        """How much time is covered."""
        if not len(self.starts):
            return 0
        return int(self.before_ns[-1]) + int(self.ends[-1]) - int(self.starts[-1])

    def until(self, times: Times) -> Times:
        """How much of the time before each of `times` is covered."""
        if not len(self.starts):
            return np.zeros(len(times), np.int64)
        place = _places(self.starts, times, is_right=True) - 1
        at = np.maximum(place, 0)
        inside = np.minimum(times, self.ends[at]) - self.starts[at]
        return np.where(place < 0, 0, self.before_ns[at] + inside)

    def between(self, starts: Times, ends: Times) -> Times:
        """How much of each [start, end) is covered."""
        covered: Times = self.until(ends) - self.until(starts)
        return covered

    def last_before(self, times: Times) -> Times:
        """The end of the covered time before each moment, the moment itself where it is covered up
        to there, the least int64 where nothing is covered before it."""
        if not len(self.starts):
            return np.full(len(times), np.iinfo(np.int64).min, np.int64)
        place = _places(self.starts, times, is_right=False) - 1
        last = np.minimum(self.ends[np.maximum(place, 0)], times)
        return np.where(place < 0, np.iinfo(np.int64).min, last)


def _places(starts: Times, times: Times, *, is_right: bool) -> Times:
    """How many starts lie before each of `times`, with `is_right` also those that equal it.

    Times are mostly in order, and far fewer: from one to the next it is a few steps.
    """
    places = np.empty(len(times), np.int64)
    wanted = np.ascontiguousarray(times, np.int64)
    columns_library().wavescope_places(
        starts, len(starts), wanted, len(wanted), int(is_right), places
    )
    return places


_NO_TIMES = np.empty(0, np.int64)
NOTHING_COVERED = CoveredTime(_NO_TIMES, _NO_TIMES, _NO_TIMES)
