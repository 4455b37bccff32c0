"""Small jobs whose clocks are known, with somebody late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.unit.analyze.ranks.digest_builder import JobShape, Slot, a_job
from wavescope.analyze.ranks.job import ClockState, Job, RankClock
from wavescope.analyze.ranks.joining import job_of

COMPUTE_NS = 200_000
SLOTS = (Slot(), Slot(), Slot(size_bytes=1 << 22))


def a_shape(
    rank_count: int = 8,
    step_count: int = 12,
    *,
    extra_ns: Callable[[int, int, int], int] | None = None,
    slots: tuple[Slot, ...] = SLOTS,
    skew_ns: float = 1_000,
    host_ranks: int = 4,
    seed: int = 0,
) -> JobShape:
    """Ranks that compute for 200 us and meet, several times in each step."""
    return JobShape(
        rank_count=rank_count,
        step_count=step_count,
        slots=slots,
        seed=seed,
        skew_ns=skew_ns,
        extra_ns=extra_ns,
        host_ranks=host_ranks,
    )


def job_with_known_clocks(shape: JobShape) -> Job:
    """The job with matched exchanges, all clocks being one."""
    built = a_job(shape)
    return with_known_clocks(job_of(built.digests, built.numbers))


def with_known_clocks(job: Job) -> Job:
    clocks = tuple(RankClock(ClockState.ALIGNED) for _ in job.ranks)
    return replace(job, clocks=clocks)
