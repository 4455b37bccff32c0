"""GPU time by operator, module, input shapes and call site, and that it always adds up."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.operators import OperatorOptions, OperatorPart, operators_result
from wavescope.model.result import Result
from wavescope.model.selection import Selection, select
from wavescope.model.trace import Trace

EVERY_PART = OperatorOptions(tuple(OperatorPart))
DIVISION = ("operator_ns", "outside_operator_ns", "graph_replay_ns", "unlinked_ns")


def given_inputs(dims: object, types: list[str], **others: object) -> str:
    return json.dumps({"Input Dims": dims, "Input type": types, **others})


def a_layer() -> TraceMaker:
    """A linear layer with its launch: calls 1 to 6, op 1."""
    return (
        a_trace()
        .with_call("train.py(10): main", 0, 1000, category="python_function")
        .with_call("nn.Module: Net_0", 10, 900, category="python_function")
        .with_call(
            "torch/nn/modules/module.py(1779): _call_impl", 15, 890, category="python_function"
        )
        .with_call("net.py(5): forward", 18, 880, category="python_function")
        .with_call("nn.Module: Linear_3", 20, 800, category="python_function")
        .with_call(
            "aten::linear",
            30,
            700,
            category="cpu_op",
            args=given_inputs([[4, 8], [16, 8]], ["c10::BFloat16", "c10::BFloat16"]),
        )
        .with_call("aten::addmm", 40, 600, category="cpu_op", args=given_inputs([[], []], []))
        .with_call("hipLaunchKernel", 50, 60, category="cuda_runtime")
        .with_kernel("gemm", 2000, 2060)
        .with_link(8, 1)
    )


def rows_of(result: Result, table: str, *columns: str) -> list[tuple[object, ...]]:
    found = result.table(table)
    return [tuple(record[name] for name in columns) for record in found.records()]


def test_an_op_is_told_by_operator_shapes_module_and_site() -> None:
    result = operators_result(a_layer().build(), options=EVERY_PART)

    assert rows_of(result, "operators", "name", "calls", "op_count", "total_ns", "percent") == [
        ("aten::linear", 1, 1, 60, 100.0)
    ]
    # aten::addmm is nearer, but what it was given is not recorded.
    assert rows_of(result, "shapes", "name", "input_dims", "input_types", "total_ns") == [
        ("aten::linear", "4x8, 16x8", "bf16, bf16", 60)
    ]
    assert rows_of(result, "modules", "module", "nested_ns", "total_ns", "calls") == [
        ("Net_0", 60, 0, None),
        ("Net_0 > Linear_3", 60, 60, 1),
    ]
    assert rows_of(result, "module_classes", "module", "nested_ns", "total_ns") == [
        ("Net", 60, 0),
        ("Net > Linear", 60, 60),
    ]
    assert rows_of(result, "sites", "site", "total_ns") == [("net.py(5): forward", 60)]


def test_what_has_no_operator_says_why() -> None:
    maker = (
        a_layer()
        .with_call("hipLaunchKernel", 1100, 1110, category="cuda_runtime")
        .with_call("hipGraphLaunch", 1200, 1210, category="cuda_runtime")
        .with_kernel("lonely", 2100, 2110)
        .with_kernel("replayed", 2200, 2203)
        .with_kernel("unlinked", 2300, 2305)
        .with_link(9, 2)
        .with_link(10, 3)
    )

    result = operators_result(maker.build(), options=EVERY_PART)

    assert [result.facts[name] for name in DIVISION] == [60, 10, 3, 5]
    assert rows_of(result, "operators", "name", "total_ns") == [
        ("aten::linear", 60),
        ("(outside any operator)", 10),
        ("(launch not recorded)", 5),
        ("(graph replay)", 3),
    ]
    assert ("(outside any module)", 10) in rows_of(result, "modules", "module", "total_ns")
    assert ("(outside any Python function)", 10) in rows_of(result, "sites", "site", "total_ns")


def test_unlinked_ops_get_the_operator_of_the_same_kernel_and_are_counted() -> None:
    result = operators_result(a_layer().with_kernel("gemm", 3000, 3007, queue=1).build())

    assert rows_of(result, "operators", "name", "calls", "op_count", "total_ns", "mean_ns") == [
        ("aten::linear", 1, 2, 67, 60.0)
    ]
    assert (result.facts["unlinked_ns"], result.facts["inferred_operator_ns"]) == (7, 7)


def test_a_part_of_a_trace_keeps_what_encloses_its_launches() -> None:
    """All calls around the launch begin before the part that is looked at."""
    part = select(a_layer().with_kernel("later", 2100, 2200).build(), Selection(start="45ns"))

    result = operators_result(part, options=EVERY_PART)

    assert len(part.calls) == 1
    assert ("aten::linear", 60) in rows_of(result, "operators", "name", "total_ns")
    assert ("Net_0 > Linear_3", 60) in rows_of(result, "modules", "module", "total_ns")
    assert ("net.py(5): forward", 60) in rows_of(result, "sites", "site", "total_ns")


def test_only_listed_ops_count() -> None:
    trace = a_layer().with_copy(3000, 3100).build()

    result = operators_result(trace, np.array([0]))

    assert rows_of(result, "operators", "name", "total_ns") == [("aten::linear", 60)]
    assert [result.facts[name] for name in DIVISION] == [60, 0, 0, 0]


def a_backward_pass(maker: TraceMaker, forward_thread: int = 1) -> TraceMaker:
    """The gradient of `a_layer`, on the engine's thread: calls 9 to 11, op 2."""
    numbered = json.dumps({"Sequence number": 7, "Fwd thread id": 1})
    return (
        maker.with_call(
            "autograd::engine::evaluate_function: AddmmBackward0",
            1100,
            1300,
            category="cpu_op",
            thread=2,
            args=numbered,
        )
        .with_call("AddmmBackward0", 1110, 1290, category="cpu_op", thread=2, args=numbered)
        .with_call("hipLaunchKernel", 1120, 1130, category="cuda_runtime", thread=2)
        .with_kernel("gemm_backward", 3000, 3040)
        .with_link(11, 2)
        .with_call(
            "aten::addmm",
            41,
            599,
            category="cpu_op",
            thread=forward_thread,
            args=json.dumps({"Sequence number": 7, "Fwd thread id": 0}),
        )
    )


