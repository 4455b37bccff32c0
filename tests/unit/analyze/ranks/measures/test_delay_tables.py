"""Tests of the tables of stragglers and delays."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.analyze.ranks.timed_jobs import a_timed_job, measured
from wavescope.analyze.ranks.measures.delays_table import (
    delay_rows,
    delays_table,
    stragglers_table,
)
from wavescope.analyze.ranks.stragglers import (
    Cause,
    Culprit,
    CulpritKind,
    PathKind,
    PathPart,
    StepAccount,
    StragglerReport,
    Verdict,
)

_JOB = a_timed_job([[(0, 100)], [(40, 100)], [(50, 100)]])


def _report(parts: list[list[PathPart]]) -> StragglerReport:
    accounts = []
    for step, own in enumerate(parts):
        actual = sum(part.actual_ns for part in own)
        ideal = sum(part.reference_ns for part in own)
        accounts.append(StepAccount(step, actual, ideal, tuple(own)))
    return StragglerReport(Verdict.NOBODY, "", (), tuple(accounts))


def test_parts_are_summed_by_rank_and_transfers_by_group() -> None:
    report = _report(
        [
            [
                PathPart(PathKind.LOCAL, 2, 0, 0, 0, 150, 100),
                PathPart(PathKind.TRANSFER, 0, 0, 0, 150, 200, 45),
            ],
            [
                PathPart(PathKind.LOCAL, 2, 0, 1, 200, 330, 100),
                PathPart(PathKind.LOCAL, 1, 0, 2, 330, 400, 80),
                PathPart(PathKind.TRANSFER, 1, 0, 2, 400, 460, 45),
            ],
        ]
    )

    table = delays_table(delay_rows(measured(_JOB, report)))

    assert [
        (row["where"], row["kind"], row["excess_ns"], row["part_count"], row["step_count"])
        for row in table.records()
    ] == [
        ("rank 2", "local", 80, 2, 2),
        ("world", "transfer", 20, 2, 2),
        ("rank 1", "local", -10, 1, 1),
    ]
    assert table.is_whole
    assert [round(share) for share in table.column("share_percent")] == [89, 22, -11]  # type: ignore[arg-type]


_PARTS = st.builds(
    lambda kind, place, start, actual, reference: PathPart(
        kind, place, 0, 0, start, start + actual, reference
    ),
    st.sampled_from(PathKind),
    st.integers(0, 2),
    st.integers(0, 1000),
    st.integers(0, 500),
    st.integers(0, 500),
)


@given(parts=st.lists(st.lists(_PARTS, max_size=6), max_size=5))
@settings(max_examples=60)
def test_delays_add_up_to_the_delay_of_all_steps(parts: list[list[PathPart]]) -> None:
    report = _report(parts)

    rows = delay_rows(measured(_JOB, report))

    whole = sum(account.actual_ns - account.ideal_ns for account in report.steps)
    assert sum(row.excess_ns for row in rows) == whole


def test_culprits_are_told_by_what_they_cost() -> None:
    small = Culprit(
        CulpritKind.RANK, (1,), "rank 1", Cause.HOST_LATE, "", 10, 0.5, 3, "always", "idle"
    )
    large = Culprit(
        CulpritKind.HOST, (0, 2), "host a", Cause.SLOWER_COMPUTE, "forward", 90, 4.5, 9, "", "slow"
    )
    report = StragglerReport(Verdict.CULPRIT, "", (small, large))

    rows = stragglers_table(measured(_JOB, report)).records()

    assert [(row["culprit"], row["kind"], row["ranks"], row["cause"]) for row in rows] == [
        ("host a", "host", "0, 2", "slower_compute"),
        ("rank 1", "rank", "1", "host_late"),
    ]
    assert [(row["phase"], row["delay_ns"], row["share_percent"]) for row in rows] == [
        ("forward", 90, 4.5),
        (None, 10, 0.5),
    ]
