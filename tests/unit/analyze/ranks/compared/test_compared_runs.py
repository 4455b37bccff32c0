"""Tests of two runs of a job side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.analyze.ranks.digest_builder import Collective, Step
from tests.unit.analyze.ranks.timed_jobs import (
    NO_REPORT,
    UNKNOWN_CLOCK,
    a_timed_job,
    job_of_parts,
    measured,
)
from wavescope.analyze.ranks.compared import Run, compared_result
from wavescope.analyze.ranks.compared.compared_runs import differ_clearly, median_interval
from wavescope.analyze.ranks.compared.figures import Figure, Part
from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.measures import job_rows
from wavescope.analyze.ranks.stragglers import (
    Cause,
    Culprit,
    CulpritKind,
    StragglerReport,
    Verdict,
)
from wavescope.model.result import Result, Unit, Value


def _run(job: Job, report: StragglerReport = NO_REPORT) -> Run:
    measures = measured(job, report)
    return Run(measures, job_rows(measures))


def _job(
    step_ns: Sequence[int], *, ranks: int = 2, late_ns: int = 100, transfer_ns: int = 1_000
) -> Job:
    """Each step ends with an all-reduce to which the last rank comes late."""
    times: list[list[tuple[int, int] | None]] = [[] for _ in range(ranks)]
    steps: list[Step] = []
    now = 0
    for length in step_ns:
        end = now + length
        arrival = end - transfer_ns
        for rank in range(ranks):
            times[rank].append((arrival if rank == ranks - 1 else arrival - late_ns, end))
        steps.append(Step(now, end))
        now = end
    exchanges = [
        Collective(0, 0, size_bytes=1 << 20, step=step, bus_factor=2.0)
        for step in range(len(step_ns))
    ]
    return a_timed_job(times, exchanges=exchanges, steps=[steps] * ranks)


def _compared(base: Job, new: Job) -> Result:
    return compared_result(_run(base), _run(new), "monday")


def _rows(result: Result, part: str) -> dict[tuple[Value, Value], dict[str, Value]]:
    rows = result.table("compared").records()
    return {(row["where"], row["metric"]): row for row in rows if row["part"] == part}


def test_the_time_of_steps_is_compared() -> None:
    result = _compared(_job([10_000] * 9 + [20_000]), _job([11_000] * 10))

    job = _rows(result, "job")
    median, p95 = job[None, "median step"], job[None, "p95 step"]
    assert (median["base_value"], median["new_value"]) == (10_000, 11_000)
    assert (median["change_value"], median["change_percent"]) == (1_000, 10.0)
    assert median["change"] == "+1.000 us (+10.0 %)"
    assert (p95["base"], p95["new"], p95["change"]) == (
        "20.00 us",
        "11.00 us",
        "-9.000 us (-45.0 %)",
    )


def test_the_headline_says_by_how_much() -> None:
    slower = _compared(_job([10_000] * 10), _job([11_000] * 10))
    faster = _compared(_job([11_000] * 10), _job([9_900] * 10))

    assert slower.facts["compared"] == (
        "a step takes 11.00 us (median), 10.00 us in monday: 10.0 % longer"
    )
    assert str(faster.facts["compared"]).endswith("10.0 % shorter")


def test_what_steps_vary_by_is_no_difference() -> None:
    base = _job([9_000, 10_000, 11_000, 12_000, 9_500, 10_500, 8_000, 13_000])
    new = _job([9_300, 10_300, 11_300, 12_300, 9_800, 10_800, 8_300, 13_300])

    facts = _compared(base, new).facts

    assert str(facts["compared"]).endswith("no clear difference beside how steps vary")
    assert str(_compared(base, base).facts["compared"]).endswith("about the same")


def test_too_few_steps_differ_never_clearly() -> None:
    assert not differ_clearly(np.array([1, 1, 1]), np.array([9, 9, 9, 9, 9, 9]))
    assert differ_clearly(np.array([1] * 6), np.array([9] * 6))


def test_runs_without_steps_say_so() -> None:
    assert "cannot be compared" in str(_compared(_job([]), _job([10_000])).facts["compared"])


def test_bandwidth_is_compared_whatever_groups_are_called() -> None:
    base, new = _job([10_000] * 3), _job([10_000] * 3, transfer_ns=2_000)
    new = replace(new, groups=tuple(replace(group, name="other") for group in new.groups))

    rows = _rows(_compared(base, new), "collective")

    [row] = rows.values()
    assert row["where"] == "all-reduce of BFloat16 from 1.049 MB over 2 ranks"
    assert row["base_value"] == pytest.approx(2 * (1 << 20) / 1_000)
    assert row["change_percent"] == pytest.approx(-50.0)
    assert row["unit"] == "GB/s"


def test_shares_change_by_points_and_never_by_percent() -> None:
    rows = _rows(_compared(_job([10_000] * 3), _job([10_000] * 3, late_ns=1_000)), "job")

    row = rows[None, "waiting for others"]
    # One of two ranks waits 100, then 1,000 of each 10,000; the span begins with the first step.
    assert (row["base_value"], row["new_value"]) == (0.5, 5.0)
    assert (row["change"], row["change_percent"], row["unit"]) == ("+4.5 points", None, "%")


def test_ranks_are_matched_by_number() -> None:
    base = replace(_job([10_000] * 3, ranks=3), numbers=(0, 4, 9))
    new = replace(_job([12_000] * 3, ranks=2), numbers=(4, 5))

    result = _compared(base, new)

    assert {where for where, _ in _rows(result, "rank")} == {"rank 4"}
    [finding] = result.findings
    assert finding.id == "ranks-differ"
    assert finding.evidence == "3 ranks before, 2 now; only before: 0, 9; only now: 5"
    assert str(result.facts["compared"]).endswith("; 2 ranks, 3 in monday")


def test_equal_ranks_need_no_finding() -> None:
    assert _compared(_job([10_000]), _job([12_000])).findings == []


def test_culprits_of_both_runs_are_beside_each_other() -> None:
    def accused(name: str, share: float) -> StragglerReport:
        culprit = Culprit(
            CulpritKind.RANK, (0,), name, Cause.UNKNOWN, "", 1, share, 1, "always", ""
        )
        return StragglerReport(Verdict.CULPRIT, "", (culprit,))

    job = _job([10_000] * 3)
    result = compared_result(_run(job, accused("rank 0", 8.0)), _run(job, accused("rank 1", 2.0)))

    rows = _rows(result, "culprit")
    assert {where: row["change"] for (where, _), row in rows.items()} == {
        "rank 0": "-8.0 points",
        "rank 1": "+2.0 points",
    }


def test_runs_of_which_one_has_no_clocks_are_compared_by_ranks_own_steps() -> None:
    base = _job([10_000] * 3)
    steps = [[Step(0, 700)], [Step(9_000, 9_900)]]
    new = a_timed_job([[], []], steps=steps, clocks=[UNKNOWN_CLOCK] * 2)

    row = _rows(_compared(base, new), "job")[None, "median step"]

    assert (row["base_value"], row["new_value"]) == (10_000, 700)


def test_empty_jobs_can_be_compared() -> None:
    result = _compared(job_of_parts([]), job_of_parts([]))

    assert result.table("compared").rows == []


@pytest.mark.parametrize(
    ("unit", "base", "new", "expected"),
    [
        (Unit.NS, 100.0, 150.0, "+50 ns (+50.0 %)"),
        (Unit.NS, 0.0, 150.0, "+150 ns"),
        (Unit.PERCENT, 10.0, 10.04, "0.0 points"),
        (Unit.GB_PER_S, 10.0, 7.5, "-2.5 GB/s (-25.0 %)"),
        (Unit.COUNT, 10.0, 12.0, "+2 (+20.0 %)"),
        (Unit.NS, None, 1.0, "only in one run"),
    ],
)
def test_a_change_is_written_in_its_unit(
    unit: Unit, base: float | None, new: float | None, expected: str
) -> None:
    assert Figure(Part.JOB, "", "x", unit, base, new).change_text == expected


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=60))
def test_the_interval_of_a_median_holds_it(values: list[int]) -> None:
    low, high = median_interval(np.array(values, np.int64))

    assert low <= sorted(values)[(len(values) - 1) // 2] <= high