def test_a_backward_pass_belongs_to_the_module_of_its_forward_call() -> None:
    result = operators_result(a_backward_pass(a_layer()).build(), options=EVERY_PART)

    assert rows_of(result, "operators", "name", "total_ns") == [
        ("aten::linear", 60),
        ("AddmmBackward0", 40),
    ]
    assert rows_of(result, "modules", "module", "total_ns") == [
        ("Net_0", 0),
        ("Net_0 > Linear_3", 100),
    ]
    assert rows_of(result, "sites", "site", "total_ns") == [("net.py(5): forward", 100)]


def test_a_sequence_number_of_several_threads_says_nothing() -> None:
    maker = a_backward_pass(a_backward_pass(a_layer()), forward_thread=5)

    result = operators_result(maker.build(), options=EVERY_PART)

    assert ("(outside any module)", 40) in rows_of(result, "modules", "module", "total_ns")


def test_recorded_hierarchies_and_annotations_stand_in_for_modules() -> None:
    hierarchy = json.dumps({"Module Hierarchy": "top(Net)::forward.head(Linear)::forward"})
    recorded = (
        a_trace()
        .with_call("aten::mm", 0, 100, category="cpu_op", args=hierarchy)
        .with_call("hipLaunchKernel", 10, 20)
        .with_kernel("gemm", 200, 230)
        .with_link(2, 1)
    )
    annotated = (
        a_trace()
        .with_marker("ProfilerStep#3", 0, 1000)
        .with_marker("attention", 5, 900)
        .with_call("aten::mm", 10, 100, category="cpu_op")
        .with_call("hipLaunchKernel", 20, 30)
        .with_kernel("gemm", 200, 230)
        .with_link(2, 1)
    )

    modules = OperatorOptions((OperatorPart.MODULE,))
    assert rows_of(operators_result(recorded.build(), options=modules), "modules", "module") == [
        ("top(Net)",),
        ("top(Net) > head(Linear)",),
    ]
    assert rows_of(operators_result(annotated.build(), options=modules), "modules", "module") == [
        ("attention",)
    ]


