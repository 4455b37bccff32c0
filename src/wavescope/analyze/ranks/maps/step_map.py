"""Ranks by step: what each rank's part of each step took."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavescope.analyze.ranks.job import MISSING, Job
from wavescope.analyze.ranks.maps.lateness import Reals, arrivals_of, mean_by_cell
from wavescope.arrays.intervals import Times


@dataclass(frozen=True)
class RankStepMap:
    """Matrices [rank, step] in nanoseconds of each rank's own clock; NaN where it has no step."""

    labels: Times
    """The number in the steps' markers, `UNKNOWN` where they have none or ranks disagree."""
    step_ns: Reals
    """From the first op's start to the last one's end."""
    compute_ns: Reals
    exposed_ns: Reals
    """Collectives while no compute ran."""
    host_late_ns: Reals
    """The GPU was idle and the next op was not launched yet."""
    lateness_ns: Reals
    """How long after the first rank it arrived at its exchanges in the step: the mean."""

    @property
    def step_count(self) -> int:
        return int(self.step_ns.shape[1])


def rank_step_map(job: Job) -> RankStepMap:
    """The steps that the ranks of the job have in common, in order."""
    step_ns = job.step_column("end_ns") - job.step_column("start_ns")
    return RankStepMap(
        labels=_labels(job),
        step_ns=_present(job, step_ns),
        compute_ns=_present(job, job.step_column("compute_ns")),
        exposed_ns=_present(job, job.step_column("exposed_ns")),
        host_late_ns=_present(job, job.step_column("host_late_ns")),
        lateness_ns=_lateness(job),
    )


def _present(job: Job, values: Times) -> Reals:
    there = (job.steps != MISSING) & (values >= 0)
    return np.where(there, values.astype(np.float64), np.nan)


def _labels(job: Job) -> Times:
    labels = job.step_column("label")
    least = np.where(labels == MISSING, np.iinfo(np.int64).max, labels).min(
        axis=0, initial=np.iinfo(np.int64).max
    )
    most = labels.max(axis=0, initial=MISSING)
    return np.where(least == most, most, MISSING)


def _lateness(job: Job) -> Reals:
    """Each arrival counts for the step that its own rank's digest says."""
    arrivals = arrivals_of(job)
    column = np.full(len(arrivals.place), MISSING, np.int64)
    order = np.argsort(arrivals.place, kind="stable")
    bounds = np.searchsorted(arrivals.place[order], np.arange(len(job) + 1))
    for place, rank in enumerate(job.ranks):
        mine = order[bounds[place] : bounds[place + 1]]
        column[mine] = _steps_of_rows(job, place)[rank.collectives.step[arrivals.row[mine]]]
    return mean_by_cell(arrivals.place, column, arrivals.late_ns, job.steps.shape)


def _steps_of_rows(job: Job, place: int) -> Times:
    """For each row of the rank's steps, and last for none: the step of the job."""
    steps = np.full(len(job.ranks[place].steps) + 1, MISSING, np.int64)
    row = job.steps[place]
    there = row != MISSING
    steps[row[there]] = np.flatnonzero(there)
    return steps
