"""Who is named, and above all who is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.unit.analyze.ranks.digest_builder import BuiltJob, Slot, a_digest, a_job
from tests.unit.analyze.ranks.stragglers.straggler_jobs import (
    a_shape,
    job_with_known_clocks,
    with_known_clocks,
)
from wavescope.analyze.ranks.digest import KernelTotal, RankDigest
from wavescope.analyze.ranks.job import ClockState, Job, RankClock
from wavescope.analyze.ranks.joining import job_of
from wavescope.analyze.ranks.stragglers import Cause, Culprit, CulpritKind, Verdict, stragglers_of

Extra = Callable[[int, int, int], int]

_EARLY = ((0, 1, 2, 3), (4, 5, 6, 7))


def _the_culprit(job: Job) -> Culprit:
    report = stragglers_of(job)
    assert report.verdict is Verdict.CULPRIT
    (culprit,) = report.culprits
    return culprit


def _changed_steps(job: Job, place: int, **columns: object) -> Job:
    rank = job.ranks[place]
    steps = replace(
        rank.steps,
        **{name: np.broadcast_to(value, len(rank.steps)) for name, value in columns.items()},
    )
    ranks = list(job.ranks)
    ranks[place] = replace(rank, steps=steps)
    return replace(job, ranks=tuple(ranks))


@pytest.mark.parametrize("seed", range(6))
def test_nobody_is_named_without_a_fault(seed: int) -> None:
    report = stragglers_of(job_with_known_clocks(a_shape(seed=seed, skew_ns=4_000)))

    assert (report.verdict, report.culprits) == (Verdict.NOBODY, ())


def test_a_gpu_that_is_one_percent_slower_is_natural() -> None:
    job = job_with_known_clocks(a_shape(extra_ns=lambda rank, *_: 2_000 if rank == 3 else 0))

    assert stragglers_of(job).verdict is Verdict.NOBODY


@pytest.mark.parametrize(
    ("extra_ns", "kind", "places", "recurrence", "step_count"),
    [
        (
            lambda rank, *_: 20_000 if rank == 3 else 0,
            CulpritKind.RANK,
            (3,),
            "in 12 of 12 steps",
            12,
        ),
        (
            lambda rank, *_: 20_000 if rank >= 4 else 0,
            CulpritKind.HOST,
            (4, 5, 6, 7),
            "in 12 of 12 steps",
            12,
        ),
        (
            lambda rank, step, _: 40_000 if rank == 3 and 4 <= step < 8 else 0,
            CulpritKind.RANK,
            (3,),
            "in steps 4-7 only (4 of 12)",
            4,
        ),
        (
            lambda rank, step, _: 40_000 if rank == 3 and step % 3 == 1 else 0,
            CulpritKind.RANK,
            (3,),
            "in 4 of 12 steps",
            4,
        ),
        (
            lambda rank, step, _: 40_000 if rank == (1, 4, 6)[step // 2 % 3] else 0,
            CulpritKind.ROTATING,
            (1, 4, 6),
            "another rank every 2 steps: 1, 4, 6, 1, 4, 6",
            12,
        ),
    ],
    ids=["always", "host", "for some time", "now and then", "in turns"],
)
def test_late_ranks_are_named(
    extra_ns: Extra, kind: CulpritKind, places: tuple[int, ...], recurrence: str, step_count: int
) -> None:
    job = job_with_known_clocks(a_shape(extra_ns=extra_ns))

    culprit = _the_culprit(job)

    assert (culprit.kind, culprit.places) == (kind, places)
    assert (culprit.recurrence, culprit.step_count) == (recurrence, step_count)
    true_ns = sum(
        max(extra_ns(rank, step, slot) for rank in range(8))
        for step in range(12)
        for slot in (0, 1, 2)
    )
    assert culprit.delay_ns == pytest.approx(true_ns, rel=0.05)


def test_two_hiccups_are_nobodys_fault() -> None:
    def extra_ns(rank: int, step: int, slot: int) -> int:
        return 300_000 if (rank, step, slot) in {(2, 3, 1), (6, 9, 0)} else 0

    report = stragglers_of(job_with_known_clocks(a_shape(extra_ns=extra_ns)))

    assert report.verdict is Verdict.NOBODY


def test_the_stretch_is_named() -> None:
    job = job_with_known_clocks(
        a_shape(extra_ns=lambda rank, _, slot: 60_000 if (rank, slot) == (3, 1) else 0)
    )

    assert _the_culprit(job).phase == "before all-reduce (2 of 3 exchanges)"


def test_the_same_kernels_that_take_longer_are_slower_compute() -> None:
    job = job_with_known_clocks(a_shape(extra_ns=lambda rank, *_: 20_000 if rank == 3 else 0))
    ranks = tuple(
        replace(
            rank,
            kernels=(KernelTotal("gemm", "gemm", 100, 1_100 if place == 3 else 1_000, 10, 9, 500),),
            identity=replace(rank.identity, clock_mhz=1900 if place == 3 else 2100),
        )
        for place, rank in enumerate(job.ranks)
    )

    culprit = _the_culprit(replace(job, ranks=ranks))

    assert culprit.cause is Cause.SLOWER_COMPUTE
    assert "the same kernels with the same work take longer: gemm 1.10x" in culprit.evidence
    assert "clock 1900 MHz against 2100 MHz" in culprit.evidence
    assert culprit.numbers["factor"] == pytest.approx(1.1, abs=0.01)


@pytest.mark.parametrize("column", ["work_items", "kernel_count"])
def test_more_work_is_no_slow_gpu(column: str) -> None:
    job = job_with_known_clocks(a_shape(extra_ns=lambda rank, *_: 20_000 if rank == 3 else 0))
    usual = 1_000 if column == "work_items" else 10

    culprit = _the_culprit(_changed_steps(job, 3, **{column: usual * 11 // 10}))

    assert culprit.cause is Cause.MORE_WORK
    assert f"10.0 % more {column.replace('_', ' ')}" in culprit.evidence


def test_an_idle_gpu_is_a_late_host() -> None:
    job = job_with_known_clocks(a_shape(extra_ns=lambda rank, *_: 20_000 if rank == 3 else 0))
    steps = job.ranks[3].steps
    busy_ns = steps.end_ns - steps.start_ns - 60_000

    culprit = _the_culprit(_changed_steps(job, 3, busy_ns=busy_ns, host_late_ns=55_000))

    assert culprit.cause is Cause.HOST_LATE
    assert "idle for 60.00 us" in culprit.evidence
    assert "for 55.00 us of that the next op was not launched yet" in culprit.evidence


def test_ranks_of_another_model_are_named_by_it() -> None:
    job = job_with_known_clocks(a_shape(extra_ns=lambda rank, *_: 20_000 if rank in (2, 6) else 0))
    ranks = tuple(
        replace(rank, identity=replace(rank.identity, gpu_model="old")) if place in (2, 6) else rank
        for place, rank in enumerate(job.ranks)
    )

    culprit = _the_culprit(replace(job, ranks=ranks))

    assert (culprit.kind, culprit.name) == (CulpritKind.GPU_MODEL, "GPU model old")
    assert "GPU old against MI300X" in culprit.evidence


def _job_with_slow_group(slow_ns: int, steps: range) -> Job:
    """Two groups of four; the transfers of the second take longer in these steps."""
    shape = a_shape(slots=(Slot(_EARLY, name="pairs"), Slot(_EARLY, name="pairs"), Slot()))
    built = a_job(shape)
    digests = [_slowed(built, rank, slow_ns, steps) for rank in built.numbers]
    return with_known_clocks(job_of(digests, built.numbers))


def _slowed(built: BuiltJob, rank: int, slow_ns: int, steps: range) -> RankDigest:
    """All times of a rank when exchanges of ranks 4 to 7 take longer and all wait for them."""
    rows, moved = [], []
    shift = 0
    for row in built.rows[rank]:
        delay = slow_ns if row.group.size == 4 and row.step in steps else 0
        if rank >= 4:
            start, shift = shift, shift + delay
            rows.append(row._replace(start_ns=row.start_ns + start, end_ns=row.end_ns + shift))
        elif row.group.size == 4:
            moved.append(delay)
            rows.append(row._replace(start_ns=row.start_ns + shift, end_ns=row.end_ns + shift))
        else:
            start, shift = shift, shift + sum(moved)
            moved.clear()
            rows.append(row._replace(start_ns=row.start_ns + start, end_ns=row.end_ns + shift))
    ends = [rows[last].end_ns for last in range(2, len(rows), 3)]
    begins = [built.steps[rank][0].start_ns, *ends[:-1]]
    own_steps = [
        step._replace(start_ns=begin, end_ns=end)
        for step, begin, end in zip(built.steps[rank], begins, ends, strict=True)
    ]
    return a_digest(rows, own_steps, rank=rank, host=f"host{rank // 4}")


@pytest.mark.parametrize(
    ("steps", "recurrence"),
    [(range(12), "in 12 of 12 steps"), (range(5, 9), "in steps 5-8 only (4 of 12)")],
)
def test_slow_transfers_of_one_group_are_a_slow_link(steps: range, recurrence: str) -> None:
    culprit = _the_culprit(_job_with_slow_group(20_000, steps))

    assert (culprit.kind, culprit.cause) == (CulpritKind.GROUP, Cause.SLOW_LINK)
    assert (culprit.places, culprit.recurrence) == ((4, 5, 6, 7), recurrence)
    assert culprit.delay_ns == pytest.approx(2 * 20_000 * len(steps), rel=0.1)
    assert culprit.numbers["factor"] == pytest.approx(2.0, rel=0.05)


def test_a_clock_that_is_only_loosely_certified_is_enough() -> None:
    """Who is always late has a wide interval: that must not save him."""
    job = job_with_known_clocks(a_shape(extra_ns=lambda rank, *_: 20_000 if rank == 3 else 0))
    clocks = list(job.clocks)
    clocks[3] = RankClock(ClockState.TOO_WIDE, exchange_count=30)

    assert _the_culprit(replace(job, clocks=tuple(clocks))).places == (3,)


def test_without_any_common_clock_waits_tell() -> None:
    job = job_with_known_clocks(a_shape(extra_ns=lambda rank, *_: 20_000 if rank == 3 else 0))
    clocks = tuple(RankClock(ClockState.CONTRADICTED, reason="it jumps") for _ in job.ranks)

    report = stragglers_of(replace(job, clocks=clocks))

    assert report.verdict is Verdict.CULPRIT
    assert report.culprits[0].places == (3,)
    assert "no critical path could be told" in report.culprits[0].evidence
    assert report.culprits[0].delay_ns == pytest.approx(12 * 3 * 20_000, rel=0.05)
    assert report.steps == ()


def test_where_all_ranks_take_turns_each_is_compared_with_the_others() -> None:
    job = job_with_known_clocks(
        a_shape(4, extra_ns=lambda rank, step, _: 40_000 if rank == step // 2 % 4 else 0)
    )

    culprit = _the_culprit(job)

    assert (culprit.kind, culprit.places) == (CulpritKind.ROTATING, (0, 1, 2, 3))
    assert culprit.numbers["factor"] == pytest.approx(1.2, abs=0.01)
