"""What a graph replays is the work of the operators under which it was captured."""

from __future__ import annotations

from tests.unit.analyze.work.graph_traces import GEMM, captured, product, replayed
from tests.unit.analyze.work.traces import MI300X, US, OperatorTrace
from wavescope.analyze.findings import findings_result
from wavescope.analyze.work import work_result
from wavescope.model.result import Result
from wavescope.model.selection import Selection, select
from wavescope.model.trace import Trace


def figures(result: Result) -> set[tuple[object, ...]]:
    names = ("operator", "calls", "gpu_time_ns", "flops", "bytes")
    return {tuple(row[name] for name in names) for row in result.table("work").records()}


# A product of 4,096: 2 * 4096^3 FLOP, three matrices of 2 bytes; the activation reads and writes one
def expected(replays: int) -> set[tuple[object, ...]]:
    square = 4096**2
    return {
        ("aten::mm", replays, replays * 200 * US, replays * 2 * 4096**3, replays * 6 * square),
        ("aten::silu", replays, replays * 50 * US, replays * square, replays * 4 * square),
    }


def test_each_replay_of_a_capture_in_the_trace_does_the_captured_work() -> None:
    trace = replayed(captured(OperatorTrace(**MI300X)), 3).maker.build()

    result = work_result(trace)

    assert figures(result) == expected(3)
    facts = result.facts
    assert (facts["replayed_ns"], facts["joined_graph_replay_ns"]) == (750 * US, 750 * US)
    assert facts["modelled_time_ns"] == facts["kernel_time_ns"] == 750 * US


def test_captures_of_other_traces_tell_the_work_too() -> None:
    capture = captured(OperatorTrace()).maker.build()
    trace = replayed(OperatorTrace(**MI300X), 2).maker.build()

    assert figures(work_result(trace, captures=[capture])) == expected(2)
    alone = work_result(trace)
    assert alone.table("work").rows == []
    assert (alone.facts["replayed_ns"], alone.facts["joined_graph_replay_ns"]) == (500 * US, 0)


def test_captures_that_differ_in_sizes_tell_none() -> None:
    captures = [captured(OperatorTrace(), size).maker.build() for size in (4096, 2048)]
    trace = replayed(OperatorTrace(**MI300X), 1).maker.build()

    assert work_result(trace, captures=captures).table("work").rows == []


def test_eager_calls_and_replays_of_the_same_work_are_one_use() -> None:
    made = captured(OperatorTrace(**MI300X))
    made.host_ns += 100 * US
    made.operator("aten::mm", *product(4096), kernels={GEMM: 200 * US})
    trace = replayed(made, 1).maker.build()

    (row,) = (r for r in work_result(trace).table("work").records() if r["operator"] == "aten::mm")

    assert (row["calls"], row["gpu_time_ns"], row["flops"]) == (2, 400 * US, 4 * 4096**3)


def test_a_part_of_a_replay_keeps_its_operators() -> None:
    trace = replayed(captured(OperatorTrace(**MI300X)), 3).maker.build()

    part: Trace = select(trace, Selection(kernel="^silu$"))

    assert figures(work_result(part)) == {row for row in expected(3) if row[0] == "aten::silu"}


def test_findings_know_the_work_of_replays() -> None:
    trace = replayed(captured(OperatorTrace(**MI300X)), 60).maker.build()

    found = findings_result(trace, only=["above-roofline"]).findings

    # 2 * 4096^3 FLOP take 105.1 us of 200 us at 1,307.4 TFLOP/s, 4 * 4096^2 bytes 12.6 us of 50 us
    assert {(f.numbers["operator"], f.numbers["above_roofline_ns"]) for f in found} == {
        ("aten::mm", 5_692_568),  # 60 * (200,000 - 105,123.874)
        ("aten::silu", 2_243_815),  # 60 * (50,000 - 12,603.08)
    }
