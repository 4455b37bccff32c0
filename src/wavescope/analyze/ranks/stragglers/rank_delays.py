"""For each rank: the delay it caused, the time it waited, how often it came last."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.stragglers.arrivals import Arrivals, exchanges_of
from wavescope.analyze.ranks.stragglers.path_excess import PathExcess
from wavescope.analyze.ranks.stragglers.rank_times import RankTimes
from wavescope.analyze.ranks.stragglers.report import RankDelay
from wavescope.analyze.ranks.stragglers.tied_clocks import Flags


def rank_delays(
    job: Job,
    ranks: tuple[RankTimes, ...],
    arrivals: tuple[Arrivals, ...],
    excess: PathExcess,
    tied: Flags,
) -> tuple[RankDelay, ...]:
    """One for each place; ranks without a comparable clock have waited for nobody."""
    waited = np.zeros(len(job), np.int64)
    late_count = np.zeros(len(job), np.int64)
    exchange_count = np.zeros(len(job), np.int64)
    for group, found in zip(job.groups, arrivals, strict=True):
        is_shared = found.member_count > 1
        last = found.last_member[is_shared]
        late_count[group.members] += np.bincount(last, minlength=len(group.members))
        for member, place in enumerate(group.members.tolist()):
            if not tied[place]:
                continue
            there, rows = exchanges_of(group, member)
            before_ns = found.last_ns[there] - ranks[place].start_ns[rows]
            own_ns = np.minimum(before_ns, ranks[place].tail_ns[rows])
            waited[place] += int(own_ns[is_shared[there]].sum())
            exchange_count[place] += np.count_nonzero(is_shared[there])
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
