"""GPU time by the stack that launched it, compared with a recursion over every op."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import TraceMaker, a_trace
from tests.sampled_runs import simulated_run
from tests.unit.analyze.flame.flame_paths import Path, by_path
from wavescope.analyze.calls.call_tree import parent_calls
from wavescope.analyze.flame import FlameOptions, FlameTree, StackTime, flame_result, flame_tree
from wavescope.analyze.summary import KernelSummaryOptions, OpChoice, kernel_summary
from wavescope.model.selection import Selection
from wavescope.model.trace import Trace


def selves(tree: FlameTree) -> dict[Path, int]:
    """The paths with time of their own."""
    return {path: own for path, (_, own, _) in by_path(tree).items() if own}


def a_layer() -> TraceMaker:
    """A linear layer with its launch: calls 1 to 4, op 1."""
    return (
        a_trace()
        .with_call("/usr/lib/site-packages/net/a.py(5): forward", 0, 900, category=PYTHON)
        .with_call("nn.Module: Linear_3", 20, 800, category=PYTHON)
        .with_call("aten::linear", 30, 700, category="cpu_op", args=numbered(7))
        .with_call("hipLaunchKernel", 50, 60, category="cuda_runtime")
        .with_kernel("gemm", 2000, 2060)
        .with_link(4, 1)
    )


PYTHON = "python_function"


def numbered(number: int, **others: int) -> str:
    return json.dumps({"Sequence number": number, **others})


def test_an_op_lies_in_python_module_operator_and_launch() -> None:
    found = by_path(flame_tree(a_layer().build()))

    forward, module = "net/a.py(5): forward", "nn.Module: Linear_3"
    assert found == {
        (): (60, 0, 1),
        (forward,): (60, 0, 1),
        (forward, module): (60, 0, 1),
        (forward, module, "aten::linear"): (60, 0, 1),
        (forward, module, "aten::linear", "hipLaunchKernel"): (60, 0, 1),
        (forward, module, "aten::linear", "hipLaunchKernel", "gemm"): (60, 60, 1),
    }


def test_equal_paths_of_different_calls_are_one() -> None:
    maker = a_trace()
    for number in range(3):
        maker.with_call("aten::mm", 100 * number, 100 * number + 50, category="cpu_op")
        maker.with_call("hipLaunchKernel", 100 * number + 10, 100 * number + 20, thread=1)
        maker.with_kernel("gemm", 1000 * number, 1000 * number + 5 + number)
        maker.with_link(2 * number + 2, number + 1)

    assert by_path(flame_tree(maker.build()))["aten::mm", "hipLaunchKernel", "gemm"] == (18, 18, 3)


def test_ops_without_a_launch_are_under_one_name() -> None:
    trace = a_layer().with_kernel("lost", 3000, 3010).with_copy(4000, 4003).build()

    result = flame_result(trace)

    assert result.facts["launch_not_recorded_ns"] == 13
    assert result.facts["total_ns"] == 73
    found = selves(flame_tree(trace))
    assert found["(launch not recorded)", "lost"] == 10
    assert found["(launch not recorded)", "CopyHostToDevice"] == 3


def a_backward_pass(maker: TraceMaker, forward_number: int = 7) -> TraceMaker:
    """The gradient of `a_layer` on the engine's thread: calls 5 to 6, op 2."""
    engine = "autograd::engine::evaluate_function: AddmmBackward0"
    number = numbered(forward_number, **{"Fwd thread id": 1})
    return (
        maker.with_call(engine, 1100, 1300, category="cpu_op", thread=2, args=number)
        .with_call("hipLaunchKernel", 1120, 1130, category="cuda_runtime", thread=2)
        .with_kernel("gemm_backward", 3000, 3040)
        .with_link(6, 2)
    )


def test_a_backward_pass_lies_in_what_its_forward_operator_lies_in() -> None:
    engine = "autograd::engine::evaluate_function: AddmmBackward0"
    found = selves(flame_tree(a_backward_pass(a_layer()).build()))

    around = ("net/a.py(5): forward", "nn.Module: Linear_3")
    assert found[(*around, engine, "hipLaunchKernel", "gemm_backward")] == 40
    unknown = selves(flame_tree(a_backward_pass(a_layer(), forward_number=8).build()))
    assert unknown[engine, "hipLaunchKernel", "gemm_backward"] == 40


def test_a_backward_pass_that_claims_to_lie_in_itself_is_no_loop() -> None:
    maker = a_backward_pass(a_layer(), forward_number=3)
    maker.with_call("aten::mm", 1110, 1200, category="cpu_op", thread=2, args=numbered(3))

    engine = "autograd::engine::evaluate_function: AddmmBackward0"
    around = (engine, "aten::mm", "hipLaunchKernel")
    assert selves(flame_tree(maker.build()))[(*around, "gemm_backward")] == 40


