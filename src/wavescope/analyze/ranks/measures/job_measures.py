"""A job with everything that several tables and findings are made of, each computed once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import MISSING, NO_TIME, Job, MatchedGroup
from wavescope.analyze.ranks.measures.exchange_times import ExchangeTimes, Flags, exchange_times
from wavescope.analyze.ranks.stragglers import StragglerReport
from wavescope.arrays.groups import group_sums
from wavescope.arrays.intervals import Times

Numbers = npt.NDArray[np.int32]

_MOST_RUNS = 6


@dataclass(frozen=True, eq=False)
class JobMeasures:
    """A job and its straggler report; the rest is derived when it is first asked for."""

    job: Job
    report: StragglerReport

    @cached_property
    def exchanges(self) -> tuple[ExchangeTimes, ...]:
        """For each of the job's groups the times of its exchanges."""
        return tuple(exchange_times(self.job, group) for group in self.job.groups)

    @cached_property
    def steps_of_exchanges(self) -> tuple[Numbers, ...]:
        """For each group and exchange the job's step, as its first member that has one says."""
        return tuple(self._steps_of(group) for group in self.job.groups)

    @cached_property
    def is_comparable(self) -> Flags:
        """For each place whether its clock can be compared with others'."""
        return np.array([clock.is_comparable for clock in self.job.clocks], np.bool_)

    @cached_property
    def first_ns(self) -> int | None:
        """When the first op of all ranks with comparable clocks began, in common time."""
        firsts = [span[0] for span in self.spans if span is not None]
        return min(firsts, default=None)

    @cached_property
    def spans(self) -> tuple[tuple[int, int] | None, ...]:
        """For each place its first start and last end in common time; None where that says
        nothing: a clock that cannot be compared, or no ops."""
        found: list[tuple[int, int] | None] = []
        for rank, clock in zip(self.job.ranks, self.job.clocks, strict=True):
            if not clock.is_comparable or not rank.op_count:
                found.append(None)
                continue
            first, last = clock.to_common(np.array([rank.first_ns, rank.last_ns])).tolist()
            found.append((first, last))
        return tuple(found)

    @cached_property
    def has_step(self) -> Flags:
        """[place, step]: whether the rank has the step."""
        has: Flags = self.job.steps != MISSING
        return has

    @cached_property
    def step_durations(self) -> Times:
        """[place, step]: end - start of the rank's own step; `MISSING` where it has none."""
        lengths = self.job.step_column("end_ns", 0) - self.job.step_column("start_ns", 0)
        return np.where(self.has_step, np.maximum(lengths, 0), MISSING)

    @cached_property
    def step_spans(self) -> tuple[Times, Times]:
        """For each step the first start and the last end over ranks whose clocks can be compared,
        in common time; `NO_TIME` without any."""
        there = self.has_step & self.is_comparable[:, None]
        if not there.size:
            nothing = np.full(self.job.step_count, NO_TIME, np.int64)
            return nothing, nothing
        latest = np.iinfo(np.int64).max
        starts = np.where(there, self.job.step_starts, latest).min(axis=0)
        ends = np.where(there, self.job.step_ends, NO_TIME).max(axis=0)
        return np.where(there.any(axis=0), starts, NO_TIME), ends

    @cached_property
    def waited_ns(self) -> list[int]:
        """For each place how long it waited for others in exchanges that are timed."""
        return self._of_members("member_wait_ns")

    @cached_property
    def exposures(self) -> tuple[tuple[Times, ...], list[int]]:
        """For each group and exchange the exposed time over members; and for each place how long
        it waited for others in timed exchanges with nothing to compute, at most: in each exchange
        the lesser of its wait and its exposed time."""
        of_exchanges, waited_ns = [], [0] * len(self.job)
        for group, times in zip(self.job.groups, self.exchanges, strict=True):
            starts = self.job.starts(group)
            sums = np.zeros(group.exchange_count, np.int64)
            for member, place in enumerate(group.members.tolist()):
                rows = np.flatnonzero(group.rows[member] != MISSING)
                own = self.job.ranks[place].collectives.exposed_ns[group.rows[member, rows]]
                exposed = np.maximum(own, 0)
                sums[rows] += exposed
                waits = np.minimum(times.last_ns[rows] - starts[member, rows], exposed)
                waited_ns[place] += int(waits[times.is_timed[rows]].sum())
            of_exchanges.append(sums)
        return tuple(of_exchanges), waited_ns

    @cached_property
    def last_counts(self) -> list[int]:
        """For each place in how many timed exchanges it came last."""
        return self._of_members("member_last_count")

    @cached_property
    def timed_counts(self) -> list[int]:
        """For each place in how many timed exchanges it took part."""
        return self._of_members("member_timed_count")

    @cached_property
    def delay_ns(self) -> list[int]:
        """For each place the excess of the critical path's parts on it, over all steps."""
        sums = [0] * len(self.job)
        for step in self.report.steps:
            for part in step.parts:
                if part.kind == "local" and 0 <= part.place < len(sums):
                    sums[part.place] += part.excess_ns
        return sums

    def rank_text(self, places: Iterable[int]) -> str:
        """The numbers of some ranks as text: 0-7, 12."""
        return numbers_text(self.job.numbers[place] for place in places)

    def group_text(self, place: int) -> str:
        """What people call a group: its name and what it is for."""
        group = self.job.groups[place]
        named = group.name or "(no name)"
        return f"{named} ({group.description})" if group.description else named

    def _of_members(self, name: str) -> list[int]:
        places = [group.members for group in self.job.groups]
        if not places:
            return [0] * len(self.job)
        values = np.concatenate([getattr(times, name) for times in self.exchanges])
        return group_sums(np.concatenate(places), values, len(self.job))

    def _steps_of(self, group: MatchedGroup) -> Numbers:
        found = np.full(group.exchange_count, MISSING, np.int32)
        for member, place in enumerate(group.members.tolist()):
            unknown = np.flatnonzero((found == MISSING) & (group.rows[member] != MISSING))
            if not len(unknown):
                continue
            own_steps = self.job.ranks[place].collectives.step[group.rows[member, unknown]]
            found[unknown] = self._job_step(place)[own_steps]
            if not (found == MISSING).any():
                break
        return found

    def _job_step(self, place: int) -> Numbers:
        """For each row of the rank's steps the job's step; the last is for rows of none (-1)."""
        own = self.job.steps[place]
        found = np.full(len(self.job.ranks[place].steps) + 1, MISSING, np.int32)
        matched = np.flatnonzero(own != MISSING)
        found[own[matched]] = matched
        return found


def numbers_text(numbers: Iterable[int]) -> str:
    """Ascending numbers with runs put together: 0-7, 12; of very many runs the first ones."""
    distinct = sorted(set(numbers))
    runs: list[list[int]] = []
    for number in distinct:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    words = [str(low) if low == high else f"{low}-{high}" for low, high in runs]
    if len(words) > _MOST_RUNS + 1:
        return f"{', '.join(words[:_MOST_RUNS])}, ... ({len(distinct)} in all)"
    return ", ".join(words)
