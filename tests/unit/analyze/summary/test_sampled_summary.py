"""What a summary says of a trace that was recorded in slices, to the nanosecond."""

from __future__ import annotations

import pytest

from tests.builders import TraceMaker, a_trace
from tests.sampled_runs import OUTSIDE
from wavescope.analyze.contents import overview
from wavescope.analyze.findings import findings
from wavescope.analyze.ops.busy_timelines import busy_timelines
from wavescope.analyze.ops.coverage import recorded
from wavescope.analyze.ops.gaps import every_gap, gpu_gaps, idle_gaps, largest_gaps
from wavescope.analyze.ops.gpu_timelines import gpu_timelines
from wavescope.analyze.ops.recorded import OUTSIDE_SLICES, kernels_part
from wavescope.analyze.ops.utilization import gpu_utilizations
from wavescope.analyze.summary import (
    KernelSummaryOptions,
    OpChoice,
    Scope,
    SummaryOptions,
    kernel_summary,
    summarize,
)
from wavescope.analyze.summary.busy_time import gaps, utilization
from wavescope.formats.session.layout import SKIP_OUTSIDE_SLICES, SKIP_REASONS
from wavescope.model.result import Value
from wavescope.model.selection import Selection, select


def two_slices() -> TraceMaker:
    """Kernels from 10 to 40 and 50 to 60, then from 1,020 on; a graph runs from 300 to 900."""
    return (
        a_trace()
        .with_process(10, start_ns=0, end_ns=2_000)
        .with_slice(0, 100)
        .with_slice(1_000, 1_100)
        .with_kernel("gemm", 10, 40)
        .with_kernel("add", 50, 60)
        .with_op("graph 7", 300, 900, type="GraphExecution", graph=7)
        .with_kernel("gemm", 1_020, 1_050)
        .with_kernel("gemm", 1_090, 1_130)
        .with_coverage(40, 4, skipped=36, lost=0, process=0, reason=OUTSIDE)
    )


def records(result_table: object) -> list[dict[str, Value]]:
    return result_table.records()  # type: ignore[attr-defined,no-any-return]


def test_the_reason_of_readers_is_the_one_that_is_looked_for() -> None:
    assert SKIP_REASONS[SKIP_OUTSIDE_SLICES].startswith(OUTSIDE_SLICES)
    assert OUTSIDE.startswith(OUTSIDE_SLICES)


def test_a_trace_without_slices_is_not_sampled() -> None:
    trace = a_trace().with_kernel("gemm", 0, 10).build()

    assert recorded(trace) is None
    assert kernels_part(trace) is trace
    assert "sampled" not in summarize(trace).facts


def test_it_is_said_first_that_a_trace_is_sampled() -> None:
    trace = two_slices().build()

    facts = overview(trace).facts

    assert next(iter(facts)) == "sampled"
    assert facts["sampled"] == (
        "kernels were recorded in 2 slices of time only (200 ns in all, 10.0 % of the run): "
        "4 kernels recorded of 40 counted"
    )
    assert {name: facts[name] for name in ("slice_count", "slice_total_ns", "slice_percent")} == {
        "slice_count": 2,
        "slice_total_ns": 200,
        "slice_percent": 10.0,
    }
    assert (facts["kernels_in_slices"], facts["kernels_counted"]) == (4, 40)
    assert (facts["kernel_count"], facts["graph_run_count"]) == (4, 1)
    assert list(summarize(trace).facts)[:3] == ["path", "format", "sampled"]


def test_lost_kernels_ran_and_those_of_a_pause_are_not_meant() -> None:
    maker = two_slices()
    maker.with_coverage(0, 0, skipped=0, lost=10, process=0, reason="lost")
    maker.with_coverage(0, 0, skipped=99, lost=0, process=0, reason="while recording was paused")
    maker.with_coverage(70, 70, skipped=0, lost=0, process=1)

    found = recorded(maker.build())

    assert found is not None and found.counted_kernels == 50


def test_kernels_are_listed_with_what_they_stand_for() -> None:
    result = kernel_summary(two_slices().build(), KernelSummaryOptions(ops=OpChoice.ALL))

    gemm, add = records(result.table("kernels"))
    assert {name: gemm[name] for name in ("name", "calls", "total_ns", "mean_ns")} == {
        "name": "gemm",
        "calls": 3,
        "total_ns": 100,
        "mean_ns": pytest.approx(100 / 3),
    }
    # 40 kernels launched, 4 seen
    assert (gemm["estimated_total_ns"], gemm["estimated_calls"]) == (1_000, 30)
    assert gemm["percent"] == pytest.approx(100 * 100 / 110)
    assert gemm["low_percent"] is gemm["estimated_total_low_ns"] is None  # two slices only
    assert (add["name"], add["estimated_total_ns"]) == ("add", 100)
    assert result.facts["gpu_time_ns"] == 110
    assert result.facts["estimated_gpu_time_ns"] == 1_100
    assert result.facts["listed_op_count"] == 4