def test_recorded_modules_are_around_the_operators() -> None:
    hierarchy = json.dumps({"Module Hierarchy": "top(Net)::forward.head(Linear)::forward"})
    trace = (
        a_trace()
        .with_call("aten::mm", 0, 100, category="cpu_op", args=hierarchy)
        .with_call("hipLaunchKernel", 10, 20)
        .with_call("hipLaunchKernel", 110, 120)
        .with_kernel("gemm", 200, 230)
        .with_kernel("gemm", 300, 301)
        .with_link(2, 1)
        .with_link(3, 2)
        .build()
    )

    assert selves(flame_tree(trace)) == {
        ("top(Net)", "head(Linear)", "aten::mm", "hipLaunchKernel", "gemm"): 30,
        ("hipLaunchKernel", "gemm"): 1,
    }


def a_captured_graph(*operators: str) -> TraceMaker:
    """For each operator a capture of one `gemm`, and then a replay of it."""
    maker = a_trace()
    launch = json.dumps({"kernel": "gemm"})
    for number, operator in enumerate(operators):
        at = 100 * number
        maker.with_call("hipStreamBeginCapture", at, at + 1, category="cuda_runtime")
        maker.with_call(operator, at + 10, at + 19, category="cpu_op")
        maker.with_call("hipLaunchKernel", at + 12, at + 13, category="cuda_runtime", args=launch)
        maker.with_call("hipStreamEndCapture", at + 30, at + 31, category="cuda_runtime")
    maker.with_call("hipGraphLaunch", 1000, 1001, category="cuda_runtime")
    return maker.with_kernel("gemm", 1005, 1012).with_link(4 * len(operators) + 1, 1)


def test_a_replay_has_the_stack_with_which_it_was_captured() -> None:
    joined = selves(flame_tree(a_captured_graph("aten::mm").build()))
    several = selves(flame_tree(a_captured_graph("aten::mm", "aten::bmm").build()))
    alone = a_captured_graph().build()

    assert joined == {("aten::mm", "hipLaunchKernel", "gemm"): 7}
    assert several == {("(several captures fit)", "gemm"): 7}
    assert selves(flame_tree(alone)) == {("hipGraphLaunch", "gemm"): 7}
    elsewhere = a_captured_graph("aten::mm").build()
    assert selves(flame_tree(alone, captures=[elsewhere])) == joined


def test_what_is_no_work_or_is_there_twice_does_not_count() -> None:
    trace = (
        a_layer()
        .with_op("barrier", 0, 500, type="Barrier")
        .with_op("graph 4", 5000, 5100, type="GraphExecution", graph=4)
        .with_kernel("node", 5010, 5030, graph=4)
        .build()
    )

    listed = kernel_summary(trace, KernelSummaryOptions(ops=OpChoice.ALL))

    assert listed.facts["gpu_time_ns"] == flame_tree(trace).total_ns[0] == 80


def test_a_sampled_trace_says_so_and_counts_what_was_seen() -> None:
    trace = simulated_run(1, blocks=20).trace

    result = flame_result(trace)

    assert "slices of time only" in str(result.facts["sampled"])
    listed = kernel_summary(trace, KernelSummaryOptions(ops=OpChoice.ALL))
    assert result.facts["total_ns"] == listed.facts["gpu_time_ns"]


def test_of_a_window_the_ops_that_begin_inside_count_whole() -> None:
    trace = a_layer().with_kernel("late", 3000, 3100).with_link(4, 2).build()

    around = ("net/a.py(5): forward", "nn.Module: Linear_3", "aten::linear", "hipLaunchKernel")
    # The launches began before the window.
    assert selves(flame_tree(trace, selection=Selection(start="3000"))) == {(*around, "late"): 100}
    assert selves(flame_tree(trace, selection=Selection(end="2001"))) == {(*around, "gemm"): 60}
    assert selves(flame_tree(trace, selection=Selection(kernel="late"))) == {(*around, "late"): 100}


def test_a_trace_without_ops_has_an_empty_tree() -> None:
    assert by_path(flame_tree(a_trace().build())) == {(): (0, 0, 0)}


calls = st.tuples(
    st.sampled_from(("aten::mm", "aten::add", "hipLaunchKernel", "a.py(1): f")),
    st.integers(0, 60),
    st.integers(0, 40),
    st.integers(1, 2),
)
ops = st.tuples(st.sampled_from("ab"), st.integers(0, 90), st.integers(0, 30), st.integers(0, 14))


