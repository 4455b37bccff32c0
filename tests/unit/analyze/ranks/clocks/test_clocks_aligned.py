"""Clocks of ranks: near the truth, certified, refused where they must be."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.analyze.ranks.digest_builder import (
    BuiltJob,
    Collective,
    Group,
    Slot,
    a_digest,
    a_job,
)
from tests.unit.analyze.ranks.job_truth import clock_error_ns, holds_truth
from wavescope.analyze.ranks.job import ClockState, Job
from wavescope.analyze.ranks.joining import job_of

HOUR_NS = 3600 * 10**9
TENSOR = ((0, 1, 2, 3), (4, 5, 6, 7))
DATA = ((0, 4), (1, 5), (2, 6), (3, 7))


def joined(built: BuiltJob) -> Job:
    return job_of(built.digests, built.numbers)


def skewed(seed: int, rank_count: int, **changes: object) -> BuiltJob:
    """A job of some seconds with clocks milliseconds apart that drift."""
    random = np.random.default_rng(seed)
    shape: dict[str, object] = {
        "rank_count": rank_count,
        "step_count": 200,
        "slots": (Slot(compute_ns=9_900_000), Slot(compute_ns=9_900_000, size_bytes=1 << 22)),
        "jitter_ns": 3000,
        "skew_ns": 170_000,
        "seed": seed,
        "offset_ns": random.integers(-5_000_000, 5_000_000, rank_count).tolist(),
        "drift_ppm": random.uniform(-20, 20, rank_count).tolist(),
    }
    return a_job(**{**shape, **changes})  # type: ignore[arg-type]


def states(job: Job) -> list[ClockState]:
    return [clock.state for clock in job.clocks]


@pytest.mark.parametrize("seed", range(3))
def test_clocks_are_right_within_microseconds(seed: int) -> None:
    built = skewed(seed, 12)

    job = joined(built)

    error_ns = clock_error_ns(built, job)
    assert np.median(error_ns) <= 1_000
    assert error_ns.max() <= 2_000
    assert states(job) == [ClockState.REFERENCE, *[ClockState.ALIGNED] * 11]
    assert all(holds_truth(built, rank, job.clocks[rank]) for rank in range(1, 12))
    assert all(clock.exchange_count == 400 for clock in job.clocks)
    assert all(500 < (clock.residual_ns or 0) < 4_000 for clock in job.clocks)


@pytest.mark.parametrize("seed", range(3))
def test_clocks_are_carried_from_group_to_group(seed: int) -> None:
    slots = (
        Slot(TENSOR, "tp", compute_ns=5_000_000),
        Slot(DATA, "dp", operation="reduce-scatter", compute_ns=5_000_000),
    )
    built = skewed(seed, 8, slots=slots)

    job = joined(built)

    assert clock_error_ns(built, job).max() <= 2_000
    assert all(holds_truth(built, rank, job.clocks[rank]) for rank in range(1, 8))
    widths = [clock.high_ns - clock.low_ns for clock in job.clocks]  # type: ignore[operator]
    # Rank 5 is bound by two pairs, over rank 1 or rank 4.
    assert widths[1] < widths[5] < widths[1] + widths[4] + 100_000


def test_hours_apart_and_clocks_of_different_beginnings() -> None:
    started = 1_700_000_000 * 10**9
    built = skewed(5, 4, offset_ns=[0, 11 * HOUR_NS, -3 * HOUR_NS, -started + 17])

    job = joined(built)

    assert clock_error_ns(built, job).max() <= 2_000
    assert all(holds_truth(built, rank, job.clocks[rank]) for rank in range(1, 4))
    ends = job.ends(job.groups[0])
    assert int((ends.max(axis=0) - ends.min(axis=0)).max()) < 20_000


def test_late_ends_of_one_rank_do_not_move_its_clock() -> None:
    built = skewed(6, 6)
    rows = [
        row._replace(end_ns=row.end_ns + 800_000) if place % 5 == 0 else row
        for place, row in enumerate(built.rows[2])
    ]
    digests = list(built.digests)
    digests[2] = built.digest(2, rows)

    job = job_of(digests, built.numbers)

    assert clock_error_ns(built, job).max() <= 2_000
    assert holds_truth(built, 2, job.clocks[2])


@settings(max_examples=25)
@given(data=st.data())
def test_what_is_certified_always_holds_the_truth(data: st.DataObject) -> None:
    seed, rank_count = data.draw(st.integers(0, 10_000)), data.draw(st.integers(2, 5))
    step_count, drift = data.draw(st.integers(1, 30)), data.draw(st.floats(0, 200))
    offset_ns = data.draw(st.sampled_from([0, 10**6, 10**10, 10**17]))
    jitter_ns = data.draw(st.sampled_from([0, 3_000, 100_000]))
    random = np.random.default_rng(seed)
    built = a_job(
        rank_count=rank_count,
        step_count=step_count,
        seed=seed,
        jitter_ns=jitter_ns,
        offset_ns=random.integers(-offset_ns, offset_ns + 1, rank_count).tolist(),
        drift_ppm=random.uniform(-drift, drift, rank_count).tolist(),
    )

    job = joined(built)

    for rank in range(1, rank_count):
        clock = job.clocks[rank]
        assert clock.state in {ClockState.ALIGNED, ClockState.TOO_WIDE}
        assert holds_truth(built, rank, clock)
        assert clock.low_ns <= clock.offset_ns <= clock.high_ns  # type: ignore[operator]


def jumped(built: BuiltJob, rank: int, exchange: int, by_ns: int) -> list[Collective]:
    return [
        row._replace(start_ns=row.start_ns + by_ns, end_ns=row.end_ns + by_ns)
        if place >= exchange
        else row
        for place, row in enumerate(built.rows[rank])
    ]


@pytest.mark.parametrize("rank", [0, 2, 5])
def test_a_clock_that_jumped_is_refused_and_said(rank: int) -> None:
    built = skewed(7, 6)
    digests = list(built.digests)
    digests[rank] = built.digest(rank, jumped(built, rank, 123, 2_500_000))

    job = job_of(digests, built.numbers)

    expected = [ClockState.ALIGNED] * 6
    expected[rank] = ClockState.CONTRADICTED
    reference = 1 if rank == 0 else 0
    expected[reference] = ClockState.REFERENCE
    assert states(job) == expected
    reason = job.clocks[rank].reason
    jump = re.search(r"jumped by ([0-9.]+) ms", reason)
    assert jump is not None
    assert float(jump[1]) == pytest.approx(2.5, abs=0.02)
    assert "between exchanges 122 and 123 of group 0" in reason
    error_ns = np.delete(clock_error_ns(built, job, reference), rank)
    assert error_ns.max() <= 2_000


def test_a_jumped_clock_in_two_groups_blames_nobody_else() -> None:
    slots = (
        Slot(TENSOR, "tp", compute_ns=5_000_000),
        Slot(DATA, "dp", operation="reduce-scatter", compute_ns=5_000_000),
    )
    built = skewed(8, 8, slots=slots)
    digests = list(built.digests)
    digests[1] = built.digest(1, jumped(built, 1, 150, -3_000_000))

    job = job_of(digests, built.numbers)

    assert [place for place, clock in enumerate(job.clocks) if not clock.is_comparable] == [1]
    assert job.clocks[1].state is ClockState.CONTRADICTED
    # In groups of two nobody outvotes a wrong clock: it must not be fitted with the others.
    assert np.delete(clock_error_ns(built, job), 1).max() <= 2_000
    assert all(holds_truth(built, rank, job.clocks[rank]) for rank in range(2, 8))


def test_wrongly_matched_exchanges_contradict() -> None:
    built = skewed(9, 3, step_count=40)
    # Numbers of rank 1 are two too high: the same operations, other exchanges.
    rows = [row._replace(sequence=row.sequence + 2) for row in built.rows[1]]

    job = job_of([built.digest(0), built.digest(1, rows), built.digest(2)], built.numbers)

    assert states(job)[1] is ClockState.CONTRADICTED
    assert "may be matched wrongly" in job.clocks[1].reason


def test_ranks_that_nothing_ties_are_unknown() -> None:
    slots = (Slot(((0, 1), (2, 3)), "pairs"),)
    built = skewed(10, 4, slots=slots)
    lonely = a_digest([Collective(0, 10, "broadcast")], rank=9)

    job = job_of([*built.digests, lonely], [*built.numbers, 9])

    assert states(job) == [
        ClockState.REFERENCE,
        ClockState.ALIGNED,
        ClockState.REFERENCE,
        ClockState.ALIGNED,
        ClockState.UNKNOWN,
    ]
    assert [clock.component for clock in job.clocks] == [0, 0, 1, 1, 2]
    assert job.clocks[4].low_ns is None
    assert job.clocks[4].reason


def test_a_shared_clock_ties_what_exchanges_do_not() -> None:
    slots = (Slot(((0, 1), (2, 3)), "pairs"),)
    built = skewed(11, 4, slots=slots, offset_ns=[0, 700, 0, 900], drift_ppm=[0, 1, 0, 2])
    digests = [replace(rank, clock="host0") if place in {0, 2} else rank
               for place, rank in enumerate(built.digests)]  # fmt: skip
    silent = replace(a_digest(rank=4, first_ns=built.shape.start_ns), clock="host0")

    job = job_of([*digests, silent], [0, 1, 2, 3, 4])

    assert states(job) == [
        ClockState.REFERENCE,
        ClockState.ALIGNED,
        ClockState.ALIGNED,
        ClockState.ALIGNED,
        ClockState.SHARED,
    ]
    assert {clock.component for clock in job.clocks} == {0}
    assert clock_error_ns(built, replace(job, clocks=job.clocks[:4])).max() <= 2_000
    assert job.clocks[4].offset_ns == 0


def test_a_clock_with_a_name_needs_no_exchanges() -> None:
    digests = [replace(a_digest(rank=rank, first_ns=5_000 * rank), clock="h b") for rank in (0, 1)]

    job = job_of([*digests, a_digest(rank=2)], [0, 1, 2])

    assert states(job) == [ClockState.REFERENCE, ClockState.SHARED, ClockState.UNKNOWN]
    own = np.array([7_000, 8_000])
    assert job.clocks[1].to_common(own).tolist() == own.tolist()
    assert job.clocks[0].component == job.clocks[1].component != job.clocks[2].component


@pytest.mark.parametrize(
    ("offset_ns", "state"), [(2_000, ClockState.ALIGNED), (300_000, ClockState.SHARED)]
)
def test_a_clock_with_a_name_is_believed_before_ends_that_contradict_it(
    offset_ns: int, state: ClockState
) -> None:
    built = skewed(11, 2, offset_ns=[0, offset_ns], drift_ppm=[0, 0])

    job = job_of([replace(rank, clock="h b") for rank in built.digests], [0, 1])

    assert states(job) == [ClockState.REFERENCE, state]
    if state is ClockState.SHARED:
        assert job.clocks[1].offset_ns == 0


def test_an_interval_wider_than_a_quarter_of_a_step_is_too_wide() -> None:
    slots = (Slot(compute_ns=200_000, transfer_ns=400_000),)
    built = a_job(rank_count=2, step_count=5, slots=slots, offset_ns=[0, 3_000])

    job = joined(built)

    clock = job.clocks[1]
    assert clock.state is ClockState.TOO_WIDE
    assert not clock.is_comparable
    assert "to compare, 160.8 us would be needed" in clock.reason.replace("µ", "u")
    assert holds_truth(built, 1, clock)


def test_sends_in_both_directions_certify_clocks() -> None:
    ahead_ns, count = 7_000_000, 50

    def moved(rank: int) -> list[Collective]:
        rows = []
        for place in range(count):
            # Steps differ, so that times tell which is which.
            forward = place * 2_000_000 + place**2 * 5_000
            back = forward + 1_000_000
            for begin, sender in ((forward, 0), (back, 1)):
                name = "send" if sender == rank else "recv"
                wait = 0 if sender == rank else 20_000
                start = begin - wait + ahead_ns * rank
                rows.append(
                    Collective(start, begin + 30_000 + ahead_ns * rank, "send/recv", name=name,
                               peer=1 - rank, group=Group("pp", "", 2, (0, 1)))
                )  # fmt: skip
        return rows

    job = job_of([a_digest(moved(0)), a_digest(moved(1), rank=1)], [0, 1])

    clock = job.clocks[1]
    assert clock.state is ClockState.ALIGNED
    assert clock.offset_ns == pytest.approx(-ahead_ns, abs=1_000)
    assert clock.low_ns == pytest.approx(-ahead_ns - 30_000, abs=2_000)
    assert clock.high_ns == pytest.approx(-ahead_ns + 30_000, abs=2_000)


def test_a_single_exchange_bounds_a_clock_by_its_length() -> None:
    first = a_digest([Collective(1_000, 61_000)], last_ns=10**9)
    second = a_digest([Collective(51_000, 71_000)], rank=1, last_ns=10**9)

    clock = job_of([first, second], [0, 1]).clocks[1]

    assert clock.low_ns == pytest.approx(1_000 - 71_000, abs=100)
    assert clock.high_ns == pytest.approx(61_000 - 51_000, abs=100)
    assert clock.offset_ns == -10_000
    assert clock.drift_ppm == 0.0


def test_one_rank_alone_is_the_reference() -> None:
    assert states(job_of([a_digest([Collective(0, 10)])], [3])) == [ClockState.REFERENCE]


def test_exchanges_that_are_not_matched_surely_say_nothing_of_clocks() -> None:
    rows = [Collective(1000 * place, 1000 * place + 100) for place in range(12)]
    later = [
        row._replace(start_ns=row.start_ns + 10**12, end_ns=row.end_ns + 10**12) for row in rows
    ]

    job = job_of(
        [a_digest(rows), a_digest(later[:6], rank=1), a_digest(later[:7], rank=2)], [0, 1, 2]
    )

    assert states(job) == [ClockState.UNKNOWN] * 3
    assert {clock.reason for clock in job.clocks} == {
        "its exchanges with others are matched with a confidence below 50%"
    }
