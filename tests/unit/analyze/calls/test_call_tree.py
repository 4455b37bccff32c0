"""Which call encloses which, and which operator encloses a launch."""

from __future__ import annotations

from tests.builders import a_trace
from tests.reference.launching_operators import launching_operators
from wavescope.analyze.calls.call_tree import parent_calls


def test_the_parent_is_the_call_that_directly_encloses_on_the_same_thread() -> None:
    trace = (
        a_trace()
        .with_call("hipLaunchKernel", 20, 30)
        .with_call("aten::addmm", 10, 90, category="cpu_op")
        .with_call("aten::linear", 0, 100, category="cpu_op")
        .with_call("other thread", 15, 40, thread=2)
        .with_call("other process", 15, 40, process=1)
        .build()
    )

    assert parent_calls(trace).tolist() == [1, 2, -1, -1, -1]


def test_the_innermost_operator_launches_whatever_lies_between() -> None:
    trace = (
        a_trace()
        .with_call("aten::linear", 0, 100, category="cpu_op")
        .with_call("aten::addmm", 10, 90, category="cpu_op")
        .with_call("blas.py(3): gemm", 15, 80, category="python_function")
        .with_call("hipLaunchKernel", 20, 30, category="cuda_runtime")
        .with_call("hipLaunchKernel", 95, 97, category="cuda_runtime")
        .with_call("hipLaunchKernel", 120, 130, category="cuda_runtime")
        .with_kernel("gemm", 200, 260)
        .with_kernel("bias", 260, 270)
        .with_kernel("outside", 270, 280)
        .with_kernel("unlinked", 280, 290)
        .with_link(4, 1)
        .with_link(5, 2)
        .with_link(6, 3)
        .build()
    )

    assert launching_operators(trace).tolist() == [1, 0, -1, -1]


def test_an_operator_that_ops_are_linked_to_is_their_own() -> None:
    trace = (
        a_trace()
        .with_call("aten::linear", 0, 100, category="cpu_op")
        .with_call("aten::addmm", 10, 90, category="Operator")
        .with_kernel("gemm", 200, 260)
        .with_link(2, 1)
        .build()
    )

    assert launching_operators(trace).tolist() == [1]


def test_a_trace_without_calls_or_links_has_no_operators() -> None:
    bare = a_trace().with_kernel("k", 0, 1).build()
    unlinked = a_trace().with_call("aten::mul", 0, 9, category="cpu_op").with_kernel("k", 0, 1)

    assert launching_operators(bare).tolist() == [-1]
    assert parent_calls(bare).tolist() == []
    assert launching_operators(unlinked.build()).tolist() == [-1]
