"""What repeats within steps, across the ends of a recording, or several times unseen is no step."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tests.builders import a_trace
from wavescope.analyze.steps import repeated_steps, steps_of
from wavescope.model.trace import Trace

GATHER = "at::native::vectorized_gather_kernel<16, long>"
LAYER = ["norm", "gemm", "my_attention", "proj", "act"]


def trace_of(names: Sequence[str], gap_before: dict[str, int] | None = None) -> Trace:
    """Kernels of 1 us, 100 ns apart unless `gap_before` says otherwise."""
    maker, now = a_trace(), 0
    for name in names:
        now += (gap_before or {}).get(name, 100)
        maker.with_kernel(name, now, now + 1_000)
        now += 1_000
    return maker.build()


def counts(trace: Trace) -> list[int]:
    (steps,) = repeated_steps(trace).of_lane
    return steps.op_counts.tolist()


def test_tables_that_are_looked_up_one_by_one_are_parts_of_one_step() -> None:
    tables = ["indices", "offsets", "EmbeddingBag_sum"] * 12
    step = ["batch", *tables, "cat", *(f"mlp_{number}" for number in range(10))]

    assert counts(trace_of(step * 10, {"batch": 50_000})) == [48] * 10


def test_cells_of_a_recurrent_network_are_no_steps() -> None:
    assert len(steps_of(trace_of(["gemm", "cell"] * 200))) == 0


def test_texts_and_images_in_one_iteration_are_one_step() -> None:
    texts = [GATHER, GATHER, *LAYER * 16, "pool"]
    images = [GATHER, "patches", *LAYER * 16, "match", "argmax"]

    assert counts(trace_of((texts + images) * 5)) == [len(texts) + len(images)] * 5


def test_prompts_that_choose_no_token_and_tokens_in_turn_are_a_step_each() -> None:
    """As above, but both look up once: they are passes of one model."""
    prompt = [GATHER, *(["norm", "large_gemm", "my_attention", "proj", "act"] * 8), "head"]
    token = [GATHER, *LAYER * 8, "head", "argmax"]

    assert counts(trace_of((prompt + token) * 5)) == [42, 43] * 5


def test_a_gap_within_training_steps_does_not_make_one_step_more() -> None:
    forward = [f"forward_{number}" for number in range(12)]
    backward = ["loss", *(f"backward_{number}" for number in range(12)), "update"]

    assert counts(trace_of((forward + backward) * 4, {"loss": 500_000})) == [26] * 4


def test_work_after_the_choice_belongs_to_its_step() -> None:
    step = ["gemv", "tanh", "gemv", "tanh", "gemv", "argmax", "scale", "copy", "add"]

    trace = trace_of(["fill", *step * 20], {"scale": 30_000})

    assert counts(trace) == [10, *[9] * 19]


def test_a_stretch_of_several_steps_between_others_leaves_their_number_unknown() -> None:
    step = [f"a{number}" for number in range(20)]
    stretch = [f"b{number}" for number in range(35)]

    assert len(steps_of(trace_of(step * 9, {"a0": 50_000}))) == 9
    trace = trace_of([*step * 4, *stretch, *step * 5], {"a0": 50_000})
    assert len(steps_of(trace)) == 0


@pytest.mark.parametrize("gap_ns", [100, 50_000])
def test_layers_between_other_kernels_are_no_steps(gap_ns: int) -> None:
    names = ["patches", *LAYER * 12, "pool"]

    assert len(steps_of(trace_of(names, {"norm": gap_ns}))) == 0


def test_layers_within_steps_within_requests_leave_the_number_unknown() -> None:
    token = ["t_in", *(["t_a", "t_b", *(f"t{n}" for n in range(8))] * 5), "t_out"]
    prompt = ["p_in", *(f"p{n}" for n in range(250)), "p_out"]
    names = [*token * 4, *prompt] * 6

    assert len(steps_of(trace_of(names))) == 0


@pytest.mark.parametrize("passes", [3, 4])
def test_layers_of_a_few_passes_that_end_unlike_others_are_no_steps(passes: int) -> None:
    layer = ["norm", *(f"k{number}" for number in range(9))]
    names = [*layer * 3, *layer[:-2]] * passes

    assert counts(trace_of(names)) == [38 * passes]
    assert len(steps_of(trace_of(names))) == 0


def test_a_kind_of_step_without_an_end_is_divided_by_its_beginnings() -> None:
    prompt = [GATHER, *(["norm", "large_gemm", "my_attention", "proj", "act"] * 8), "head"]
    token = [*LAYER * 8, "head", "cast", "argmax"]
    names = [*prompt, *token * 9, *prompt * 2, *token * 9]

    assert counts(trace_of(names)) == [42, *[43] * 9, *[42] * 2, *[43] * 9]


def test_passes_of_as_many_ops_are_no_drafts() -> None:
    """A name for the attention of half of the layers only: the other half's is unknown."""
    prompt = ["embedding", *(["norm", "my_attention", "gemm"] * 8), "argmax"]
    token = ["embedding", *(["norm", "my_attention", "gemm", "norm", "k7", "gemm"] * 4), "argmax"]

    assert counts(trace_of((token * 3 + prompt) * 5)) == [26] * 20


