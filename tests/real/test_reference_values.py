"""Exact values of nine real traces, computed independently: every one must match to the ns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wavescope
from wavescope.analyze.ops.gaps import gpu_gaps
from wavescope.analyze.ops.gpu_timelines import gpu_timelines
from wavescope.analyze.ops.utilization import gpu_utilizations
from wavescope.analyze.summary import utilization
from wavescope.analyze.summary.busy_time import gaps
from wavescope.model.trace import Trace

TRACES = (
    "h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "h100/gaunernst_bert-small-uncased__1016001.json.gz",
    "h200/h200_dense_eager.json.gz",
    "h200/h200_graph_decode.json.gz",
    "mi210/gpu_only_trace.json.gz",
    "mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "mi300/gaunernst_bert-small-uncased__1016001.json.gz",
    "sglang/sglang_Qwen3-8B_decode.json.gz",
    "vllm/vllm_decode_graph_execution.json.gz",
)


def reference_values(shared_data: Path) -> dict[str, dict[str, int | float | None]]:
    reference = json.loads((shared_data / "kineto" / "reference.json").read_text())
    return {name: values for name, values in reference.items() if not name.startswith("_")}


def measured_values(trace: Trace) -> dict[str, int | float | None]:
    """The reference's values as wavescope finds them; these traces have one GPU each."""
    timelines = gpu_timelines(trace)
    (gpu,) = gpu_utilizations(timelines)
    (gap,) = gpu_gaps(timelines, small_ns=10_000)
    distinct_ops = set(zip(trace.ops["type"].tolist(), trace.ops["name"].tolist(), strict=True))
    return {
        "n_gpu": gpu.time.op_count,
        "total_ns": gpu.time.span_ns,
        "busy_ns": gpu.time.busy_ns,
        "idle_ns": gpu.time.idle_ns,
        "comp_ns": gpu.compute_ns,
        "comm_ns": gpu.communication_ns,
        "mem_ns": gpu.copy_ns,
        "exposed_comm_ns": gpu.exposed_communication_ns,
        "exposed_mem_ns": gpu.exposed_copy_ns,
        "comm_comp_overlap_pct": gpu.overlap_percent,
        "sum_dur_ns": gpu.time.duration_sum_ns,
        "n_gaps": gap.gap_count,
        "gap_lt10us_ns": gap.small_total_ns,
        "streams": len(gpu.queues),
        "kernels": len(distinct_ops),
    }


def test_the_reference_covers_exactly_these_traces(shared_data: Path) -> None:
    assert sorted(reference_values(shared_data)) == sorted(TRACES)


@pytest.mark.parametrize("name", TRACES)
def test_every_reference_value_to_the_nanosecond(shared_data: Path, name: str) -> None:
    expected = reference_values(shared_data)[name]
    with wavescope.open(shared_data / "kineto" / name) as trace:
        measured = measured_values(trace)

    assert {key: measured[key] for key in expected} == expected
    assert measured["comm_comp_overlap_pct"] is None


@pytest.mark.parametrize("name", TRACES)
def test_the_parts_of_the_span_add_up(shared_data: Path, name: str) -> None:
    with wavescope.open(shared_data / "kineto" / name) as trace:
        (gpu,) = utilization(trace).table("gpus").records()
        (gap,) = gaps(trace).table("gaps").records()

    parts = ("compute_ns", "exposed_communication_ns", "exposed_copy_ns", "idle_ns")
    assert sum(gpu[part] for part in parts) == gpu["span_ns"]
    assert gap["total_ns"] == gpu["idle_ns"]
