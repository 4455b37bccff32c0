"""Phases told without markers against the ranges of real traces, which are dropped first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wavescope
from tests.phase_score import SCORED, classified, scores, truth_from_markers
from wavescope.analyze.phases.found import FoundPhase
from wavescope.analyze.steps.step_times import LaneStepTimes
from wavescope.arrays.groups import nearest_rank

LEAST = 0.9
LABELLED_BY_RANGES = (
    "kineto/h200/h200_dense_eager.json.gz",
    "kineto/h200/h200_graph_decode.json.gz",
    "kineto/vllm/vllm_decode_graph_execution.json.gz",
    "kineto/sglang/sglang_Qwen3-8B_decode.json.gz",
)
LABELLED_BY_FILE = (
    ("rocprofv3/gfx1151/prefill_kernel_trace.csv", FoundPhase.PREFILL),
    ("rocprofv3/gfx1151/decode_kernel_trace.csv", FoundPhase.DECODE),
)
NOT_SERVING = (
    "kineto/mi210/gpu_only_trace.json.gz",
    "rocprofv3/908_results.json.gz",
    "kineto/mi300/gaunernst_bert-small-uncased__1016001.json.gz",
    "kineto/h100/gaunernst_bert-small-uncased__1016001.json.gz",
)


@pytest.mark.parametrize("name", LABELLED_BY_RANGES)
def test_precision_and_recall_by_gpu_time(shared_data: Path, name: str) -> None:
    with wavescope.open(shared_data / name) as trace:
        truth = truth_from_markers(trace)
        found = scores(trace, classified(trace), truth)

    for phase in SCORED:
        if (truth == phase).any():
            precision, recall = found[phase]
            assert precision is not None
            assert recall is not None
            assert precision >= LEAST
            assert recall >= LEAST
    assert (truth == FoundPhase.DECODE).any()


@pytest.mark.parametrize(("name", "phase"), LABELLED_BY_FILE)
def test_traces_of_one_phase(shared_data: Path, name: str, phase: FoundPhase) -> None:
    with wavescope.open(shared_data / name) as trace:
        truth = np.full(len(trace.ops), phase, np.int8)
        found = scores(trace, classified(trace), truth)

    assert found[phase].precision == 1.0
    assert (found[phase].recall or 0.0) >= LEAST


@pytest.mark.parametrize("name", NOT_SERVING)
def test_training_and_encoders_are_not_claimed(shared_data: Path, name: str) -> None:
    with wavescope.open(shared_data / name) as trace:
        codes = set(classified(trace).codes.tolist())

    assert codes <= {FoundPhase.UNCLASSIFIED, FoundPhase.COMMUNICATION}


@pytest.mark.parametrize(
    ("name", "steps", "ops"),
    [
        ("kineto/h200/h200_dense_eager.json.gz", 32, 359),
        ("kineto/h200/h200_graph_decode.json.gz", 192, 82),
    ],
)
def test_decode_steps_are_counted_exactly(
    shared_data: Path, name: str, steps: int, ops: int
) -> None:
    with wavescope.open(shared_data / name) as trace:
        phases = classified(trace)

    kind, *_ = LaneStepTimes.of(phases.steps.of_lane[0], phases.step_phases[0]).kinds()
    assert (kind.steps.size + kind.warm_up.size, kind.op_count) == (steps, ops)


def test_step_times_are_those_of_the_ranges(shared_data: Path) -> None:
    with wavescope.open(shared_data / "kineto/h200/h200_dense_eager.json.gz") as trace:
        phases = classified(trace)
        on_gpu = [
            int(start)
            for start, name, category in zip(
                trace.markers["start_ns"],
                trace.markers.strings("name"),
                trace.markers.strings("category"),
                strict=True,
            )
            if (name, category) == ("decode_step", "gpu_user_annotation")
        ]

    times = LaneStepTimes.of(phases.steps.of_lane[0], phases.step_phases[0])
    kind, *_ = times.kinds()
    # The ranges were rounded when they were written.
    assert np.abs(times.start_ns[kind.steps] - np.sort(on_gpu)).max() <= 1
    assert nearest_rank(kind.period_ns, 50) > 10_000_000
