"""Which operator launched each op: by the call around its launch, else by what others show."""

from __future__ import annotations

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.compare.figures import Figures, TraceFigures


def by_operator(maker: TraceMaker) -> dict[str, Figures] | None:
    return TraceFigures(maker.build()).by_operator


def test_the_outermost_operator_counts() -> None:
    maker = (
        a_trace()
        .with_call("aten::linear", 0, 100, category="cpu_op")
        .with_call("aten::addmm", 10, 90, category="cpu_op")
        .with_call("hipLaunchKernel", 20, 30, category="cuda_runtime")
        .with_kernel("gemm", 200, 260)
        .with_link(3, 1)
    )

    assert by_operator(maker) == {"aten::linear": Figures(1, 60)}


def test_wrappers_hold_operators_and_are_none() -> None:
    maker = (
        a_trace()
        .with_call("Torch-Compiled Region: 0/0", 0, 100, category="cpu_op")
        .with_call("aten::mul", 10, 90, category="cpu_op")
        .with_call("hipLaunchKernel", 20, 30)
        .with_kernel("mul", 200, 260)
        .with_link(3, 1)
    )

    assert by_operator(maker) == {"aten::mul": Figures(1, 60)}


def test_a_thread_or_process_of_its_own_has_its_own_operators() -> None:
    maker = (
        a_trace()
        .with_call("aten::mul", 0, 100, category="cpu_op", thread=1)
        .with_call("aten::add", 0, 100, category="cpu_op", thread=2)
        .with_call("aten::neg", 0, 100, category="cpu_op", thread=2, process=1)
        .with_call("hipLaunchKernel", 20, 30, thread=2)
        .with_call("hipLaunchKernel", 20, 30, thread=2, process=1)
        .with_call("hipLaunchKernel", 20, 30, thread=3)
        .with_kernel("one", 200, 201)
        .with_kernel("two", 202, 204)
        .with_kernel("gemm_three", 205, 209)
        .with_link(4, 1)
        .with_link(5, 2)
        .with_link(6, 3)
    )

    assert by_operator(maker) == {
        "aten::add": Figures(1, 1),
        "aten::neg": Figures(1, 2),
        "(GEMM, no operator)": Figures(1, 4),
    }


def test_the_end_of_an_operator_is_outside_of_it() -> None:
    maker = (
        a_trace()
        .with_call("aten::mul", 0, 100, category="cpu_op")
        .with_call("hipLaunchKernel", 100, 110)
        .with_kernel("gemm", 200, 201)
        .with_link(2, 1)
    )

    assert by_operator(maker) == {"(GEMM, no operator)": Figures(1, 1)}


def test_an_op_without_a_launch_gets_the_operator_of_the_same_neighbours() -> None:
    """copy is launched by two operators: only its neighbours tell which."""
    maker = a_trace()
    for index, (operator, kernel) in enumerate(
        (("aten::mul", "mul"), ("aten::to", "copy"), ("aten::add", "add"), ("aten::cat", "copy"))
    ):
        maker.with_call(operator, 100 * index, 100 * index + 90, category="cpu_op")
        maker.with_call("hipLaunchKernel", 100 * index + 10, 100 * index + 20)
        maker.with_kernel(kernel, 1000 + 10 * index, 1005 + 10 * index)
        maker.with_link(2 * index + 2, index + 1)
    for index, kernel in enumerate(("mul", "copy", "add")):
        maker.with_kernel(kernel, 10 * index, 10 * index + 1)

    figures = TraceFigures(maker.build())

    assert figures.by_operator == {
        "aten::mul": Figures(2, 6),
        "aten::to": Figures(2, 6),
        "aten::add": Figures(2, 6),
        "aten::cat": Figures(1, 5),
    }
    assert figures.operators is not None
    assert (figures.operators.linked_count, figures.operators.inferred_count) == (4, 3)


def test_what_several_operators_launched_stays_unknown() -> None:
    maker = a_trace()
    for index, operator in enumerate(("aten::to", "aten::cat")):
        maker.with_call(operator, 100 * index, 100 * index + 90, category="cpu_op")
        maker.with_call("hipLaunchKernel", 100 * index + 10, 100 * index + 20)
        maker.with_kernel("direct_copy", 1000 + 10 * index, 1005 + 10 * index)
        maker.with_link(2 * index + 2, index + 1)
    maker.with_kernel("direct_copy", 0, 1, queue=1)

    found = by_operator(maker)

    assert found is not None
    assert found["(copy/fill, no operator)"] == Figures(1, 1)


def test_traces_without_operators_or_links_have_none() -> None:
    assert by_operator(a_trace().with_kernel("k", 0, 1)) is None
    only_runtime = a_trace().with_call("hipLaunchKernel", 0, 1).with_kernel("k", 0, 1)
    assert by_operator(only_runtime.with_link(1, 1)) is None
