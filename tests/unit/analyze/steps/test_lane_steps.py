"""Where steps begin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_trace
from wavescope.analyze.steps.lanes import FEWEST_OPS
from wavescope.analyze.steps.trace_steps import repeated_steps
from wavescope.model.trace import Trace

LAYER = ("norm", "gemm_a", "attention", "gemm_b")


def trace_of(names: Sequence[str], gap_before: dict[str, int] | None = None) -> Trace:
    """Kernels of 100 ns, 10 ns apart unless `gap_before` says otherwise."""
    maker, now = a_trace(), 0
    for name in names:
        now += (gap_before or {}).get(name, 10)
        maker.with_kernel(name, now, now + 100)
        now += 100
    return maker.build()


def firsts(trace: Trace) -> list[int]:
    (steps,) = repeated_steps(trace).of_lane
    return steps.firsts.tolist()


def a_step(layers: int = 4, *more: str) -> list[str]:
    return ["embedding", *(LAYER * layers), *more, "head", "argmax"]


def test_steps_begin_at_the_embedding_and_end_after_sampling() -> None:
    assert firsts(trace_of(a_step() * 5)) == [0, 19, 38, 57, 76, 95]


def test_a_step_with_a_kernel_more_is_one_step() -> None:
    names = [*a_step() * 3, *a_step(4, "extra"), *a_step() * 3]

    trace = trace_of(names)

    assert firsts(trace) == [0, 19, 38, 57, 77, 96, 115, 134]
    (steps,) = repeated_steps(trace).of_lane
    assert steps.repeats.tolist() == [True, True, True, False, True, True, True]


def test_work_between_steps_is_cut_off_where_the_step_ends() -> None:
    decode = ["a", *(["b", "c", "d"] * 4), "e"]
    prefill = ["p", *(["q", "r", "s"] * 4), "t"]

    cuts = firsts(trace_of([*decode * 6, *prefill, *decode * 6], {"a": 9_000, "p": 9_000}))

    assert cuts == [14 * i for i in range(14)]


def test_without_names_the_gap_of_the_host_is_where_steps_begin() -> None:
    step = ["x", *(["y", "z", "w"] * 5), "v"]

    cuts = firsts(trace_of(step * 6, {"v": 50_000}))

    assert cuts == [0, 16, 33, 50, 67, 84, 102]


def test_layers_of_a_single_step_are_no_steps() -> None:
    assert firsts(trace_of(a_step(12))) == [0, 51]


def test_layers_launched_as_one_graph_are_no_steps() -> None:
    maker = a_trace()
    for number in range(60):
        maker.with_kernel(LAYER[number % 4], number * 200, number * 200 + 100, correlation=7)

    assert firsts(maker.build()) == [0, 60]


def test_gaps_that_another_queue_fills_are_no_pauses_of_the_host() -> None:
    maker, now = a_trace(), 0
    for _ in range(6):
        now += 50_000
        for name in ("first", *(["norm", "gemm"] * 4), "last"):
            maker.with_kernel(name, now, now + 1_000)
            now += 1_100
            if name == "gemm":
                maker.with_kernel("ncclDevKernel_AllReduce", now, now + 20_000, queue=1)
                now += 20_100

    assert firsts(maker.build()) == [0, 10, 20, 30, 40, 50, 60]


def test_steps_that_all_differ_are_cut_after_sampling() -> None:
    names = [name for extra in range(4) for name in a_step(3 + extra)]

    assert firsts(trace_of(names)) == [0, 15, 34, 57, 84]


def test_a_trace_without_ops_has_no_steps() -> None:
    assert repeated_steps(a_trace().build()).of_lane == ()


def test_queues_with_little_work_are_no_lanes_of_steps() -> None:
    trace = a_trace().with_kernel("gemm", 0, 1_000).with_kernel("fill", 2_000, 2_010, queue=5)

    (steps,) = repeated_steps(trace.build()).of_lane

    assert steps.lane.queue == 0


def test_a_queue_that_works_while_others_rest_is_a_lane_of_steps() -> None:
    maker = a_trace()
    for op in range(FEWEST_OPS):
        maker.with_kernel("prompt", 100 * op, 100 * op + 50, queue=5)
    maker.with_kernel("gemm", 10_000, 20_000)

    lanes = repeated_steps(maker.build()).of_lane

    assert [steps.lane.queue for steps in lanes] == [0, 5]


def test_a_queue_that_works_beside_another_needs_a_share_of_what_both_do() -> None:
    maker = a_trace().with_kernel("gemm", 0, 4_000)
    for op in range(FEWEST_OPS):
        maker.with_kernel("fill", 100 * op, 100 * op + 50, queue=5)

    (steps,) = repeated_steps(maker.build()).of_lane

    assert steps.lane.queue == 0


def test_busy_time_counts_overlapping_ops_once() -> None:
    trace = (
        a_trace().with_kernel("a", 0, 100).with_kernel("b", 50, 80).with_kernel("c", 90, 130)
    ).build()

    (steps,) = repeated_steps(trace).of_lane

    assert steps.lane.busy_ns.tolist() == [100, 0, 30]
    assert steps.lane.gaps_before(np.array([0, 1, 2])).tolist() == [0, 0, 0]


@given(st.lists(st.sampled_from("abcdefg"), min_size=0, max_size=200), st.integers(0, 5))
def test_cuts_always_cover_the_lane_in_order(names: list[str], gap: int) -> None:
    for steps in repeated_steps(trace_of(names, {"a": 1_000 * gap})).of_lane:
        assert steps.firsts[0] == 0
        assert steps.firsts[-1] == len(names)
        assert (np.diff(steps.firsts) > 0).all()
        assert len(steps.signatures) == len(steps) == len(steps.repeats)


@given(st.integers(1, 9), st.integers(4, 30), st.integers(0, 2))
def test_equal_steps_are_counted_exactly(layers: int, count: int, more: int) -> None:
    step = a_step(layers, *["copy"] * more)

    assert firsts(trace_of(step * count)) == [len(step) * i for i in range(count + 1)]


def test_steps_without_a_kernel_of_their_own_show_in_their_layers() -> None:
    layer = ["norm", "gemm", "sum", "gelu"]
    prefill = ["norm", "large", "gelu"] * 12
    step = [*layer * 12, "norm", "gemm"]

    assert firsts(trace_of([*prefill, *step * 8])) == [0, *(36 + 50 * i for i in range(9))]


def test_a_kernel_once_in_a_token_and_in_every_layer_of_a_prompt_cuts_no_prompt() -> None:
    layer = ["norm", *(f"p{number}" for number in range(9))]
    prompt = [*layer * 3, *layer[:-2]]
    token = ["norm", *(["few", "attend", "add", "up"] * 8)]

    cuts = firsts(trace_of([*prompt * 6, *token * 40]))

    assert cuts == [*(38 * i for i in range(6)), *(228 + 33 * i for i in range(41))]


def test_steps_of_two_kinds_in_turn_end_by_name() -> None:
    odd, even = a_step(4, "left"), a_step(4, "right")

    assert firsts(trace_of([*odd, *even] * 6)) == [20 * i for i in range(13)]


def test_two_processes_on_one_queue_are_two_lanes() -> None:
    maker = a_trace()
    for number, name in enumerate(a_step() * 5):
        for process in (0, 1):
            start = 1_000 * number + 500 * process
            maker.with_kernel(name, start, start + 400, process=process)

    lanes = repeated_steps(maker.build()).of_lane

    assert [(steps.lane.queue, steps.lane.process, len(steps)) for steps in lanes] == [
        (0, 0, 5),
        (0, 1, 5),
    ]
