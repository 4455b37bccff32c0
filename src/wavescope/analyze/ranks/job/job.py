"""All ranks of a job with matched collectives, one clock, and matched steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.digest import RankDigest
from wavescope.analyze.ranks.job.matched import MISSING, MatchedGroup, Mismatch
from wavescope.analyze.ranks.job.rank_clock import RankClock
from wavescope.arrays.intervals import Times

NO_TIME = np.iinfo(np.int64).min
"""What stands in a matrix of times where a rank has no row."""


@dataclass(frozen=True)
class Job:
    """Ranks by place (0, 1, ...), in the order of their rank numbers."""

    ranks: tuple[RankDigest, ...]
    numbers: tuple[int, ...]
    """The global rank number of each place."""
    groups: tuple[MatchedGroup, ...]
    mismatches: tuple[Mismatch, ...]
    clocks: tuple[RankClock, ...]
    """One for each place."""
    steps: npt.NDArray[np.int32]
    """[place, step]: the row in that rank's `steps`, `MISSING` where it has none: ranks begin and
    end recording at different times, and the same row need not be the same step."""

    def __len__(self) -> int:
        return len(self.ranks)

    @property
    def step_count(self) -> int:
        return int(self.steps.shape[1])

    def starts(self, group: MatchedGroup) -> Times:
        """[member, exchange]: when each member arrived, in common time; `NO_TIME` if missing."""
        return self._times(group)[0]

    def ends(self, group: MatchedGroup) -> Times:
        """[member, exchange]: when each member was done, in common time; `NO_TIME` if missing."""
        return self._times(group)[1]

    def column(self, group: MatchedGroup, name: str, missing: int = MISSING) -> Times:
        """[member, exchange]: a column of `CollectiveRows`, such as `exposed_ns`."""
        values = np.full(group.rows.shape, missing, np.int64)
        for member, place in enumerate(group.members.tolist()):
            rows = group.rows[member]
            there = _those_there(rows)
            values[member, there] = getattr(self.ranks[place].collectives, name)[rows[there]]
        return values

    @cached_property
    def step_starts(self) -> Times:
        """[place, step]: when each rank's step began, in common time; `NO_TIME` if missing."""
        return self._step_times("start_ns")

    @cached_property
    def step_ends(self) -> Times:
        """[place, step]: when each rank's step ended, in common time; `NO_TIME` if missing."""
        return self._step_times("end_ns")

    def step_column(self, name: str, missing: int = MISSING) -> Times:
        """[place, step]: a column of `StepRows`, such as `compute_ns`."""
        values = np.full(self.steps.shape, missing, np.int64)
        for place, rank in enumerate(self.ranks):
            rows = self.steps[place]
            there = rows != MISSING
            values[place, there] = getattr(rank.steps, name)[rows[there]]
        return values

    def _step_times(self, name: str) -> Times:
        times = self.step_column(name, NO_TIME)
        for place, clock in enumerate(self.clocks):
            there = self.steps[place] != MISSING
            times[place, there] = clock.to_common(times[place, there])
        return times

    def _times(self, group: MatchedGroup) -> tuple[Times, Times]:
        # By identity: groups are compared by nothing else, and hold arrays.
        if id(group) not in self._group_times:
            self._group_times[id(group)] = (
                self._common(group, "start_ns"),
                self._common(group, "end_ns"),
            )
        return self._group_times[id(group)]

    @cached_property
    def _group_times(self) -> dict[int, tuple[Times, Times]]:
        return {}

    def _common(self, group: MatchedGroup, name: str) -> Times:
        times = self.column(group, name, NO_TIME)
        for member, place in enumerate(group.members.tolist()):
            there = _those_there(group.rows[member])
            times[member, there] = self.clocks[place].to_common(times[member, there])
        return times


def _those_there(rows: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_] | slice:
    """Which rows a rank has: mostly all, and a slice takes half the time of a mask."""
    there = rows != MISSING
    return slice(None) if there.all() else there