def test_shares_are_of_each_gpu_where_these_are_asked_for() -> None:
    maker = two_slices().with_kernel("add", 20, 30, gpu=1)

    result = kernel_summary(maker.build(), KernelSummaryOptions(scope=Scope.GPU))

    rows = [(row["gpu"], row["name"], row["percent"]) for row in records(result.table("kernels"))]
    assert rows == [
        (0, "gemm", pytest.approx(100 * 100 / 110)),
        (0, "add", pytest.approx(100 * 10 / 110)),
        (1, "add", 100.0),
    ]


def test_categories_have_graph_runs_apart() -> None:
    rows = records(summarize(two_slices().build()).table("categories"))

    shown = [(row["category"], row["calls"], row["total_ns"]) for row in rows]
    assert shown == [("GEMM", 3, 100), ("elementwise", 1, 10), ("graph", 1, 600)]
    assert rows[0]["estimated_total_ns"] == 1_000
    assert rows[2]["percent"] is None


def test_a_graph_run_in_a_slice_is_busy_but_in_no_share() -> None:
    maker = two_slices().with_op("graph 8", 62, 70, type="GraphExecution", graph=8)

    result = summarize(maker.build(), SummaryOptions(KernelSummaryOptions(ops=OpChoice.ALL)))

    assert [row["name"] for row in records(result.table("kernels"))] == ["gemm", "add"]
    shown = [(row["category"], row["total_ns"]) for row in records(result.table("categories"))]
    assert shown == [("GEMM", 100), ("elementwise", 10), ("graph", 608)]
    (gpu,) = records(result.table("gpus"))
    assert gpu["busy_ns"] == 118


def test_busy_time_is_that_of_slices_with_ops_at_their_whole_length() -> None:
    result = utilization(two_slices().build())

    (gpu,) = records(result.table("gpus"))
    # 30 + 10 + 30 + 40 of 200 ns: the last kernel runs on beyond its slice
    assert (gpu["span_ns"], gpu["busy_ns"], gpu["idle_ns"]) == (200, 110, 90)
    assert gpu["busy_percent"] == pytest.approx(55.0)
    # the graph ran for 600 of the 920 ns outside of slices from 10 to 1,130 (200 less 10 in slices)
    assert gpu["graph_run_ns"] == 600
    assert gpu["graph_run_percent"] == pytest.approx(100 * 600 / (1_120 - 190))
    assert result.facts["busy_percent"] == result.facts["gpu_busy_percent"] == pytest.approx(55.0)
    assert result.facts["gpu_span_ns"] == 1_120
    assert result.findings == []
    (run,) = records(result.table("graph_runs"))
    assert (run["name"], run["runs"], run["total_ns"]) == ("graph 7", 1, 600)


def test_compute_exposed_and_idle_add_up_to_the_slices() -> None:
    maker = two_slices().with_copy(55, 75).with_kernel("ncclAllReduce", 35, 45, queue=1)

    (gpu,) = gpu_utilizations(maker.build().derived(busy_timelines))

    parts = (gpu.compute_ns, gpu.exposed_communication_ns, gpu.exposed_copy_ns, gpu.time.idle_ns)
    assert sum(parts) == gpu.time.span_ns == 200
    assert parts == (110, 5, 15, 70)


def test_gaps_lie_whole_in_a_slice() -> None:
    trace = two_slices().build()
    timelines = trace.derived(busy_timelines)

    (measured,) = gpu_gaps(timelines, 10_000)
    largest = largest_gaps(trace, timelines, 10)

    # 0-10, 60-100 and 1,000-1,020 are cut: what was running there is not known
    assert [(gap.start_ns, gap.end_ns) for gap in largest] == [(1_050, 1_090), (40, 50)]
    assert [gap.before for gap in largest] == [3, 0]
    assert (measured.gap_count, measured.total_ns, measured.span_ns) == (2, 50, 200)
    assert gaps(trace).findings == []
    (idle,) = every_gap(trace)
    assert (idle.starts.tolist(), idle.after.tolist()) == ([40, 1_050], [1, 4])
    (found,) = idle_gaps(trace, timelines, 20)
    assert (found.after.tolist(), found.lengths_ns.tolist()) == ([4], [40])


def test_many_gaps_are_found_like_few() -> None:
    maker = a_trace().with_process(10, start_ns=0, end_ns=10**6).with_slice(0, 100_000)
    for number in range(3_000):
        maker.with_kernel("k", 30 * number, 30 * number + 10)
    maker.with_slice(200_000, 200_100).with_kernel("k", 200_010, 200_020)
    trace = maker.build()

    (found,) = idle_gaps(trace, trace.derived(busy_timelines), 20)

    assert found.after.tolist() == list(range(1, 3_000))
    assert set(found.lengths_ns.tolist()) == {20}


def test_a_graph_that_runs_into_a_slice_leaves_no_gap_there() -> None:
    maker = two_slices().with_op("graph 8", 41, 48, type="GraphExecution", graph=8)

    (measured,) = gpu_gaps(maker.build().derived(busy_timelines), 10_000)

    # 40-41 and 48-50 remain of the gap from 40 to 50
    assert (measured.gap_count, measured.total_ns) == (3, 43)
    earlier = two_slices().with_op("graph 8", 950, 1_060, type="GraphExecution", graph=8)
    (measured,) = gpu_gaps(earlier.build().derived(busy_timelines), 10_000)
    # 1,060-1,090 remains of the gap from 1,050 on
    assert (measured.gap_count, measured.total_ns) == (2, 40)


