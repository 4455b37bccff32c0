"""For each rank: the delay it caused, the time it waited, how often it came last."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.ranks.job import NO_TIME, Job
from wavescope.analyze.ranks.stragglers.arrivals import Arrivals
from wavescope.analyze.ranks.stragglers.path_excess import PathExcess
from wavescope.analyze.ranks.stragglers.report import RankDelay


def rank_delays(
    job: Job, arrivals: tuple[Arrivals, ...], excess: PathExcess
) -> tuple[RankDelay, ...]:
    """One for each place; ranks without a comparable clock have waited for nobody."""
    waited = np.zeros(len(job), np.int64)
    late_count = np.zeros(len(job), np.int64)
    exchange_count = np.zeros(len(job), np.int64)
    for group, found in zip(job.groups, arrivals, strict=True):
        is_shared = found.member_count > 1
        if not is_shared.any():
            continue
        is_there = (found.start_ns != NO_TIME) & is_shared
        before = np.where(is_there, found.last_ns - np.where(is_there, found.start_ns, 0), 0)
        tails = np.maximum(job.column(group, "exposed_tail_ns", 0), 0)
        waited[group.members] += np.minimum(before, tails).sum(axis=1)
        exchange_count[group.members] += np.count_nonzero(is_there, axis=1)
        last = found.last_member[is_shared]
        late_count[group.members] += np.bincount(last, minlength=len(group.members))
    caused = excess.local_ns.sum(axis=1)
    return tuple(
        RankDelay(
            place,
            int(caused[place]),
            int(waited[place]),
            int(late_count[place]),
            int(exchange_count[place]),
        )
        for place in range(len(job))
    )
