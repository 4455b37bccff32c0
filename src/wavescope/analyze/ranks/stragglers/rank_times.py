"""The exchanges and steps of one rank in common time, and what it waited for.

A rank waits for an exchange if no compute ran right before its end. What is left of its time
without these waits is its own: it passes at the same pace whatever others do, so that the own time
between two points of a step can be compared between ranks even where clocks cannot.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.stragglers.limits import LIMITS
from wavescope.analyze.ranks.stragglers.row_kinds import RowKinds, row_kinds
from wavescope.analyze.ranks.stragglers.step_windows import StepWindows
from wavescope.arrays.intervals import Times

Numbers = npt.NDArray[np.int64]


class PointKind(enum.IntEnum):
    """A point of a step that can be found on each rank of the same role."""

    ROW_START = 0
    ROW_END = 1
    STEP_START = 2
    STEP_END = 3


@dataclass(frozen=True)
class RankTimes:
    """One rank. Rows are those of its `collectives`."""

    start_ns: Times
    end_ns: Times
    tail_ns: Times
    """How long nothing else ran before each end."""
    queue: npt.NDArray[np.int32]
    kinds: RowKinds
    step: npt.NDArray[np.int32]
    offset: npt.NDArray[np.int32]
    """The place of each row in its step: by kind, then by time, since kinds that overlap each other
    need not begin in the same order everywhere."""
    step_rows: npt.NDArray[np.int32]
    """Rows by step and place; those of step s from bounds[s] to bounds[s + 1]."""
    bounds: Numbers
    wait_end_ns: Times
    """Ends of what it waited for, ascending."""
    wait_row: Numbers
    waited_ns: Times
    """How long it waited until each of these ends."""
    step_waited_ns: Times
    """[step]: how long it waited in each step."""
    step_start_ns: Times
    step_end_ns: Times
    has_step: npt.NDArray[np.bool_]

    def waited_until(self, common_ns: Times) -> Times:
        """How long it had waited at each time."""
        number = np.searchsorted(self.wait_end_ns, common_ns, "right")
        waited: Times = np.append(0, self.waited_ns)[number]
        return waited

    def own_moment(self, time_ns: int) -> int:
        """Own time at one common time."""
        number = int(self.wait_end_ns.searchsorted(time_ns, "right"))
        return time_ns - (int(self.waited_ns[number - 1]) if number else 0)

    def own_time(
        self, kinds: Numbers, steps: Numbers, offsets: Numbers
    ) -> tuple[Times, npt.NDArray[np.bool_]]:
        """Own time at each point, and whether the rank has that point."""
        is_row = kinds <= PointKind.ROW_END
        steps = np.clip(steps, 0, len(self.has_step) - 1)
        slots = self.bounds[steps] + offsets
        is_there = np.where(is_row, slots < self.bounds[steps + 1], self.has_step[steps])
        times = np.where(
            kinds == PointKind.STEP_START, self.step_start_ns[steps], self.step_end_ns[steps]
        )
        if len(self.step_rows):
            rows = self.step_rows[np.clip(slots, 0, len(self.step_rows) - 1)]
            row_times = np.where(
                kinds == PointKind.ROW_START, self.start_ns[rows], self.end_ns[rows]
            )
            times = np.where(is_row & is_there, row_times, times)
        return times - self.waited_until(times), is_there


def rank_times(job: Job, windows: StepWindows) -> tuple[RankTimes, ...]:
    """All ranks of the job, by place."""
    return tuple(
        _rank_times(job, windows, place, kinds) for place, kinds in enumerate(row_kinds(job))
    )


def _rank_times(job: Job, windows: StepWindows, place: int, kinds: RowKinds) -> RankTimes:
    collectives, clock = job.ranks[place].collectives, job.clocks[place]
    start_ns = clock.to_common(collectives.start_ns)
    end_ns = np.maximum(clock.to_common(collectives.end_ns), start_ns)
    tail_ns = np.clip(collectives.exposed_tail_ns, 0, end_ns - start_ns)
    step = windows.row_steps[place]
    step_rows = _by_step_and_kind(step, kinds.code)
    bounds = np.searchsorted(step[step_rows], np.arange(windows.count + 1))
    offset = np.empty(len(step), np.int32)
    offset[step_rows] = np.arange(len(step)) - bounds[np.maximum(step[step_rows], 0)]
    waits = _waits(start_ns, end_ns, tail_ns)
    in_step = step[waits.row] >= 0
    step_waited = np.zeros(windows.count, np.int64)
    lengths = np.diff(waits.waited_ns, prepend=0)
    np.add.at(step_waited, step[waits.row][in_step], lengths[in_step])
    return RankTimes(
        start_ns=start_ns,
        end_ns=end_ns,
        tail_ns=tail_ns,
        queue=collectives.queue,
        kinds=kinds,
        step=step,
        offset=offset,
        step_rows=step_rows,
        bounds=bounds,
        wait_end_ns=end_ns[waits.row],
        wait_row=waits.row,
        waited_ns=waits.waited_ns,
        step_waited_ns=step_waited,
        step_start_ns=clock.to_common(windows.start_ns[place]),
        step_end_ns=clock.to_common(windows.end_ns[place]),
        has_step=windows.is_there[place],
    )


def _by_step_and_kind(
    step: npt.NDArray[np.int32], code: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """Rows in order of step, kind and time."""
    if not len(step):
        return np.zeros(0, np.int32)
    key = (step + np.int64(1)) * (int(code.max()) + 1) + code
    if not (key[1:] < key[:-1]).any():
        return np.arange(len(step), dtype=np.int32)
    # Sorting short numbers is several times faster.
    key = key.astype(np.uint16) if int(key.max()) < 1 << 16 else key
    return np.argsort(key, kind="stable").astype(np.int32)


@dataclass(frozen=True)
class _Waits:
    row: Numbers
    waited_ns: Times


def _waits(start_ns: Times, end_ns: Times, tail_ns: Times) -> _Waits:
    """Rows that were waited for by end, and the union of their waits until each end."""
    is_wait = (tail_ns > 0) & (tail_ns >= np.minimum(end_ns - start_ns, LIMITS.blocking_tail_ns))
    row = np.flatnonzero(is_wait)
    ends = end_ns[row]
    if (ends[1:] < ends[:-1]).any():
        row = row[np.argsort(ends, kind="stable")]
        ends = end_ns[row]
    begins = ends - tail_ns[row]
    begins[1:] = np.maximum(begins[1:], ends[:-1])
    return _Waits(row, np.cumsum(np.maximum(ends - begins, 0)))
