"""Who is late: the critical path of all steps, who is behind its excess, and why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.stragglers.culprits import culprits_of
from wavescope.analyze.ranks.stragglers.limits import LIMITS
from wavescope.analyze.ranks.stragglers.observed import Observed, observed
from wavescope.analyze.ranks.stragglers.rank_delays import rank_delays
from wavescope.analyze.ranks.stragglers.report import (
    Culprit,
    RankDelay,
    StragglerReport,
    Verdict,
)
from wavescope.units import counted, duration_text


def stragglers_of(job: Job) -> StragglerReport:
    """Who makes the others wait, in which steps, by how much and why; or why it cannot be told."""
    problem = _hopeless(job)
    if problem:
        nobody = tuple(RankDelay(place, 0, 0, 0, 0) for place in range(len(job)))
        return StragglerReport(Verdict.INCONCLUSIVE, problem, ranks=nobody)
    seen = observed(job)
    culprits = culprits_of(seen)
    verdict, reason = _verdict(seen, culprits)
    delays = rank_delays(job, seen.ranks, seen.arrivals, seen.excess, seen.tied)
    return StragglerReport(verdict, reason, culprits, seen.accounts, delays)


def _hopeless(job: Job) -> str:
    """Why nothing can be compared at all; "" if it can."""
    if len(job) < 2:
        return "there is only one rank"
    if not any(len(group.members) > 1 for group in job.groups):
        return "no exchange was matched between ranks, so nobody is seen to wait for anybody"
    if any(rank.is_sampled for rank in job.ranks):
        return "the traces have samples of the kernels only"
    return ""


def _verdict(seen: Observed, culprits: Sequence[Culprit]) -> tuple[Verdict, str]:
    if culprits:
        first = culprits[0]
        return Verdict.CULPRIT, (
            f"{first.name} delays the job by {duration_text(first.delay_ns)} "
            f"({first.share_percent:.1f} % of the time), {first.recurrence}"
        )
    step_count = int(np.count_nonzero(seen.delay.step_ns))
    if step_count < LIMITS.least_steps:
        return Verdict.INCONCLUSIVE, f"only {counted(step_count, 'step')} can be compared"
    problem = _clock_problem(seen)
    if problem:
        return Verdict.INCONCLUSIVE, problem
    if all(len(role) < 2 for role in seen.roles.members):
        return Verdict.INCONCLUSIVE, "no two ranks do the same, so that none can be compared"
    if np.isnan(seen.work.window_ns).all():
        return Verdict.INCONCLUSIVE, "no step looks alike on two ranks"
    reason = "no rank takes longer than others of its role by more than GPUs naturally differ"
    skipped = int(np.count_nonzero(~seen.tied))
    if skipped:
        reason += f"; {counted(skipped, 'rank')} could not be compared"
    return Verdict.NOBODY, reason


def _clock_problem(seen: Observed) -> str:
    """Why too few clocks fit together to be sure of nobody; "" if enough do."""
    job, tied = seen.job, int(np.count_nonzero(seen.tied))
    if 2 * tied >= len(job) and tied > 1:
        return ""
    reasons = [
        clock.reason
        for clock, is_tied in zip(job.clocks, seen.tied.tolist(), strict=True)
        if clock.reason and not is_tied
    ]
    why = f": {reasons[0]}" if reasons else ""
    if tied < sum(clock.is_comparable for clock in job.clocks):
        return f"exchanges end together on only {tied} of {len(job)} ranks{why}"
    return f"the clocks of only {tied} of {len(job)} ranks can be compared{why}"
