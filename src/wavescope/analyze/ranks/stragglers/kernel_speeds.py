"""How fast each rank runs the same kernels as others, whatever else it does.

It needs no clock, no steps and no other rank of the same role: a stage of a pipeline whose GPUs
are all slow is told by kernels that other stages run, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavescope.analyze.ranks.digest import KernelTotal
from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.stragglers.limits import LIMITS
from wavescope.analyze.ranks.stragglers.medians import Reals, medians_of_others
from wavescope.analyze.ranks.stragglers.roles import Roles
from wavescope.analyze.ranks.stragglers.standing_apart import standing_apart

SAME_SIZE = 0.1
"""Launches of other sizes may be faster or slower for each work item."""
_LEAST_COVERED = 0.5


@dataclass(frozen=True)
class KernelSpeeds:
    """By place."""

    factor: Reals
    """How much longer its kernels take than the same ones of others; NaN if few are the same."""
    slow: frozenset[int]
    """Ranks that stand apart."""

    def role_factors(self, roles: Roles) -> Reals:
        """For each role how much slower it is as a whole: 1 unless more than half of it is."""
        factors = np.ones(len(roles.members))
        for number, places in enumerate(roles.members):
            if 2 * sum(place in self.slow for place in places) > len(places):
                factors[number] = max(1.0, float(np.nanmedian(self.factor[list(places)])))
        return factors


def time_per_work(kernel: KernelTotal) -> float:
    """Time for a million work items, or for a run where sizes of launches are not known.

    A name may stand for launches of several sizes, of which a recording has more or fewer: the
    time of a run would follow them.
    """
    if kernel.work_items > 0:
        return max(kernel.total_ns, 1) / kernel.work_items * 1e6
    return max(kernel.total_ns, 1) / max(kernel.run_count, 1)


def size_of_run(kernel: KernelTotal) -> float:
    """Work items of a run."""
    return max(kernel.work_items, 0) / max(kernel.run_count, 1)


def kernel_speeds(job: Job) -> KernelSpeeds:
    """The speeds of all ranks, by their kernels with most time."""
    names = sorted({kernel.name for rank in job.ranks for kernel in rank.kernels})
    number_of = {name: number for number, name in enumerate(names)}
    shape = (len(job), len(names))
    duration, total = np.full(shape, np.nan), np.zeros(shape)
    size = np.full(shape, np.nan)
    for place, rank in enumerate(job.ranks):
        for kernel in rank.kernels:
            number = number_of[kernel.name]
            duration[place, number] = time_per_work(kernel)
            total[place, number] = max(kernel.total_ns, 0)
            size[place, number] = size_of_run(kernel)
    if not names:
        return KernelSpeeds(np.full(len(job), np.nan), frozenset())
    usual_size = medians_of_others(size)
    is_same = np.abs(size - usual_size) <= SAME_SIZE * np.maximum(usual_size, 1)
    duration[~is_same] = np.nan
    ratio = duration / medians_of_others(duration)
    weight = np.where(np.isnan(ratio), 0.0, total)
    covered, whole = weight.sum(axis=1), total.sum(axis=1)
    is_enough = (covered > 0) & (covered >= _LEAST_COVERED * whole)
    factor = np.full(len(job), np.nan)
    sums = (weight * np.where(np.isnan(ratio), 0.0, ratio)).sum(axis=1)
    factor[is_enough] = sums[is_enough] / covered[is_enough]
    slow = standing_apart(factor - 1, 0.0, LIMITS.natural_work_share_of_few)
    return KernelSpeeds(factor, frozenset(slow))
