"""How long steps take, and which are warm-up or outliers."""

from __future__ import annotations

import numpy as np

from tests.builders import a_trace
from wavescope.analyze.steps.step_times import LaneStepTimes, StepKindTimes
from wavescope.analyze.steps.trace_steps import repeated_steps
from wavescope.arrays.groups import nearest_rank
from wavescope.model.trace import Trace

STEP = ("embedding", "norm", "gemm", "norm", "gemm", "argmax")


def trace_with_steps(lengths_ns: list[int], extra_at: int = -1) -> Trace:
    """Steps of 6 kernels of 1,000 ns; step i takes lengths_ns[i] from start to start."""
    maker, now = a_trace(), 0
    for number, length in enumerate(lengths_ns):
        at = now
        for name in [*STEP[:2], "extra", *STEP[2:]] if number == extra_at else STEP:
            maker.with_kernel(name, at, at + 1_000)
            at += 1_050
        now += length
    return maker.build()


def times_of(trace: Trace, classes: list[int] | None = None) -> LaneStepTimes:
    (steps,) = repeated_steps(trace).of_lane
    return LaneStepTimes.of(steps, None if classes is None else np.array(classes, np.int8))


def only_kind(trace: Trace) -> StepKindTimes:
    (kind,) = times_of(trace).kinds()
    return kind


def test_times_run_from_start_to_start_and_busy_time_is_a_union() -> None:
    kind = only_kind(trace_with_steps([10_000, 11_000, 12_000, 13_000, 14_000]))

    assert kind.period_ns.tolist() == [10_000, 11_000, 12_000, 13_000]
    assert kind.span_ns.tolist() == [6_250] * 5
    assert kind.busy_ns.tolist() == [6_000] * 5
    assert kind.op_count == 6


def test_percentiles_are_nearest_ranks() -> None:
    values = np.array([40, 10, 30, 20])

    assert [nearest_rank(values, percent) for percent in (1, 50, 51, 95, 100)] == [
        10,
        20,
        30,
        40,
        40,
    ]


def test_slow_first_steps_are_warm_up() -> None:
    kind = only_kind(trace_with_steps([90_000, 40_000, *[10_000] * 20]))

    assert kind.warm_up.tolist() == [0, 1]
    assert kind.steps.tolist() == list(range(2, 22))
    assert int(kind.period_ns.max()) == 10_000


def test_a_fifth_of_the_steps_at_most_is_warm_up() -> None:
    kind = only_kind(trace_with_steps([90_000] * 4 + [10_000] * 7))

    assert kind.warm_up.tolist() == [0, 1]


def test_a_step_with_a_kernel_more_is_irregular_but_of_the_kind() -> None:
    kind = only_kind(trace_with_steps([10_000] * 9, extra_at=4))

    assert kind.irregular_count == 1
    assert kind.steps.size == 9


def test_outliers_are_far_above_the_median() -> None:
    lengths = [10_000 + 10 * (number % 5) for number in range(30)]
    lengths[12], lengths[20] = 31_000, 14_000

    kind = only_kind(trace_with_steps(lengths))

    assert kind.outliers.tolist() == [12, 20]


def test_steps_of_different_classes_are_of_different_kinds() -> None:
    times = times_of(trace_with_steps([10_000] * 10), classes=[1] * 5 + [2] * 5)

    assert [(kind.kind, kind.steps.tolist()) for kind in times.kinds()] == [
        (0, [0, 1, 2, 3, 4]),
        (1, [5, 6, 7, 8, 9]),
    ]
    assert [kind.period_ns.size for kind in times.kinds()] == [4, 4]


def test_steps_like_no_other_come_last_and_have_no_start_to_start() -> None:
    times = times_of(trace_with_steps([10_000] * 6), classes=[3, 1, 1, 1, 1, 1])

    *_, last = times.kinds()

    assert not last.is_repeated
    assert last.steps.tolist() == [0]
    assert last.main_ns.tolist() == [6_250]
