"""Passes of a model that names tell apart: few of them, in turn, in pieces, and with drafts."""

from __future__ import annotations

import pytest

import wavescope
from tests.builders import a_trace
from wavescope.analyze.steps import repeated_steps, steps_of
from wavescope.model.trace import Trace

LAYER = ["norm", "gemm", "my_attention", "gemm", "act"]
GATHER = "at::native::vectorized_gather_kernel<16, long>"


def trace_of(names: list[str], graphs: dict[int, int] | None = None) -> Trace:
    """Kernels one after another; `graphs` says from which op on which launch caused them."""
    maker, launch = a_trace(), 0
    for number, name in enumerate(names):
        launch = (graphs or {}).get(number, launch)
        correlation = launch if graphs else 1_000 + number
        start = 2_000 * number
        maker.with_kernel(name, start, start + 1_000, correlation=correlation)
    return maker.build()


def counts(trace: Trace) -> list[int]:
    (steps,) = repeated_steps(trace).of_lane
    return steps.op_counts.tolist()


def test_two_prompts_are_two_steps() -> None:
    prompt = [GATHER, *LAYER * 8, "head"]

    trace = trace_of(prompt * 2)

    assert counts(trace) == [42, 42]
    assert len(steps_of(trace)) == 2


def test_one_pass_is_one_step_and_layers_alone_are_none() -> None:
    named = trace_of([GATHER, *LAYER * 8, "head", "argmax"])
    nameless = trace_of(["patches", *LAYER * 8, "head"])

    assert len(steps_of(named)) == 1
    assert len(steps_of(nameless)) == 0


def test_the_lookup_of_last_tokens_begins_no_step() -> None:
    trace = trace_of([GATHER, *LAYER * 8, GATHER, "head", "argmax"])

    assert len(steps_of(trace)) == 1


def test_prompts_and_tokens_in_turn_are_a_step_each() -> None:
    prompt = [GATHER, *(["norm", "large_gemm", "my_attention"] * 8), "head", "argmax"]
    token = ["index_select_small", *(["norm", "gemv", "my_attention"] * 8), "head", "argmax"]

    assert counts(trace_of((prompt + token) * 4)) == [27] * 8


def test_prompts_whose_pass_chooses_no_token_count_too() -> None:
    prompt = [GATHER, *LAYER * 8, "head"]
    token = ["index_select_small", *LAYER * 8, "head", "argmax"]

    assert counts(trace_of(prompt * 2 + token * 5)) == [42, 42, 43, 43, 43, 43, 43]


def test_graphs_of_single_layers_between_two_samplers_are_one_step() -> None:
    layers = 12
    names = [GATHER, *LAYER * layers, "head", "argmax"]
    graphs = {0: 1, **{1 + 5 * layer: 2 + layer for layer in range(layers)}, 61: 99}

    trace = trace_of(names, graphs)

    assert counts(trace) == [len(names)]
    assert len(steps_of(trace)) == 1


def test_drafts_belong_to_the_pass_that_verifies_them() -> None:
    draft = ["index_select_small", *LAYER * 2, "head", "argmax"]
    verified = ["index_select_small", *LAYER * 8, "head", "argmax"]

    assert counts(trace_of((draft + draft + verified) * 5)) == [2 * 13 + 43] * 5


def test_two_attention_kernels_in_a_layer_are_no_larger_model() -> None:
    prompt = ["embedding", *(["gemm", "extend_attention", "act"] * 8), "argmax"]
    token = ["embedding", *(["gemm", "paged_attention", "paged_attention_reduce"] * 8), "argmax"]

    assert len(counts(trace_of((prompt + token) * 4))) == 8


def test_layers_without_telling_names_are_unknown_not_steps() -> None:
    """Eight layers between two others, again and again: as many in every pass."""
    names = [f"a{number}" for number in range(3)]
    passes = [[*LAYER * 8, *names[: 1 + number % 3]] for number in range(9)]

    trace = trace_of([name for each in passes for name in each])

    assert len(steps_of(trace)) == 0


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("execute_context_3(8155)_generation_37(37)", 1),
        ("step[EXTEND bs=15 toks=15360]", 1),
        ("DECODE bs=32", 1),
        ("execute_new_1_cached_0", 1),
        ("warm up", 0),
    ],
)
def test_engines_mark_their_steps(text: str, count: int) -> None:
    maker = a_trace().with_marker(text, 0, 100).with_kernel("k", 10, 50)

    assert wavescope.steps(maker.build()).facts["step_count"] == count


def test_two_ranges_of_an_engine_around_a_step_are_one_step() -> None:
    maker = a_trace()
    for start in (0, 1_000):
        maker.with_marker("step[DECODE bs=32]", start, start + 900)
        maker.with_marker("execute_32_context_0(sq0)_generation_32(sq32)", start + 100, start + 500)
        maker.with_kernel("k", start + 50, start + 60).with_kernel("l", start + 200, start + 300)

    assert wavescope.steps(maker.build()).facts["step_count"] == 2


def test_marked_steps_that_repetition_does_not_find_are_told() -> None:
    step = ["embedding", *LAYER * 4, "argmax"]
    maker = a_trace()
    for number, name in enumerate(step * 8):
        maker.with_kernel(name, 2_000 * number, 2_000 * number + 1_000)
    half = 2_000 * 4 * len(step)
    maker.with_marker("step 1", 0, half).with_marker("step 2", half, 2 * half)

    result = wavescope.steps(maker.build())

    assert (result.facts["step_count"], result.facts["repeating_step_count"]) == (2, 8)
    (finding,) = (each for each in result.findings if each.id == "steps-disagree")
    assert finding.numbers == {"marked_step_count": 2, "repeating_step_count": 8}
