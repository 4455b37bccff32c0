"""A job with the simulated clocks, to look at analyses apart from the estimation of clocks."""

from __future__ import annotations

from dataclasses import replace

from tests.rank_jobs.truth import EPOCH_NS, TrueClock, Truth
from wavescope.analyze.ranks.job import ClockState, Job, RankClock


def with_true_clocks(job: Job, truth: Truth) -> Job:
    """The same job as if all clocks were known; common time is EPOCH_NS + true time."""
    return replace(job, clocks=tuple(known_clock(truth.clocks[number]) for number in job.numbers))


def known_clock(clock: TrueClock) -> RankClock:
    """What would be found of this clock by who knows everything."""
    drift = clock.drift_ppm * 1e-6
    return RankClock(
        ClockState.ALIGNED,
        origin_ns=EPOCH_NS + clock.offset_ns,
        offset_ns=-clock.offset_ns,
        drift_ppm=-drift / (1 + drift) * 1e6,
        low_ns=-clock.offset_ns,
        high_ns=-clock.offset_ns,
        residual_ns=0,
    )
