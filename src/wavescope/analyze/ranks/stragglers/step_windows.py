"""The time of each step on each rank: from the end of its step before to its end.

What happens between two steps (a late batch of data) belongs to the one that it delays. Without
steps the run is cut by numbers of exchanges, where all ranks have equally many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.digest import RankDigest
from wavescope.analyze.ranks.job import MISSING, Job
from wavescope.arrays.intervals import Times

_PAUSE_FACTOR = 20
_PART_COUNT = 20


@dataclass(frozen=True)
class StepWindows:
    """[place, step] each, in the ranks' own time."""

    start_ns: Times
    end_ns: Times
    is_there: npt.NDArray[np.bool_]
    idle_ns: Times
    """How long nothing ran on the GPU."""
    row_steps: tuple[npt.NDArray[np.int32], ...]
    """For each place the step of each of its collectives, or `MISSING`."""
    are_steps: bool
    """Whether they are steps of the program, and not parts of the run."""

    @property
    def count(self) -> int:
        return int(self.start_ns.shape[1])


def step_windows(job: Job) -> StepWindows:
    """The steps of the job; parts of the run if it has none."""
    if job.step_count and (job.steps != MISSING).any():
        return _windows_of_steps(job)
    return _windows_of_parts(job)


def _windows_of_steps(job: Job) -> StepWindows:
    shape = job.steps.shape
    start_ns, end_ns, idle_ns = (np.zeros(shape, np.int64) for _ in range(3))
    is_there = np.zeros(shape, np.bool_)
    row_steps = []
    for place, rank in enumerate(job.ranks):
        rows = job.steps[place]
        there = (rows >= 0) & (rows < len(rank.steps)) & _is_in_order(rows)
        rows = rows[there]
        begins, ends = _own_windows(rank)
        is_there[place] = there
        start_ns[place, there], end_ns[place, there] = begins[rows], ends[rows]
        idle = ends[rows] - begins[rows] - rank.steps.busy_ns[rows]
        idle_ns[place, there] = np.maximum(idle, 0)
        row_steps.append(_job_steps(rank, rows, np.flatnonzero(there)))
    return StepWindows(start_ns, end_ns, is_there, idle_ns, tuple(row_steps), are_steps=True)


def _is_in_order(rows: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Where no later step of the job is an earlier one of the rank."""
    later = np.where(rows >= 0, rows, np.iinfo(np.int32).max)
    least_later = np.minimum.accumulate(later[::-1])[::-1]
    in_order: npt.NDArray[np.bool_] = later <= least_later
    return in_order


def _own_windows(rank: RankDigest) -> tuple[Times, Times]:
    """Begin and end of all steps of a rank; after a long pause a step begins with its first op."""
    starts, ends = rank.steps.start_ns, np.maximum.accumulate(rank.steps.end_ns)
    begins = starts.copy()
    if len(ends) > 1:
        longest_pause = _PAUSE_FACTOR * np.median(np.maximum(rank.steps.end_ns - starts, 0))
        is_near = starts[1:] - ends[:-1] <= longest_pause
        begins[1:] = np.where(is_near, ends[:-1], starts[1:])
    return np.minimum(begins, ends), ends


def _job_steps(
    rank: RankDigest, rows: npt.NDArray[np.int32], steps: npt.NDArray[np.int64]
) -> npt.NDArray[np.int32]:
    job_step = np.full(len(rank.steps) + 1, MISSING, np.int32)
    job_step[rows] = steps
    own = rank.collectives.step
    return job_step[np.where((own >= 0) & (own < len(rank.steps)), own, len(rank.steps))]


def _windows_of_parts(job: Job) -> StepWindows:
    counts = {len(rank.collectives) for rank in job.ranks}
    row_count = counts.pop() if len(counts) == 1 else 0
    part_count = max(1, min(_PART_COUNT, row_count))
    shape = (len(job.ranks), part_count)
    start_ns, end_ns, idle_ns = (np.zeros(shape, np.int64) for _ in range(3))
    row_steps = []
    for place, rank in enumerate(job.ranks):
        number = len(rank.collectives)
        part = (np.arange(number) * part_count // max(number, 1)).astype(np.int32)
        cuts = np.searchsorted(part, np.arange(1, part_count)) - 1
        ends = np.append(rank.collectives.end_ns[cuts], rank.last_ns)
        ends = np.maximum.accumulate(np.maximum(ends, rank.first_ns))
        start_ns[place] = np.append(rank.first_ns, ends[:-1])
        end_ns[place] = ends
        np.add.at(idle_ns[place], part, np.maximum(rank.collectives.idle_before_ns, 0))
        row_steps.append(part)
    is_there = np.ones(shape, np.bool_)
    return StepWindows(start_ns, end_ns, is_there, idle_ns, tuple(row_steps), are_steps=False)
