"""Which step copies, fills and the work of other queues belong to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.steps import steps_of
from wavescope.model.op_kinds import FILL_TYPE, KERNEL_TYPE

STEP = ("embedding", *(["norm", "gemm"] * 4), "argmax")
STEP_NS = 1_000 * len(STEP)
PERIOD_NS = 100_000
TO_GPU, FROM_GPU = {"type": "CopyHostToDevice"}, {"type": "CopyDeviceToHost"}
FILL, KERNEL = {"type": FILL_TYPE}, {"type": KERNEL_TYPE, "name": "small"}
RUNTIME_COPY = {"type": KERNEL_TYPE, "name": "__amd_rocclr_copyBuffer"}
RUNTIME_FILL = {"type": KERNEL_TYPE, "name": "__amd_rocclr_fillBufferAligned"}
Op = tuple[int, dict[str, str]]


def with_step(maker: TraceMaker, start_ns: int, **place: int) -> None:
    for number, name in enumerate(STEP):
        maker.with_kernel(name, start_ns + 1_000 * number, start_ns + 1_000 * (number + 1), **place)


def six_steps(first_ns: int = PERIOD_NS) -> TraceMaker:
    """On queue 0, one every 100 us, of 10 us each."""
    maker = a_trace()
    for step in range(6):
        with_step(maker, first_ns + step * PERIOD_NS)
    return maker


def steps_beside(maker: TraceMaker, ops: Sequence[Op], **place: int) -> list[int]:
    """The steps of ops of 100 ns that are added on a queue."""
    for start_ns, values in ops:
        row: dict[str, int | str] = {"name": "", **values, **place}
        name = str(row.pop("name"))
        maker.with_op(name, start_ns, start_ns + 100, **row)
    of_op = steps_of(maker.build()).of_op
    return of_op[len(of_op) - len(ops) :].tolist()


BETWEEN = 2 * PERIOD_NS + STEP_NS + 20_000
"""After step 1 and before step 2."""


@pytest.mark.parametrize("queue", [0, 9])
@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        ([RUNTIME_FILL], [2]),
        ([RUNTIME_COPY], [1]),
        ([RUNTIME_COPY] * 3, [1, 2, 2]),
        ([RUNTIME_FILL, RUNTIME_COPY], [2, 2]),
        ([RUNTIME_COPY, RUNTIME_FILL, RUNTIME_COPY], [1, 2, 2]),
    ],
)
def test_on_any_queue_as_many_copies_as_follow_the_last_step_are_results(
    queue: int, ops: list[dict[str, str]], expected: list[int]
) -> None:
    placed = [(BETWEEN + 1_000 * place, op) for place, op in enumerate(ops)]
    after_the_last = (7 * PERIOD_NS, RUNTIME_COPY)

    found = steps_beside(six_steps(), [*placed, after_the_last], queue=queue)

    assert found == [*expected, 5]


def test_where_no_copy_follows_the_last_step_those_between_steps_are_inputs() -> None:
    assert steps_beside(six_steps(), [(BETWEEN, RUNTIME_COPY)], queue=9) == [2]


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        ([TO_GPU], [2]),
        ([FILL], [2]),
        ([FROM_GPU], [1]),
        ([KERNEL], [1]),
        ([TO_GPU, FROM_GPU, KERNEL, {"type": "CopyDeviceToDevice"}], [2, 1, 1, 2]),
    ],
)
def test_between_two_steps_what_is_copied_to_the_gpu_begins_the_next(
    ops: list[dict[str, str]], expected: list[int]
) -> None:
    placed = [(BETWEEN + 1_000 * place, op) for place, op in enumerate(ops)]

    assert steps_beside(six_steps(), placed, queue=9) == expected


def test_what_prepared_one_step_says_nothing_of_the_next_gap() -> None:
    copies = [(BETWEEN + PERIOD_NS, RUNTIME_COPY), (7 * PERIOD_NS, RUNTIME_COPY)]

    assert steps_beside(six_steps(), [(BETWEEN, TO_GPU), *copies], queue=9) == [2, 2, 5]


def test_while_a_step_runs_all_belongs_to_it_and_what_follows_the_last_to_that() -> None:
    within, after = 3 * PERIOD_NS + 5_000, 7 * PERIOD_NS
    ops = [(within, TO_GPU), (within, FROM_GPU), (within, KERNEL), (after, TO_GPU), (after, FILL)]

    assert steps_beside(six_steps(), ops, queue=9) == [2, 2, 2, 5, 5]


def test_before_the_first_step_a_model_is_loaded_until_its_own_inputs_come() -> None:
    loaded = [(1_000 * number, TO_GPU) for number in range(8)]
    inputs = [(step * PERIOD_NS - 1_000 * copy, TO_GPU) for step in (1, 2, 3) for copy in (2, 1)]

    found = steps_beside(six_steps(), [*loaded, *inputs], queue=9)

    assert found == [-1] * 8 + [0, 0, 1, 1, 2, 2]


def test_where_no_more_precedes_the_first_step_than_others_nothing_was_loaded() -> None:
    copies = [(step * PERIOD_NS - 1_000 * copy, RUNTIME_COPY) for step in (1, 2) for copy in (2, 1)]

    assert steps_beside(six_steps(), copies, queue=9) == [0, 0, 1, 1]


def test_of_the_inputs_of_the_first_step_those_of_the_next_one_like_it_tell() -> None:
    """Each prompt is copied to the GPU, tokens are not."""
    maker = a_trace()
    prompt = [*STEP[:-1], "more", STEP[-1]]
    for step, names in enumerate([prompt, *[STEP] * 5, prompt, *[STEP] * 5]):
        for number, name in enumerate(names):
            start_ns = (step + 1) * PERIOD_NS + 1_000 * number
            maker.with_kernel(name, start_ns, start_ns + 1_000)
    copies = [(50_000 + 1_000 * number, TO_GPU) for number in range(5)]

    found = steps_beside(maker, [*copies, (7 * PERIOD_NS - 5_000, TO_GPU)], queue=9)

    assert found == [-1, -1, -1, -1, 0, 6]


def test_a_kernel_before_the_first_step_belongs_to_it_and_a_result_to_none() -> None:
    assert steps_beside(six_steps(), [(1_000, KERNEL), (2_000, FROM_GPU)], queue=9) == [0, -1]


def test_prompts_and_tokens_on_queues_of_their_own_are_one_row_of_steps() -> None:
    maker = a_trace()
    for step in range(12):
        with_step(maker, (step + 1) * PERIOD_NS, queue=0 if step < 4 else 1)
    ops = [((step + 1) * PERIOD_NS - 1_000, TO_GPU) for step in range(1, 12)]

    assert steps_beside(maker, ops, queue=9) == list(range(1, 12))


def test_a_step_of_its_own_queue_comes_before_one_that_began_later_elsewhere() -> None:
    maker = a_trace()
    for step in range(6):
        with_step(maker, (step + 1) * PERIOD_NS, queue=0)
        with_step(maker, (step + 1) * PERIOD_NS + 2_000, queue=1)
    within = [(2 * PERIOD_NS + 5_000, RUNTIME_COPY)]

    assert steps_beside(maker, within, queue=0) == [1]


def test_of_two_steps_elsewhere_the_one_that_began_last_counts() -> None:
    maker = a_trace()
    for step in range(6):
        with_step(maker, (step + 1) * PERIOD_NS, queue=0)
        with_step(maker, (step + 1) * PERIOD_NS + 2_000, queue=1)

    assert steps_beside(maker, [(2 * PERIOD_NS + 5_000, KERNEL)], queue=9) == [6 + 1]


def test_a_process_that_has_steps_takes_no_part_in_those_of_another() -> None:
    maker = a_trace()
    for step in range(6):
        with_step(maker, (step + 1) * PERIOD_NS, process=0)
        with_step(maker, (step + 1) * PERIOD_NS + 50_000, process=1, queue=1)
    while_the_other_runs = [(2 * PERIOD_NS + 55_000, FROM_GPU)]

    assert steps_beside(maker, while_the_other_runs, queue=9, process=0) == [1]


def test_a_process_without_steps_follows_those_of_its_gpu() -> None:
    assert steps_beside(six_steps(), [(2 * PERIOD_NS + 5_000, KERNEL)], queue=9, process=4) == [1]


def test_another_gpu_takes_no_part_in_the_steps() -> None:
    assert steps_beside(six_steps(), [(BETWEEN, TO_GPU)], gpu=1) == [-1]


def test_copies_on_the_queue_of_their_step_are_part_of_it_but_do_not_tell_it() -> None:
    maker = six_steps()
    for step in range(1, 6):
        for copy in range(step):
            start_ns = (step + 1) * PERIOD_NS - 1_000 * (copy + 1)
            name = RUNTIME_FILL["name"] if copy == step - 1 else RUNTIME_COPY["name"]
            maker.with_kernel(name, start_ns, start_ns + 100)

    (steps,) = steps_of(maker.build()).of_lane

    assert steps.op_counts.tolist() == [10, 11, 12, 13, 14, 15]
    assert steps.repeats.tolist() == [True] * 6
    assert steps.span_ns.tolist() == [STEP_NS + 1_000 * copies for copies in range(6)]