def naive_gpu(trace: Trace, links: dict[int, int]) -> Counter[Path]:
    """Each op on its own: up from its launch, call by call."""
    parent, names = parent_calls(trace).tolist(), trace.calls.strings("name")
    found: Counter[Path] = Counter()
    durations = trace.ops.duration_ns.tolist()
    for row, (name, duration) in enumerate(zip(trace.ops.strings("name"), durations, strict=True)):
        path: Path = (name,)
        call = links.get(row, -1)
        if call < 0:
            path = ("(launch not recorded)", *path)
        while call >= 0:
            path = (names[call], *path)
            call = parent[call]
        found[path] += duration
    return found


@settings(max_examples=60)
@given(st.lists(calls, max_size=12), st.lists(ops, max_size=10))
def test_the_tree_is_what_a_recursion_over_every_op_finds(
    made_calls: list[tuple[str, int, int, int]], made_ops: list[tuple[str, int, int, int]]
) -> None:
    maker, links = a_trace(), {}
    for name, start, length, thread in made_calls:
        maker.with_call(name, start, start + length, thread=thread)
    for row, (name, start, length, call) in enumerate(made_ops):
        maker.with_kernel(name, start, start + length)
        if 0 < call <= len(made_calls):
            maker.with_link(call, row + 1)
            links[row] = call - 1
    trace = maker.build()
    tree = flame_tree(trace, StackTime.GPU)

    assert selves(tree) == {path: own for path, own in naive_gpu(trace, links).items() if own}
    assert tree.total_ns[0] == sum(length for _, _, length, _ in made_ops)
    assert tree.count[0] == len(made_ops)
    below = np.zeros(len(tree), np.int64)
    np.add.at(below, tree.parent[1:], tree.total_ns[1:])
    assert (below + np.array(tree.self_ns)).tolist() == list(tree.total_ns)


def test_names_that_only_pass_time_on_can_stand_in_one_row() -> None:
    maker = a_layer().with_kernel("lost", 3000, 3100)
    maker.with_call("aten::add", 710, 720, category="cpu_op").with_kernel("add", 5000, 5005)
    trace = maker.with_link(5, 3).build()

    rows = flame_result(trace, FlameOptions(joined=True)).table("flame").rows

    assert [(row[0], row[1], row[2], row[4]) for row in rows] == [
        (0, "all", 165, 0),
        (1, "(launch not recorded) > lost", 100, 100),
        (1, "net/a.py(5): forward > nn.Module: Linear_3", 65, 0),
        (2, "aten::linear > hipLaunchKernel > gemm", 60, 60),
        (2, "aten::add > add", 5, 5),
    ]
    alone = flame_result(a_layer().build(), FlameOptions(joined=True)).table("flame").rows
    assert [row[1] for row in alone] == ["all", "net/a.py(5): forward > (3 more) > gemm"]


def test_modules_of_a_kind_can_be_together() -> None:
    maker = a_trace()
    for number in range(2):
        at = 100 * number
        maker.with_call(f"nn.Module: Block_{number}", at, at + 50, category=PYTHON)
        maker.with_call(f"user_{number}", at + 5, at + 40, category=PYTHON)
        maker.with_call("hipLaunchKernel", at + 10, at + 20)
        maker.with_kernel("gemm", 1000 + at, 1010 + at).with_link(3 * number + 3, number + 1)
    trace = maker.build()

    found = flame_result(trace, FlameOptions(by_kind=True, depth=2)).table("flame").rows
    assert [row[:3] for row in found] == [
        (0, "all", 20),
        (1, "nn.Module: Block", 20),
        (2, "user_0", 10),
        (2, "user_1", 10),
    ]
    host = flame_tree(trace, StackTime.HOST, by_kind=True)
    assert ("process #0", "thread 1", "nn.Module: Block") in by_path(host)
    assert ("nn.Module: Block_1",) in by_path(flame_tree(trace))


def test_options_keep_the_heaviest_paths_and_their_parents() -> None:
    trace = a_layer().with_kernel("lost", 3000, 3100).with_kernel("more", 4000, 4001).build()

    heaviest = flame_result(trace, FlameOptions(most=3)).table("flame")
    shallow = flame_result(trace, FlameOptions(depth=1)).table("flame")

    assert [row[:3] for row in heaviest.rows] == [
        (0, "all", 161),
        (1, "(launch not recorded)", 101),
        (2, "lost", 100),
    ]
    assert heaviest.total_rows == 9
    assert [row[:3] for row in shallow.rows] == [
        (0, "all", 161),
        (1, "(launch not recorded)", 101),
        (1, "net/a.py(5): forward", 60),
    ]