def test_a_gpu_of_two_processes_is_known_when_both_were_in_a_slice() -> None:
    maker = two_slices().with_process(11, start_ns=0, end_ns=2_000).with_slice(50, 150, process=1)
    maker.with_kernel("other", 70, 90, process=1)

    (gpu,) = gpu_utilizations(maker.build().derived(busy_timelines))

    assert (gpu.time.span_ns, gpu.time.busy_ns, gpu.time.op_count) == (50, 30, 2)


def test_a_process_without_slices_is_busy_as_ever() -> None:
    maker = two_slices().with_process(11).with_kernel("whole", 0, 500, process=1, gpu=1)
    maker.with_kernel("whole", 600, 1_000, process=1, gpu=1)

    _, other = gpu_utilizations(maker.build().derived(busy_timelines))

    assert (other.time.span_ns, other.time.busy_ns, other.time.idle_ns) == (1_000, 900, 100)


def test_a_process_that_was_killed_before_its_first_slice_claims_nothing() -> None:
    maker = a_trace().with_process(10, start_ns=0, end_ns=2_000).with_slice(0, 0)
    maker.with_op("graph 7", 300, 900, type="GraphExecution", graph=7)

    result = summarize(maker.build())

    assert result.facts["slice_count"] == 0
    assert result.facts["busy_percent"] is None
    assert result.table("kernels").rows == []
    assert [finding.id for finding in result.findings] == ["sampled"]


def test_a_graph_run_beside_its_own_kernels_counts_once() -> None:
    trace = (
        a_trace()
        .with_kernel("gemm", 10, 40, graph=7)
        .with_op("graph 7", 10, 60, type="GraphExecution", graph=7)
        .with_op("graph 7", 100, 150, type="GraphExecution", graph=7)
        .with_op("graph 8", 10, 30, type="GraphExecution", graph=8)
        .build()
    )

    rows = [
        (row["category"], row["calls"], row["total_ns"])
        for row in records(summarize(trace).table("categories"))
    ]
    assert rows == [("graph", 2, 70), ("GEMM", 1, 30)]
    (gpu,) = gpu_timelines(trace)
    assert gpu.duration_sum_ns == 100
    listed = kernel_summary(trace, KernelSummaryOptions(ops=OpChoice.ALL)).table("kernels")
    assert [(row["name"], row["category"], row["total_ns"]) for row in records(listed)] == [
        ("graph 7", "graph", 50),
        ("gemm", "GEMM", 30),
        ("graph 8", "graph", 20),
    ]


def test_a_selected_process_shares_its_gpu_with_what_is_left_out() -> None:
    maker = two_slices().with_process(11, start_ns=0, end_ns=2_000).with_slice(50, 150, process=1)
    maker.with_kernel("other", 70, 90, process=1)

    part = select(maker.build(), Selection(processes=(10,)))
    (gpu,) = gpu_utilizations(part.derived(busy_timelines))

    # both were in a slice from 50 to 100, in which `add` and `other` began
    assert (gpu.time.span_ns, gpu.time.busy_ns) == (50, 30)
    assert summarize(part).facts["slice_total_ns"] == 200


def test_an_unsampled_process_beside_one_without_slices_is_not_certain() -> None:
    maker = a_trace().with_process(10).with_slice(0, 0).with_process(11)
    maker.with_kernel("gemm", 0, 10, process=1)

    (row,) = records(kernel_summary(maker.build()).table("kernels"))

    assert (row["percent"], row["low_percent"], row["estimated_total_ns"]) == (100.0, None, None)


def test_collectives_of_slices_say_what_exposed_means() -> None:
    maker = two_slices().with_kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 62, 80)
    maker.with_kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 500, 510)

    result = summarize(maker.build())

    (row,) = records(result.table("collectives"))
    assert (row["op_count"], row["total_ns"]) == (1, 18)
    assert str(result.facts["exposed_collectives"]).startswith("at most")


def test_whole_graphs_beside_single_kernels_are_busy_time_and_no_kernels() -> None:
    maker = a_trace().with_kernel("gemm", 0, 30)
    maker.with_op("graph 7", 40, 100, type="GraphExecution", graph=7)
    maker.with_coverage(50, 1, skipped=49, lost=0, process=0, reason="in graphs")
    trace = maker.build()

    result = summarize(trace)

    assert "sampled" not in result.facts
    assert [row["name"] for row in records(result.table("kernels"))] == ["gemm"]
    (gpu,) = records(result.table("gpus"))
    assert (gpu["busy_ns"], gpu["span_ns"]) == (90, 100)
    shown = [(row["category"], row["percent"]) for row in records(result.table("categories"))]
    assert shown == [("graph", pytest.approx(200 / 3)), ("GEMM", pytest.approx(100 / 3))]
    (low,) = [finding for finding in findings(trace) if finding.id == "low-coverage"]
    assert "kernels and their shares are those outside of graphs" in low.evidence
