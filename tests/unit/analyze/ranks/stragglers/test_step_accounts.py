"""The account of each step is exact, and follows who the job really waited for."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.analyze.ranks.digest_builder import Slot
from tests.unit.analyze.ranks.stragglers.straggler_jobs import a_shape, job_with_known_clocks
from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.stragglers import PathKind, StragglerReport, stragglers_of

_PAIRS = ((0, 1), (2, 3))
_CROSS = ((0, 2), (1, 3))


@st.composite
def _jobs(draw: st.DrawFn, *, is_tied: bool = False) -> Job:
    extras = draw(
        st.dictionaries(
            st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 2)),
            st.integers(0, 2_000_000),
            max_size=12,
        )
    )
    groups = st.sampled_from([(), _PAIRS, _CROSS])
    slots = tuple(
        Slot(
            () if is_tied and number == 1 else draw(groups),
            name=f"group{number}",
            transfer_ns=draw(st.integers(1, 100_000)),
        )
        for number in range(3)
    )
    shape = a_shape(
        4,
        6,
        slots=slots,
        extra_ns=lambda *where: extras.get(where, 0),
        skew_ns=draw(st.sampled_from([0, 5_000, 300_000])),
        seed=draw(st.integers(0, 99)),
    )
    return job_with_known_clocks(shape)


@settings(max_examples=40)
@given(_jobs())
def test_excesses_add_up_exactly(job: Job) -> None:
    report = stragglers_of(job)

    assert report.steps
    for account in report.steps:
        excess = sum(part.excess_ns for part in account.parts)
        assert excess == account.actual_ns - account.ideal_ns
        assert all(part.actual_ns >= 0 for part in account.parts)
        assert all(part.reference_ns >= 0 for part in account.parts)


@settings(max_examples=40)
@given(_jobs(is_tied=True))
def test_the_path_is_whole_and_as_long_as_the_job(job: Job) -> None:
    report = stragglers_of(job)

    parts = [part for account in report.steps for part in account.parts]
    assert all(before.end_ns == after.start_ns for before, after in pairwise(parts))
    assert parts[-1].end_ns == job.step_ends[:, -1].max()
    assert sum(account.actual_ns for account in report.steps) == (
        parts[-1].end_ns - parts[0].start_ns
    )
    # The path begins where its rank began its first step, with no exchange before it.
    assert parts[0].start_ns == job.step_starts[parts[0].place, 0]


@settings(max_examples=40)
@given(_jobs())
def test_the_same_job_gives_the_same_report(job: Job) -> None:
    assert stragglers_of(job) == stragglers_of(job)


def _report_of_late_rank() -> StragglerReport:
    def extra_ns(rank: int, step: int, slot: int) -> int:
        return 50_000 if (rank, slot) == (2, 1) else 0

    return stragglers_of(job_with_known_clocks(a_shape(extra_ns=extra_ns, skew_ns=0)))


def test_parts_of_a_step_of_a_late_rank() -> None:
    """Without noise all values are known: 200 us of compute and 20 us of transfer each time."""
    account = _report_of_late_rank().steps[5]

    shown = [(part.kind, part.actual_ns, part.reference_ns) for part in account.parts]
    assert shown == [
        (PathKind.LOCAL, 200_000, 200_000),
        (PathKind.TRANSFER, 20_000, 20_000),
        (PathKind.LOCAL, 250_000, 200_000),
        (PathKind.TRANSFER, 20_000, 20_000),
        (PathKind.LOCAL, 200_000, 200_000),
        (PathKind.TRANSFER, 20_000, 20_000),
    ]
    assert account.parts[2].place == 2
    assert (account.actual_ns, account.ideal_ns) == (710_000, 660_000)


def test_each_rank_has_its_delay_and_its_waits() -> None:
    late, other = (_report_of_late_rank().ranks[place] for place in (2, 5))

    assert (late.caused_ns, late.waited_ns, late.exchange_count) == (12 * 50_000, 0, 36)
    assert (other.caused_ns, other.waited_ns) == (0, 12 * 50_000)
    assert late.late_count >= 12
