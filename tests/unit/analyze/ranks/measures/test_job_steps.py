"""Tests of the table of a job's steps."""

from __future__ import annotations

from tests.unit.analyze.ranks.digest_builder import Collective, Step, a_digest
from tests.unit.analyze.ranks.timed_jobs import (
    NO_REPORT,
    REFERENCE,
    UNKNOWN_CLOCK,
    a_timed_job,
    job_of_parts,
    measured,
)
from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.measures import job_rows
from wavescope.analyze.ranks.measures.steps_table import step_rows, steps_table
from wavescope.analyze.ranks.stragglers import StepAccount, StragglerReport, Verdict
from wavescope.model.result import Value


def _steps(job: Job, report: StragglerReport = NO_REPORT) -> list[dict[str, Value]]:
    measures = measured(job, report)
    return steps_table(measures, step_rows(measures)).records()


def _job(*steps: list[Step], clocks: list[object] | None = None) -> Job:
    digests = [a_digest(steps=own, rank=rank) for rank, own in enumerate(steps)]
    return job_of_parts(digests, clocks=clocks)  # type: ignore[arg-type]


def test_a_step_lasts_from_the_first_start_to_the_last_end() -> None:
    job = _job(
        [Step(0, 100, 7, exposed_ns=10)],
        [Step(20, 90, 7, exposed_ns=35)],
        [Step(10, 150, 7, exposed_ns=14)],
    )
    account = StepAccount(0, 160, 120, ())

    [row] = _steps(job, StragglerReport(Verdict.NOBODY, "", (), (account,)))

    assert (row["step"], row["label"], row["rank_count"]) == (0, 7, 3)
    assert (row["actual_ns"], row["start_ns"]) == (150, 0)
    assert (row["ideal_ns"], row["delay_ns"]) == (120, 40)
    assert (row["median_ns"], row["slowest_rank"], row["slowest_ns"]) == (100, 2, 140)
    assert (row["fastest_rank"], row["fastest_ns"]) == (1, 70)
    assert (row["start_skew_ns"], row["end_skew_ns"]) == (20, 60)
    assert (row["exposed_ns"], row["exposed_percent"]) == (14, 10.0)


def test_ranks_that_lack_a_step_are_not_part_of_it() -> None:
    rows = _steps(_job([Step(0, 100), Step(100, 190)], [Step(5, 100)]))

    assert [row["rank_count"] for row in rows] == [2, 1]
    assert [row["actual_ns"] for row in rows] == [100, 90]
    assert [row["end_skew_ns"] for row in rows] == [0, None]


def test_without_comparable_clocks_steps_are_told_by_each_ranks_own() -> None:
    job = _job([Step(0, 100)], [Step(900, 970)], clocks=[UNKNOWN_CLOCK, UNKNOWN_CLOCK])

    [row] = _steps(job)

    assert (row["actual_ns"], row["start_skew_ns"], row["start_ns"]) == (None, None, None)
    assert (row["median_ns"], row["slowest_rank"], row["compared_count"]) == (70, 0, 0)
    assert job_rows(measured(job)).step_times.tolist() == [70]


def test_a_few_bad_clocks_leave_the_time_over_the_others() -> None:
    job = _job(
        [Step(0, 100)],
        [Step(10, 120)],
        [Step(900, 970)],
        clocks=[REFERENCE, REFERENCE, UNKNOWN_CLOCK],
    )

    rows = job_rows(measured(job))

    assert rows.has_common_steps
    assert rows.step_times.tolist() == [120]


def test_waiting_is_summed_by_step() -> None:
    exchanges = [Collective(0, 0, step=step) for step in (0, 0, 1)]
    steps = [Step(0, 100), Step(100, 200)]
    job = a_timed_job(
        [[(0, 40), (50, 90), (110, 190)], [(10, 40), (70, 90), (113, 190)]],
        exchanges=exchanges,
        steps=[steps, steps],
    )

    assert [row["wait_ns"] for row in _steps(job)] == [30, 3]


def test_a_job_without_steps_or_ranks_has_none() -> None:
    assert _steps(_job([], [])) == []
    assert _steps(job_of_parts([])) == []
