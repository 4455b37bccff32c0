"""Prefill and decode without markers, on generated traces whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wavescope
from tests.builders import a_trace
from tests.phase_score import scores, truth_codes, with_losses
from tests.serving_traces import (
    COMMUNICATION,
    DECODE,
    HOME_MADE,
    LAYERS,
    PLAIN_TORCH,
    PREFILL,
    VLLM_ROCM,
    WAYS_OF_SERVING,
    Labelled,
    Layer,
    Server,
    chunked_prefill,
    eager_decode,
    graph_decode,
    labelled,
    short_prompts,
    tensor_parallel_decode,
)
from wavescope.analyze.phases import PhaseOptions
from wavescope.analyze.phases.found import PHASE_LABELS, FoundPhase, found_phases
from wavescope.analyze.steps import steps_of
from wavescope.model.trace import Trace

NOTHING_TO_GO_BY = (short_prompts, HOME_MADE, {"knows_sizes": False})
"""Neither names nor launch sizes, and prompts that take hardly longer than a decode step."""
KNOWN = {"": {}, "no sizes": {"knows_sizes": False}, "no end": {"ends_by_name": False}}
SERVED = [
    pytest.param(serve, layer, options, id=f"{serve.__name__}-{layer_name}-{known}")
    for serve in WAYS_OF_SERVING
    for layer_name, layer in LAYERS.items()
    for known, options in KNOWN.items()
    if (serve, layer, options) != NOTHING_TO_GO_BY
]


@pytest.mark.parametrize(("serve", "layer", "options"), SERVED)
def test_prefill_and_decode_are_told_apart(
    serve: Callable[..., Labelled], layer: Layer, options: dict[str, bool]
) -> None:
    served = serve(layer, **options)

    phases = found_phases(served.trace)

    found = scores(served.trace, phases, truth_codes(served.truth))
    values = [value for score in found.values() for value in score if value is not None]
    assert len(values) == 4
    assert min(values) >= 0.9, found
    step_count = sum(len(server.step_starts_ns) for server in served.servers)
    assert sum(len(steps) for steps in phases.steps.of_lane) == step_count


@pytest.mark.parametrize("share", [0.01, 0.05])
@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS.keys())
@pytest.mark.parametrize("serve", [eager_decode, graph_decode, tensor_parallel_decode])
def test_ops_that_were_lost_do_little_harm(
    serve: Callable[..., Labelled], layer: Layer, share: float
) -> None:
    served = serve(layer)
    trace, truth = with_losses(served.trace, truth_codes(served.truth), share)

    phases = found_phases(trace)

    found = scores(trace, phases, truth)
    assert min(value or 0.0 for score in found.values() for value in score) >= 0.9, found


def test_steps_that_cannot_be_told_apart_are_no_phase() -> None:
    served = graph_decode(PLAIN_TORCH, ends_by_name=False)
    trace, truth = with_losses(served.trace, truth_codes(served.truth), 0.2)

    found = scores(trace, found_phases(trace), truth)

    assert [score.precision for score in found.values()] == [None, None]


def test_what_nothing_tells_is_left_unclassified_rather_than_guessed() -> None:
    serve, layer, options = NOTHING_TO_GO_BY
    served = serve(layer, **options)

    phases = found_phases(served.trace)

    found = scores(served.trace, phases, truth_codes(served.truth))
    assert found[FoundPhase.DECODE] == (1.0, 1.0)
    assert found[FoundPhase.PREFILL].precision is None
    assert FoundPhase.UNCLASSIFIED in phases.codes


def test_steps_begin_where_the_server_began_them() -> None:
    served = graph_decode(PLAIN_TORCH)

    (steps,) = found_phases(served.trace).steps.of_lane

    assert steps.lane.starts[steps.firsts[:-1]].tolist() == served.servers[0].step_starts_ns


def test_collectives_are_apart_and_keep_the_phase_of_their_step() -> None:
    served = tensor_parallel_decode(VLLM_ROCM)

    phases = found_phases(served.trace)

    is_collective = np.array(served.truth) == COMMUNICATION
    assert (phases.codes[is_collective] == FoundPhase.COMMUNICATION).all()
    assert (phases.codes[~is_collective] != FoundPhase.COMMUNICATION).all()
    beside = set(phases.phase_codes[is_collective].tolist())
    assert beside == {FoundPhase.PREFILL, FoundPhase.DECODE}


def test_a_step_with_both_kinds_of_attention_is_shared_but_for_these() -> None:
    served = chunked_prefill(VLLM_ROCM)

    phases = found_phases(served.trace)

    assert phases.codes.tolist() == truth_codes(served.truth).tolist()
    assert FoundPhase.SHARED in phases.codes


def test_segments_carry_confidence_and_signs() -> None:
    first, *_ = found_phases(eager_decode(VLLM_ROCM).trace).segments

    assert first.phase is FoundPhase.PREFILL
    assert (first.step_count, first.op_count) == (1, 75)
    assert first.confidence > 0.99
    assert first.signs["names"] == 3.0
    assert first.signs["graph"] == 0.0


def test_normalizing_the_last_token_alone_does_not_hide_the_prompt() -> None:
    server = Server(PLAIN_TORCH, layers=4)
    for _ in range(6):
        first = len(server.rows)
        server.step(512, PREFILL)
        norms = [row for row in server.rows[first:] if row["name"] == PLAIN_TORCH.norm]
        for row in norms[-2:]:
            row["grid_x"] = row["workgroup_x"]

    (segment,) = found_phases(labelled(server).trace).segments

    assert segment.phase is FoundPhase.PREFILL
    assert segment.signs["tokens"] == pytest.approx(1.5 * (9 - 7.3) / 2)


@pytest.mark.parametrize(
    ("rows", "count", "phase"),
    [
        (256, 12, FoundPhase.UNCLASSIFIED),
        (512, 12, FoundPhase.UNCLASSIFIED),
        (512, 6, FoundPhase.PREFILL),
        (2048, 12, FoundPhase.PREFILL),
    ],
)
def test_hundreds_of_rows_step_after_step_may_be_as_many_answers(
    rows: int, count: int, phase: FoundPhase
) -> None:
    server = Server(PLAIN_TORCH, layers=4)
    for _ in range(count):
        server.step(rows, PREFILL)

    assert set(found_phases(labelled(server).trace).phase_codes.tolist()) == {phase}


HASHED = Layer(
    norm="kernel_0f3a",
    gemms=("kernel_91bc", "kernel_77de"),
    attention=lambda prefill: "kernel_e21f",
    activation="kernel_5c08",
)


def test_a_step_that_hashes_hide_has_not_the_phase_of_the_steps_after_it() -> None:
    prompt, tokens = Server(HASHED), Server(VLLM_ROCM)
    prompt.step(2_048, PREFILL)
    for row in prompt.rows:
        row["name"] = str(row["name"]) if "kernel_" in str(row["name"])[:7] else "kernel_ab12"
    tokens.now_ns, tokens._correlation = prompt.now_ns, prompt._correlation
    for _ in range(8):
        tokens.step(8, DECODE, graph=True)

    segments = found_phases(labelled(prompt, tokens).trace).segments

    # That replays are the usual steps speaks for a prompt, and its names say nothing against it.
    assert [(segment.phase, segment.step_count) for segment in segments] == [
        (FoundPhase.UNCLASSIFIED, 1),
        (FoundPhase.DECODE, 8),
    ]


@pytest.mark.parametrize(
    ("hashed", "phase"),
    [
        ((), FoundPhase.PREFILL),
        ((VLLM_ROCM.activation,), FoundPhase.PREFILL),
        ((VLLM_ROCM.activation, VLLM_ROCM.norm), FoundPhase.UNCLASSIFIED),
    ],
)
def test_one_stretch_with_many_hashed_names_may_hide_several_steps(
    hashed: tuple[str, ...], phase: FoundPhase
) -> None:
    server = Server(VLLM_ROCM)
    server.step(512, PREFILL)
    for row in server.rows:
        if row["name"] in hashed:
            row["name"] = f"kernel_{len(str(row['name'])):016x}"

    (segment,) = found_phases(labelled(server).trace).segments

    assert segment.phase is phase


def test_hashed_prompts_and_tokens_in_turn_are_not_one_kind_of_step() -> None:
    layer = replace(
        VLLM_ROCM,
        norm="kernel_0f3a",
        activation="kernel_5c08",
        attention=lambda prefill: "kernel_e21f",
    )
    server = Server(layer)
    for _ in range(5):
        server.now_ns += 40_000
        server._op("token_embedding_kernel", 2_048, PREFILL, 1.0, False)
        for tokens in (2_048, 8):
            for _ in range(server.layers):
                server._layer(tokens, PREFILL, False)
        server._op("argmax_of_logits", 32, PREFILL, 1.0, False)

    phases = found_phases(labelled(server).trace)

    assert FoundPhase.PREFILL not in phases.codes
    assert FoundPhase.DECODE not in phases.codes


def test_training_is_not_serving() -> None:
    maker, now = a_trace(), 0
    for _ in range(8):
        for name in ("embedding", *["flash_attn_fwd", "gemm_a", "flash_attn_bwd"] * 5, "adam_step"):
            maker.with_kernel(name, now, now + 900)
            now += 1_000

    phases = found_phases(maker.build())

    assert set(phases.codes.tolist()) == {FoundPhase.UNCLASSIFIED}
    assert len(phases.steps.of_lane[0]) == 8


def test_kernels_that_say_nothing_stay_unclassified() -> None:
    maker = a_trace()
    for number in range(40):
        maker.with_kernel(f"k{number % 4}", number * 1_000, number * 1_000 + 900)

    result = wavescope.phases(maker.build())

    assert result.table("phases").column("path") == ["unclassified"]
    assert result.facts["unclassified_percent"] == 100.0
    assert [finding.id for finding in result.findings] == ["phases-unclassified"]


def test_copies_between_steps_belong_to_the_step_they_serve() -> None:
    served = eager_decode(VLLM_ROCM)
    trace = _with_copies(served)

    codes = found_phases(trace).codes

    # The prompt goes up before the second prefill; the token comes down after the step before it.
    assert [PHASE_LABELS[code] for code in codes[-2:]] == ["prefill", "decode"]


def _with_copies(served: Labelled) -> Trace:
    maker = a_trace()
    for row in served.servers[0].rows:
        values = {key: value for key, value in row.items() if key not in {"name", "queue"}}
        start_ns, end_ns = int(values.pop("start_ns")), int(values.pop("end_ns"))
        maker.with_kernel(str(row["name"]), start_ns, end_ns, **values)
    second_prefill_ns = served.servers[0].step_starts_ns[21]
    for place, op_type in enumerate(("CopyHostToDevice", "CopyDeviceToHost")):
        at = second_prefill_ns - 20_000 + 5_000 * place
        maker.with_copy(at, at + 2_000, queue=9, type=op_type)
    return maker.build()


def test_an_empty_trace_has_no_phases() -> None:
    result = wavescope.phases(a_trace().build())

    assert result.table("phases").rows == []
    assert result.table("phase_kernels").rows == []


def test_the_result_lists_phases_with_their_kernels() -> None:
    result = wavescope.phases(eager_decode(HOME_MADE).trace, PhaseOptions(kernels=2))

    prefill, decode = result.table("phases").records()
    assert (prefill["path"], prefill["steps"], prefill["op_count"]) == ("prefill", 3, 225)
    assert (decode["path"], decode["steps"], decode["op_count"]) == ("decode", 60, 4500)
    kernels = result.table("phase_kernels").records()
    assert [(row["path"], row["name"], row["calls"]) for row in kernels] == [
        ("prefill", "multiply_second", 36),
        ("prefill", "multiply_first", 36),
        ("decode", "multiply_second", 720),
        ("decode", "multiply_first", 720),
    ]
    assert len(result.table("phase_segments").rows) == 6


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    *("paged_attention", "gemm_256x16x64", "fmha_fwd", "argmax", "nccl", "adam"),
                    *("__amd_rocclr_copyBuffer", "__amd_rocclr_fillBufferAligned", "x", ""),
                ]
            ),
            st.integers(-(2**62), 2**62),
            st.integers(0, 2**40),
            st.integers(0, 2),
            st.integers(-1, 2**31),
        ),
        max_size=60,
    )
)
def test_any_trace_gets_a_phase_for_every_op(ops: list[tuple[str, int, int, int, int]]) -> None:
    maker = a_trace()
    for name, start, length, queue, grid in ops:
        maker.with_kernel(name, start, start + length, queue=queue, grid_x=grid, workgroup_x=64)

    trace = maker.build()
    phases = found_phases(trace)
    steps = steps_of(trace)

    assert len(phases.codes) == len(ops)
    assert set(phases.codes.tolist()) <= set(FoundPhase)
    assert sum(steps.firsts[-1] for steps in phases.steps.of_lane) <= len(ops)
    assert len(steps.of_op) == len(ops)
    assert set(steps.of_op.tolist()) <= set(range(-1, len(steps)))
    for lane in steps.of_lane:
        assert (np.diff(lane.firsts) > 0).all()
        assert (np.diff(lane.lane.starts) >= 0).all()
    wavescope.phases(trace).to_json()
    wavescope.steps(trace).to_json()
