"""What slices say of a run: hand-made ones to the nanosecond, and simulated ones against truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.builders import TraceMaker, a_trace
from tests.sampled_runs import NAMES, OUTSIDE, simulated_run
from wavescope.analyze.ops.busy_estimates import busy_estimate, run_busy_estimate
from wavescope.analyze.ops.busy_timelines import busy_timelines
from wavescope.analyze.ops.coverage import recorded
from wavescope.analyze.ops.op_labels import named_ops
from wavescope.analyze.ops.slice_estimates import (
    Estimate,
    GroupedOps,
    GroupEstimates,
    estimated_groups,
)
from wavescope.arrays.student_t import quantile
from wavescope.model.selection import Selection, select
from wavescope.model.trace import Trace

SIMULATIONS = 300


def by_name(trace: Trace) -> dict[str, tuple[Estimate | None, ...]]:
    """Share, total and count of each name."""
    found, named = recorded(trace), named_ops(trace)
    assert found is not None
    rows = np.arange(len(trace.ops))
    grouped = GroupedOps(rows, named.of_op, trace.op_length_ns, len(named.names))
    estimates: GroupEstimates = estimated_groups(found, grouped)
    columns = zip(estimates.shares, estimates.totals_ns, estimates.counts, strict=True)
    return dict(zip(named.names, columns, strict=True))


def five_slices(counted: int | None = None) -> TraceMaker:
    """Slices of 100 ns in every 1,000; `a` takes 10 to 50 ns of each, `b` always 20."""
    maker = a_trace().with_process(10, start_ns=0, end_ns=5_000)
    for number in range(5):
        at = 1_000 * number
        maker.with_slice(at, at + 100)
        maker.with_kernel("a", at, at + 10 * (number + 1))
        maker.with_kernel("b", at + 60, at + 80)
    if counted is not None:
        skipped = counted - 10
        maker.with_coverage(counted, 10, skipped=skipped, lost=0, process=0, reason=OUTSIDE)
    return maker


def test_without_counted_launches_there_are_shares_and_no_totals() -> None:
    share, total, count = by_name(five_slices().build())["a"]

    assert (total, count) == (None, None)
    # residuals of a - 0.6 (a + b): 0.4 y - 12 with y from 10 to 50, of 250 ns
    away = [0.4 * y - 12 for y in (10, 20, 30, 40, 50)]
    error = 100 * math.sqrt(1.25 * sum(each**2 for each in away)) / 250
    reach = quantile(0.975, 4)
    assert share == Estimate(
        pytest.approx(60), pytest.approx(60 - reach * error), pytest.approx(60 + reach * error)
    )


def test_totals_scale_by_launches_where_kernels_were_counted() -> None:
    found = by_name(five_slices(counted=200).build())

    # 200 kernels were launched, 10 seen: 20 times the sums, residuals as before
    margin = quantile(0.975, 4) * 20 * math.sqrt(1_000 * 0.95 * 1.25)
    assert found["a"][1] == Estimate(
        pytest.approx(3_000), pytest.approx(3_000 - margin), pytest.approx(3_000 + margin)
    )
    assert found["b"][2] == Estimate(pytest.approx(100), pytest.approx(100), pytest.approx(100))
    assert found["b"][1] == Estimate(
        pytest.approx(2_000), pytest.approx(2_000), pytest.approx(2_000)
    )


def test_busy_time_has_an_interval() -> None:
    trace = five_slices().build()
    found = recorded(trace)
    assert found is not None

    busy = busy_estimate(trace.derived(busy_timelines), found)

    # 30 40 50 60 70 of 100 ns: residuals -20 to 20, of 500 ns in 5,000
    margin = 100 * quantile(0.975, 4) * math.sqrt(0.9 * 1.25 * 1_000) / 500
    expected = (50, pytest.approx(50 - margin), pytest.approx(50 + margin))
    assert busy == Estimate(*expected)


def test_what_was_seen_bounds_an_interval_from_below() -> None:
    trace = five_slices(counted=110).with_kernel("rare", 4_090, 4_190).build()

    share, total, count = by_name(trace)["rare"]

    assert total is not None and (total.value, total.low) == (pytest.approx(1_000), 100)
    assert count is not None and (count.value, count.low) == (pytest.approx(10), 1)
    assert share is not None and share.low == 0


def test_few_slices_have_no_interval() -> None:
    maker = a_trace().with_process(10, start_ns=0, end_ns=1_000)
    for at in (0, 100, 200, 300):
        maker.with_slice(at, at + 10).with_kernel("a", at, at + 5)
    maker.with_coverage(100, 4, skipped=96, lost=0, process=0, reason=OUTSIDE)

    share, total, _ = by_name(maker.build())["a"]

    assert share == Estimate(100.0, None, None)
    assert total == Estimate(pytest.approx(500), None, None)


def test_where_everything_was_seen_nothing_is_uncertain() -> None:
    maker = a_trace().with_process(10, start_ns=0, end_ns=500)
    for number in range(5):
        at = 100 * number
        maker.with_slice(at, at + 100).with_kernel("a", at, at + 10 * (number + 1))
    maker.with_coverage(5, 5, skipped=0, lost=0, process=0)

    assert by_name(maker.build())["a"][1] == Estimate(150, 150, 150)


def test_a_process_without_slices_adds_what_it_did_and_no_doubt() -> None:
    maker = five_slices(counted=100).with_process(11).with_kernel("c", 700, 1_700, process=1, gpu=1)

    found = by_name(maker.build())

    assert found["c"][1] == Estimate(1_000, pytest.approx(1_000), pytest.approx(1_000))
    share = found["c"][0]
    # a 1,500, b 1,000, c 1,000
    assert share is not None and share.value == pytest.approx(100 * 1_000 / 3_500)


def test_kernels_that_began_outside_of_slices_and_graph_runs_do_not_count() -> None:
    maker = five_slices(counted=100).with_kernel("late", 150, 160)
    maker.with_op("graph 7", 200, 900, type="GraphExecution", graph=7)

    found = by_name(maker.build())

    assert found["late"][1] == Estimate(0, 0, 0)
    assert found["graph 7"][1] == Estimate(0, 0, 0)
    assert found["a"][0] is not None and found["a"][0].value == pytest.approx(60.0)


def test_of_a_selected_time_shares_are_told_and_no_totals() -> None:
    whole = five_slices(counted=200).build()

    share, total, _ = by_name(select(whole, Selection(start="0", end="2500")))["a"]

    # launches were counted for the whole run only
    assert (share, total) == (Estimate(50.0, None, None), None)


def test_the_busy_time_of_the_run_follows_from_launches() -> None:
    trace = five_slices(counted=20).build()
    found = recorded(trace)
    assert found is not None

    busy = run_busy_estimate(trace.derived(busy_timelines), found)

    # 250 ns busy with 10 of 20 kernels, in 5,000 ns: residuals -20 to 20
    margin = 100 * quantile(0.975, 4) * 2 * math.sqrt(0.5 * 1.25 * 1_000) / 5_000
    assert busy == Estimate(
        pytest.approx(10), pytest.approx(10 - margin), pytest.approx(10 + margin)
    )
    uncounted = five_slices().build()
    found = recorded(uncounted)
    assert found is not None
    assert run_busy_estimate(uncounted.derived(busy_timelines), found) is None


def test_pieces_of_one_slice_are_one_cluster() -> None:
    maker = five_slices()
    for number in range(5):
        at = 1_000 * number
        maker.with_marker("early", at, at + 30).with_marker("early", at + 60, at + 90)

    part = select(maker.build(), Selection(marker="early"))

    found = recorded(part)
    assert found is not None
    assert (len(found), found.slice_count, found.total_ns) == (10, 5, 300)


def test_a_trimmed_file_tells_shares_and_no_totals() -> None:
    maker = five_slices().with_metadata("selection", "marker decode")

    share, total, count = by_name(maker.build())["a"]

    assert share is not None and share.value == pytest.approx(60.0)
    assert (total, count) == (None, None)


@pytest.mark.parametrize("pauses", [False, True], ids=["dense", "with pauses"])
def test_intervals_hold_the_truth_of_simulated_runs(*, pauses: bool) -> None:
    held = {"share": 0, "total": 0, "count": 0, "busy of the run": 0, "busy": 0}
    asked = dict.fromkeys(held, 0)
    away: dict[str, list[float]] = {name: [] for name in held}

    def check(what: str, estimate: Estimate | None, truth: float) -> None:
        assert estimate is not None and estimate.low is not None and estimate.high is not None
        asked[what] += 1
        held[what] += estimate.low <= truth <= estimate.high
        away[what].append(estimate.value / truth - 1)

    for seed in range(SIMULATIONS // 2):
        run = simulated_run(seed, pauses=pauses)
        trace = run.trace
        truth, found = run.truth, recorded(trace)
        assert found is not None and found.slice_count >= 20
        whole_ns = float(truth.totals_ns.sum())
        estimates = by_name(trace)
        for name, total_ns, count in zip(NAMES, truth.totals_ns, truth.counts, strict=True):
            share, total, calls = estimates[name]
            check("share", share, 100 * total_ns / whole_ns)
            check("total", total, total_ns)
            check("count", calls, count)
        of_run = run_busy_estimate(trace.derived(busy_timelines), found)
        check("busy of the run", of_run, truth.busy_percent)
        busy = busy_estimate(trace.derived(busy_timelines), found)
        check("busy", busy, truth.busy_percent)

    shares = {what: count / asked[what] for what, count in held.items()}
    biases = {what: float(np.mean(values)) for what, values in away.items()}
    assert {what: share for what, share in shares.items() if share < 0.90} == {}
    assert {what: bias for what, bias in biases.items() if abs(bias) > 0.02} == {}
