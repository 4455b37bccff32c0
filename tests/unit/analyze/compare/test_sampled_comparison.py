"""Sampled traces beside others: shares, totals and what slices leave open."""

from __future__ import annotations

import math

import pytest

from tests.builders import TraceMaker, a_trace
from tests.sampled_runs import OUTSIDE
from wavescope.analyze.compare import CompareOptions, Part, compare
from wavescope.analyze.compare.regression import RunOptions, run_values
from wavescope.analyze.compare.sampled_comparison import KERNELS, part_shares
from wavescope.errors import UsageError
from wavescope.model.result import Result, Value


def sampled(gemm_ns: int, *, spread_ns: int = 0, slices: int = 6, other: str = "add") -> TraceMaker:
    """In each slice of 100 of every 1,000 ns one product, longer or shorter, and 20 ns besides."""
    maker = a_trace().with_process(10, start_ns=0, end_ns=1_000 * slices)
    for number in range(slices):
        at = 1_000 * number
        longer = spread_ns if number % 2 else -spread_ns
        maker.with_slice(at, at + 100).with_kernel("gemm", at, at + gemm_ns + longer)
        maker.with_kernel(other, at + 70, at + 90)
    seen, skipped = 2 * slices, 18 * slices
    return maker.with_coverage(
        seen + skipped, seen, skipped=skipped, lost=0, process=0, reason=OUTSIDE
    )


def rows(result: Result, table: str) -> dict[Value, dict[str, Value]]:
    return {row["name"]: row for row in result.table(table).records()}


def test_a_difference_that_slices_tell_apart() -> None:
    result = compare([sampled(20).build(), sampled(60).build()])

    gemm = rows(result, "kernels")["gemm"]
    assert (gemm["base_percent"], gemm["new_percent"]) == (pytest.approx(50), pytest.approx(75))
    assert gemm["delta_percent"] == gemm["delta_low_percent"] == pytest.approx(25)
    assert gemm["verdict"] == "larger share"
    assert (gemm["base_total_ns"], gemm["new_total_ns"]) == (1_200, 3_600)
    assert result.facts["headline"] == (
        "trace 2: GEMM +25.0 points, elementwise -25.0 points of the GPU time"
    )


def test_a_difference_within_what_slices_leave_open() -> None:
    base, new = sampled(20, spread_ns=15).build(), sampled(24, spread_ns=15).build()

    gemm = rows(compare([base, new]), "kernels")["gemm"]

    assert gemm["verdict"] == "not told apart"
    mine, theirs = part_shares(base, KERNELS)["gemm"], part_shares(new, KERNELS)["gemm"]
    assert mine.percent.high is not None and theirs.percent.low is not None
    down = math.hypot(
        theirs.percent.value - theirs.percent.low, mine.percent.high - mine.percent.value
    )
    assert gemm["delta_low_percent"] == pytest.approx(
        theirs.percent.value - mine.percent.value - down
    )


def test_a_whole_trace_is_certain_beside_a_sampled_one() -> None:
    whole = a_trace().with_kernel("gemm", 0, 300).with_kernel("add", 400, 500)

    result = compare([whole.build(), sampled(60).build()])

    gemm = rows(result, "kernels")["gemm"]
    assert (gemm["base_total_ns"], gemm["base_total_low_ns"]) == (300, 300)
    assert gemm["verdict"] == "not told apart"
    first, second = result.table("traces").records()
    assert (first["slice_count"], first["busy_percent"]) == (None, pytest.approx(80.0))
    assert (second["slice_count"], second["busy_percent"]) == (6, pytest.approx(80.0))
    assert [finding.where for finding in result.findings] == ["trace 2"]


def test_what_no_slice_shows_is_not_said_to_be_absent() -> None:
    result = compare([sampled(20).build(), sampled(20, other="softmax").build()])

    kernels = rows(result, "kernels")
    assert kernels["add"]["verdict"] == "seen only in trace 1"
    assert kernels["softmax"]["verdict"] == "seen only in trace 2"
    assert kernels["add"]["new_total_ns"] is None
    assert kernels["add"]["delta_low_percent"] is None


def test_few_slices_give_no_verdict() -> None:
    gemm = rows(compare([sampled(20, slices=3).build(), sampled(60).build()]), "kernels")["gemm"]

    assert gemm["verdict"] == "not told: too few slices"


def test_operators_and_steps_alone_are_refused() -> None:
    traces = [sampled(20).build(), sampled(60).build()]

    with pytest.raises(UsageError, match="cannot be compared by operator or step"):
        compare(traces, CompareOptions(parts=(Part.OPERATOR, Part.STEP)))
    chosen = compare(traces, CompareOptions(parts=(Part.STEP, Part.CATEGORY)))
    assert [table.name for table in chosen.tables] == ["traces", "categories"]


def test_runs_that_are_sampled_get_no_verdict() -> None:
    with pytest.raises(UsageError, match="is sampled"):
        run_values(sampled(20).build(), RunOptions())
