"""Which ranks, clocks and kernels are compared with each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.analyze.ranks.digest_builder import Collective, Group, Step, a_digest
from tests.unit.analyze.ranks.stragglers.straggler_jobs import (
    a_shape,
    job_with_known_clocks,
    with_known_clocks,
)
from wavescope.analyze.ranks.digest import KernelTotal
from wavescope.analyze.ranks.job import ClockState, Job, RankClock
from wavescope.analyze.ranks.joining import job_of
from wavescope.analyze.ranks.stragglers.kernel_speeds import kernel_speeds
from wavescope.analyze.ranks.stragglers.observed import observed
from wavescope.analyze.ranks.stragglers.rank_times import rank_times
from wavescope.analyze.ranks.stragglers.step_windows import step_windows
from wavescope.analyze.ranks.stragglers.tied_clocks import tied_places


def _tied(job: Job) -> list[bool]:
    tied: list[bool] = tied_places(job, rank_times(job, step_windows(job))).tolist()
    return tied


def test_a_clock_by_which_ends_do_not_coincide_is_not_believed() -> None:
    job = job_with_known_clocks(a_shape())
    clocks = list(job.clocks)
    clocks[2] = RankClock(ClockState.ALIGNED, offset_ns=400_000)
    clocks[5] = RankClock(ClockState.ALIGNED, offset_ns=4_000)

    assert _tied(replace(job, clocks=tuple(clocks))) == [number != 2 for number in range(8)]


@pytest.mark.parametrize(
    ("clock", "expected"),
    [
        (RankClock(ClockState.REFERENCE), True),
        (RankClock(ClockState.SHARED), True),
        (RankClock(ClockState.TOO_WIDE, exchange_count=7), True),
        (RankClock(ClockState.TOO_WIDE), False),
        (RankClock(ClockState.UNKNOWN), False),
        (RankClock(ClockState.CONTRADICTED, exchange_count=7), False),
    ],
)
def test_clocks_that_were_fitted_are_used(clock: RankClock, expected: bool) -> None:
    job = job_with_known_clocks(a_shape())

    assert _tied(replace(job, clocks=(clock, *job.clocks[1:])))[0] is expected


def test_overlapping_exchanges_in_another_order_are_the_same_role() -> None:
    """Two groups on two queues: which of both begins first differs from rank to rank."""
    world, pair = Group("world", size=4, ranks=(0, 1, 2, 3)), Group("all", size=4)
    digests = []
    for rank in range(4):
        rows, steps = [], []
        for step in range(6):
            base = 1_000_000 * step
            first, second = (100, 101) if rank % 2 else (101, 100)
            for number, (group, start, kind) in enumerate(
                ((world, first, "all-reduce"), (pair, second, "all-gather"))
            ):
                rows.append(
                    Collective(
                        base + start,
                        base + 900,
                        kind,
                        group=group,
                        sequence=step,
                        step=step,
                        queue=number,
                    )
                )
            steps.append(Step(base, base + 1_000, step))
        digests.append(a_digest(rows, steps, rank=rank))

    seen = observed(with_known_clocks(job_of(digests, range(4))))

    assert seen.roles.members == ((0, 1, 2, 3),)
    assert seen.roles.is_usual.all()


def test_steps_matched_out_of_order_are_left_out() -> None:
    job = job_with_known_clocks(a_shape(step_count=6))
    steps = job.steps.copy()
    steps[2, :4] = [2, 0, 1, 3]

    windows = step_windows(replace(job, steps=steps))

    assert windows.is_there[2].tolist() == [False, True, True, True, True, True]
    assert windows.is_there[3].all()


def _kernels(factor: float, size: int = 100) -> tuple[KernelTotal, ...]:
    return tuple(
        KernelTotal(name, "gemm", 10, int(10_000 * factor), 0, 0, 10 * size) for name in "abc"
    )


def test_kernel_speeds_need_the_same_work() -> None:
    job = job_with_known_clocks(a_shape())
    factors = [1.0, 1.0, 1.01, 1.0, 0.99, 1.0, 1.3, 1.3]
    ranks = tuple(
        replace(rank, kernels=_kernels(factor, 130 if place == 7 else 100))
        for place, (rank, factor) in enumerate(zip(job.ranks, factors, strict=True))
    )

    speeds = kernel_speeds(replace(job, ranks=ranks))

    np.testing.assert_allclose(speeds.factor[[0, 6]], [1.0, 1.3], rtol=0.01)
    assert np.isnan(speeds.factor[7])
    assert speeds.slow == {6}


def test_without_kernels_there_are_no_speeds() -> None:
    speeds = kernel_speeds(job_with_known_clocks(a_shape()))

    assert np.isnan(speeds.factor).all()
    assert speeds.slow == frozenset()
