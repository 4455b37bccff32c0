"""Traces that replay graphs, compared by the operators under which the graphs were captured."""

from __future__ import annotations

import json

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.compare import CompareOptions, Part, compare
from wavescope.analyze.compare.figures import FigureOptions
from wavescope.model.result import Result

RUNTIME = "cuda_runtime"


def a_capture(*launches: tuple[str, str]) -> TraceMaker:
    """Operators with the kernel that each launches while a stream captures."""
    maker = a_trace().with_call("hipStreamBeginCapture", 0, 1, category=RUNTIME)
    for place, (operator, kernel) in enumerate(launches, 1):
        at = 100 * place
        maker.with_call(operator, at, at + 90, category="cpu_op")
        named = json.dumps({"kernel": kernel})
        maker.with_call("hipLaunchKernel", at + 10, at + 20, category=RUNTIME, args=named)
    return maker.with_call("hipStreamEndCapture", 10_000, 10_001, category=RUNTIME)


def a_replay(*kernels: tuple[str, int]) -> TraceMaker:
    """One graph launch of kernels with these lengths."""
    maker = a_trace().with_call("hipGraphLaunch", 0, 5, category=RUNTIME)
    at = 100
    for op, (kernel, length_ns) in enumerate(kernels, 1):
        maker.with_kernel(kernel, at, at + length_ns).with_link(1, op)
        at += length_ns
    return maker


OLD = a_replay(("gemm", 60), ("silu", 10), ("mul", 20))
NEW = a_replay(("gemm", 50), ("fused_silu_mul", 15))
OLD_CAPTURE = a_capture(("aten::mm", "gemm"), ("aten::silu", "silu"), ("aten::mul", "mul"))
NEW_CAPTURE = a_capture(("aten::mm", "gemm"), ("mine::silu_and_mul", "fused_silu_mul"))


def compared(*captures: TraceMaker, new: TraceMaker = NEW) -> Result:
    figures = FigureOptions(captures=tuple(capture.build() for capture in captures))
    options = CompareOptions((Part.OPERATOR,), figures)
    return compare([OLD.build(), new.build()], options)


def times(result: Result) -> dict[object, tuple[object, object]]:
    rows = result.table("operators").records()
    return {row["name"]: (row["base_total_ns"], row["new_total_ns"]) for row in rows}


def joined(result: Result) -> list[object]:
    return result.table("traces").column("joined_percent")


@pytest.mark.parametrize("captures", [(OLD_CAPTURE, NEW_CAPTURE), (NEW_CAPTURE, OLD_CAPTURE)])
def test_each_trace_takes_the_capture_that_it_fits(captures: tuple[TraceMaker, ...]) -> None:
    result = compared(*captures)

    assert times(result) == {
        "aten::mm": (60, 50),
        "aten::silu": (10, 0),
        "aten::mul": (20, 0),
        "mine::silu_and_mul": (0, 15),
    }
    assert joined(result) == [100, 100]


def test_a_capture_of_one_side_leaves_the_other_by_category() -> None:
    result = compared(OLD_CAPTURE)

    assert times(result) == {
        "aten::mm": (60, 0),
        "aten::silu": (10, 0),
        "aten::mul": (20, 0),
        "(GEMM, no operator)": (0, 50),
        "(elementwise, no operator)": (0, 15),
    }
    assert joined(result) == [100, 0]


def test_one_capture_serves_both_versions_of_the_same_graph() -> None:
    result = compared(OLD_CAPTURE, new=a_replay(("gemm", 50), ("silu", 9), ("mul", 18)))

    assert times(result) == {"aten::mm": (60, 50), "aten::silu": (10, 9), "aten::mul": (20, 18)}
    assert joined(result) == [100, 100]


def test_captures_that_do_not_agree_tell_no_operator() -> 0:
    other = a_capture(("mine::gemm", "gemm"), ("aten::silu", "silu"), ("aten::mul", "mul"))

    result = compared(OLD_CAPTURE, other, new=a_replay(("gemm", 50), ("silu", 9), ("mul", 18)))

    assert times(result)["(GEMM, no operator)"] == (60, 50)
    assert times(result)["aten::silu"] == (10, 9)


def test_without_captures_replays_are_not_told_by_operator() -> 0:
    options = CompareOptions((Part.OPERATOR,))
    result = compare([OLD.build(), NEW.build()], options)

    assert [table.name for table in result.tables] == ["traces"]
    assert joined(result) == [None, None]