def test_a_stretch_between_named_steps_leaves_their_number_unknown_but_divides_the_lane() -> None:
    """Two prompts whose beginnings and ends have names that tell nothing."""
    token = [GATHER, *LAYER * 8, "head", "argmax"]
    prompts = ["k1", *(["k2", "k3", "k4", "k5", "k6"] * 8), "k7", "k8"] * 2

    trace = trace_of([*token * 6, *prompts, *token * 6])

    assert counts(trace) == [*[43] * 6, 86, *[43] * 6]
    assert len(steps_of(trace)) == 0


def test_a_prompt_before_two_tokens_counts_though_it_chooses_none() -> None:
    prompt = [GATHER, *(["norm", "large_gemm", "my_attention", "proj", "act"] * 8), "head"]
    token = [GATHER, *LAYER * 8, "head", "argmax"]

    assert counts(trace_of([*prompt, *token, *token])) == [42, 43, 43]


def test_one_lost_beginning_among_many_hides_one_step_only() -> None:
    extra = random.Random(1)
    passes = [[GATHER, *LAYER * 8, *["extra"] * extra.randrange(4), "head"] for _ in range(40)]
    del passes[20][0]

    trace = trace_of([name for each in passes for name in each])

    assert len(counts(trace)) == 39
    assert len(steps_of(trace)) == 0


FUSED = ["rms_norm", "qkv_gemm", "flash_attention", "out_gemm", "rms_norm", "up_gemm", "silu"]
SEPARATE = ["layer_norm", "qkv_gemm", "bmm", "scale", "softmax", "bmm", "out_gemm", "up_gemm"]
MOE = ["rms_norm", "qkv_gemm", "paged_attention", "out_gemm", "rms_norm", "moe_up", "moe_down"]


@pytest.mark.parametrize("layer", [FUSED, SEPARATE, MOE])
@pytest.mark.parametrize("gap_ns", [100, 50_000])
def test_a_window_of_layers_alone_tells_no_steps(layer: list[str], gap_ns: int) -> None:
    """A recording that begins and ends within a pass; layers may be launched one by one."""
    named = ["first_" + layer[0], *layer[1:]]
    window = [*named[3:], *[*named, "add"] * 6, *named[:4]]

    assert len(steps_of(trace_of(window, {named[0]: gap_ns}))) == 0


def test_passes_of_several_layers_and_repeated_single_kernels_are_counted() -> None:
    passes = ["inputs", *FUSED * 6, "head_gemm"]
    attention_alone = ["make_inputs", *(f"fill_{n}" for n in range(7)), "flash_attention"]

    assert counts(trace_of(passes * 6, {"inputs": 50_000})) == [44] * 6
    assert counts(trace_of(attention_alone * 6, {"make_inputs": 50_000})) == [9] * 6


def test_ops_without_a_known_process_are_of_the_only_one_on_their_queue() -> None:
    step = ["embedding", *LAYER * 4, "argmax"]
    maker = a_trace().with_process(1).with_process(2)
    for number, name in enumerate(step * 8):
        # Launches of every third op are not in the trace, and so is their process.
        maker.with_kernel(
            name, 2_000 * number, 2_000 * number + 1_000, process=-1 if number % 3 else 1
        )

    assert counts(maker.build()) == [22] * 8


def test_queues_that_two_processes_share_stay_apart() -> None:
    maker = a_trace().with_process(1).with_process(2)
    for number in range(60):
        maker.with_kernel("a", 2_000 * number, 2_000 * number + 1_000, process=number % 3 - 1)

    lanes = repeated_steps(maker.build()).lanes.lanes

    assert sorted((lane.process, len(lane)) for lane in lanes) == [(-1, 20), (0, 20), (1, 20)]
