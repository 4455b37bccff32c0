"""Ops of graph replays get the operators under which their graph was captured, or none."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.operators import OperatorOptions, OperatorPart, operators_result
from wavescope.analyze.operators.graph_alignment import aligned, aligned_without_names
from wavescope.model.columns import OPS
from wavescope.model.result import Result
from wavescope.model.trace import Trace

EVERY_PART = tuple(OperatorPart)
LAYER = (("aten::mm", "gemm"), ("aten::relu", "relu"))


@pytest.mark.parametrize(
    ("name", "captured", "replayed", "queues", "expected"),
    [
        ("equal", "abc", "abc", "000", [0, 1, 2]),
        ("the end is cut off", "ab" * 20, "ab" * 19 + "a", "0" * 39, list(range(39))),
        ("one is lost", "ab" * 9 + "cab", "ab" * 10, "0" * 20, [*range(18), 19, 20]),
        ("too many are lost", "abcd", "ab", "00", [-1, -1]),
        ("another kernel", "abc", "abd", "000", [-1, -1, -1]),
        ("more than was captured", "ab", "abb", "000", [-1, -1, -1]),
        ("another order on one queue", "abc", "acb", "000", [-1, -1, -1]),
        ("queues overtake each other", "abab", "aabb", "0011", [0, 2, 1, 3]),
        ("queues take turns", "abab", "baab", "1001", [1, 0, 2, 3]),
        ("names on two queues are not certain", "abab", "baab", "1010", [-1, -1, -1, -1]),
    ],
)
def test_named_launches_are_aligned(
    name: str, captured: str, replayed: str, queues: str, expected: list[int]
) -> None:
    places = aligned(list(captured), list(replayed), [int(queue) for queue in queues])

    assert places.tolist() == expected, name


@pytest.mark.parametrize(
    ("name", "captured", "replayed", "origins", "expected"),
    [
        ("repeated operators agree", ["", ""] * 2, list("abab"), list("xyxy"), [0, 1, 2, 3]),
        ("one operator with two kernels", ["", ""] * 2, list("abba"), list("xyxy"), [-1] * 4),
        ("nothing repeats", [""] * 4, list("abcd"), list("wxyz"), [-1] * 4),
        ("another number of launches", [""] * 3, list("abab"), list("xyx"), [-1] * 4),
        (
            "a fill elsewhere",
            ["", "Memset", "", "Memset"],
            ["a", "Memset", "Memset", "a"],
            list("xyxy"),
            [-1] * 4,
        ),
        (
            "a kernel in place of a copy",
            ["", "Memcpy", "", "Memcpy"],
            ["a", "b", "a", "b"],
            list("xyxy"),
            [-1] * 4,
        ),
    ],
)
def test_nameless_launches_need_operators_that_repeat(
    name: str, captured: list[str], replayed: list[str], origins: list[str], expected: list[int]
) -> None:
    assert aligned_without_names(captured, replayed, origins).tolist() == expected, name


def with_capture(
    maker: TraceMaker,
    launches: Sequence[tuple[str, str]],
    *,
    start: int = 0,
    size: int = 8,
    names_kernels: bool = True,
) -> TraceMaker:
    """A capture of operators, each launching one kernel; a call begins and one ends it."""
    maker.with_call("hipStreamBeginCapture", start, start + 1, category="cuda_runtime")
    for place, (operator, kernel) in enumerate(launches, start=1):
        at = start + 10 * place
        given = json.dumps({"Input Dims": [[size, size]], "Input type": ["float"]})
        maker.with_call(operator, at, at + 9, category="cpu_op", args=given)
        launch = json.dumps({"kernel": kernel} if names_kernels else {"cbid": 211})
        maker.with_call("hipLaunchKernel", at + 2, at + 3, category="cuda_runtime", args=launch)
    end = start + 10 * (len(launches) + 1)
    return maker.with_call("hipStreamEndCapture", end, end + 1, category="cuda_runtime")


def with_replay(
    maker: TraceMaker,
    kernels: Sequence[str],
    call: int,
    start: int,
    nodes: Sequence[int] | None = None,
) -> TraceMaker:
    """A graph launch, which is the `call`-th call, and its kernels of 7 ns each."""
    maker.with_call("hipGraphLaunch", start, start + 1, category="cuda_runtime")
    first = maker.builder.row_count(OPS)
    for place, kernel in enumerate(kernels):
        node = {} if nodes is None else {"graph": 4, "graph_node": nodes[place]}
        maker.with_kernel(kernel, start + 10 * place, start + 10 * place + 7, **node)
        maker.with_link(call, first + place + 1)
    return maker


def by(result: Result, table: str, *columns: str) -> set[tuple[object, ...]]:
    return {tuple(row[name] for name in columns) for row in result.table(table).records()}


def joined(trace: Trace, *captures: Trace) -> Result:
    return operators_result(trace, options=OperatorOptions(EVERY_PART, captures))


def test_replays_in_the_trace_of_the_capture_are_joined() -> None:
    maker = with_capture(a_trace(), LAYER)
    for number in range(3):
        with_replay(maker, ("gemm", "relu"), call=7 + number, start=1000 * (number + 1))

    result = joined(maker.build())

    assert by(result, "operators", "name", "calls", "op_count", "total_ns", "mean_ns") == {
        ("aten::mm", 3, 3, 21, 7.0),
        ("aten::relu", 3, 3, 21, 7.0),
    }
    assert by(result, "shapes", "name", "input_dims") == {
        ("aten::mm", "8x8"),
        ("aten::relu", "8x8"),
    }
    assert (result.facts["joined_graph_replay_ns"], result.facts["graph_replay_ns"]) == (42, 0)


def test_replays_are_joined_to_a_capture_of_another_trace() -> None:
    capture = with_capture(a_trace(), LAYER).build()
    replay = with_replay(a_trace(), ("gemm", "relu"), call=1, start=50).build()

    assert by(joined(replay, capture), "operators", "name", "total_ns") == {
        ("aten::mm", 7),
        ("aten::relu", 7),
    }
    assert joined(replay).tables == []


def test_other_kernels_than_were_captured_stay_unknown() -> None:
    capture = with_capture(a_trace(), LAYER).build()
    replay = with_replay(a_trace(), ("gemm", "gelu"), call=1, start=50).build()

    result = joined(replay, capture)

    assert by(result, "operators", "name", "total_ns") == {("(graph replay)", 14)}
    assert (result.facts["joined_graph_replay_ns"], result.facts["graph_replay_ns"]) == (0, 14)


def test_a_capture_after_the_replay_is_not_its_own() -> None:
    maker = with_replay(a_trace(), ("gemm", "relu"), call=1, start=0)
    with_capture(maker, LAYER, start=1000)

    assert by(joined(maker.build()), "operators", "name") == {("(graph replay)",)}


def test_of_several_captures_that_fit_what_they_agree_on_counts() -> None:
    captures = [with_capture(a_trace(), LAYER, size=size).build() for size in (8, 16)]
    replay = with_replay(a_trace(), ("gemm", "relu"), call=1, start=50).build()

    result = joined(replay, *captures)

    assert by(result, "operators", "name", "total_ns") == {("aten::mm", 7), ("aten::relu", 7)}
    assert by(result, "shapes", "name", "input_dims", "total_ns") == {
        ("(several captures fit)", None, 14)
    }


def test_launches_without_names_are_joined_when_operators_repeat() -> None:
    capture = with_capture(a_trace(), LAYER * 2, names_kernels=False).build()
    kernels = ("gemm", "relu", "gemm", "relu")
    replay = with_replay(a_trace(), kernels, call=1, start=50).build()
    other = with_replay(a_trace(), ("gemm", "relu", "relu", "gemm"), call=1, start=50).build()

    assert by(joined(replay, capture), "operators", "name", "total_ns") == {
        ("aten::mm", 14),
        ("aten::relu", 14),
    }
    assert by(joined(other, capture), "operators", "name") == {("(graph replay)",)}


def test_a_trace_that_began_during_the_capture_is_one_too() -> None:
    begun = a_trace()
    for place, (operator, kernel) in enumerate(LAYER):
        begun.with_call(operator, 10 * place, 10 * place + 9, category="cpu_op")
        args = json.dumps({"kernel": kernel})
        begun.with_call("hipModuleLaunchKernel", 10 * place + 1, 10 * place + 2, args=args)
    replay = with_replay(a_trace(), ("gemm", "relu"), call=1, start=50).build()

    assert by(joined(replay, begun.build()), "operators", "name", "total_ns") == {
        ("aten::mm", 7),
        ("aten::relu", 7),
    }


def test_graph_nodes_join_what_order_cannot() -> None:
    """The replay has another order, and one kernel under the node of another."""
    layers = (("aten::mm", "gemm"), ("aten::relu", "relu"), ("aten::sum", "sum"))
    capture = with_capture(a_trace(), layers)
    with_replay(capture, ("gemm", "relu", "sum"), call=9, start=1000, nodes=(11, 12, 13))
    replay = with_replay(a_trace(), ("sum", "gemm", "relu"), call=1, start=50, nodes=(13, 12, 12))

    result = joined(replay.build(), capture.build())

    assert by(result, "operators", "name", "total_ns") == {
        ("aten::sum", 7),
        ("(graph replay)", 7),
        ("aten::relu", 7),
    }