def test_the_framework_and_what_it_goes_through_is_no_call_site() -> None:
    maker = a_trace().with_call("train.py(1): main", 0, 1000, category="python_function")
    for depth, frame in enumerate(
        (
            "/usr/lib/python3/dist-packages/models/llama.py(7): forward",
            "torch/nn/modules/linear.py(124): forward",
            "/opt/lib/python3.12/site-packages/torch/_ops.py(9): __call__",
            "/tmp/torchinductor_root/ab/cab.py(33): call",
            "triton/runtime/jit.py(4): run",
            "contextlib.py(78): inner",
            "<built-in method linear of type object at 0x7f>",
        ),
        start=1,
    ):
        maker.with_call(frame, depth, 1000 - depth, category="python_function")
    maker.with_call("aten::linear", 50, 900, category="cpu_op")
    maker.with_call("hipLaunchKernel", 60, 70, category="cuda_runtime")
    maker.with_kernel("gemm", 2000, 2001).with_link(10, 1)

    result = operators_result(maker.build(), options=EVERY_PART)

    assert rows_of(result, "sites", "site", "total_ns") == [("models/llama.py(7): forward", 1)]


def test_a_trace_without_operators_has_no_such_tables() -> None:
    assert operators_result(a_trace().with_kernel("k", 0, 1).build()).tables == []
    only_operators = a_trace().with_call("aten::mul", 0, 9, category="cpu_op").build()

    result = operators_result(only_operators, options=EVERY_PART)

    assert [len(table.rows) for table in result.tables] == [0, 0]
    assert [table.name for table in result.tables] == ["operators", "shapes"]


calls = st.tuples(
    st.sampled_from(
        ("aten::mm", "hipLaunchKernel", "hipGraphLaunch", "nn.Module: A_1", "a.py(1): f")
    ),
    st.sampled_from(("cpu_op", "cuda_runtime", "python_function")),
    st.integers(0, 60),
    st.integers(0, 40),
    st.integers(1, 2),
    st.sampled_from(("", "{", '{"Input Dims": [[2, 3]]}', '{"Sequence number": 1}')),
)
ops = st.tuples(st.sampled_from("ab"), st.integers(0, 90), st.integers(0, 30), st.integers(0, 14))


def any_trace(made_calls: list[tuple], made_ops: list[tuple]) -> Trace:  # type: ignore[type-arg]
    maker = a_trace()
    for name, category, start, length, thread, args in made_calls:
        maker.with_call(name, start, start + length, category=category, thread=thread, args=args)
    for number, (name, start, length, call) in enumerate(made_ops, start=1):
        maker.with_kernel(name, start, start + length)
        if call:
            maker.with_link(call, number)
    return maker.build()


@given(st.lists(calls, min_size=1, max_size=12), st.lists(ops, max_size=10))
def test_every_table_adds_up_to_all_ops(made_calls: list[tuple], made_ops: list[tuple]) -> None:  # type: ignore[type-arg]
    trace = any_trace(made_calls, made_ops)
    total_ns = sum(length for _, _, length, _ in made_ops)

    result = operators_result(trace, options=EVERY_PART)

    if result.tables:
        assert sum(int(result.facts[name] or 0) for name in DIVISION) == total_ns
    for table in result.tables:
        assert sum(int(value or 0) for value in table.column("total_ns")) == total_ns
        assert sum(int(value or 0) for value in table.column("op_count")) == len(made_ops)
