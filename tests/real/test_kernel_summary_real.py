"""Summaries of real traces against numbers known from elsewhere."""

from __future__ import annotations

from pathlib import Path

import wavescope
from wavescope.analyze.summary import kernel_summary
from wavescope.analyze.summary.host_side import launch_latency


def test_collective_time_of_a_training_run(shared_data: Path) -> None:
    trace = wavescope.open(shared_data / "rocprofv3" / "908_results.json.gz")

    result = kernel_summary(trace)

    first = result.table("kernels").records()[0]
    assert (first["name"], first["calls"]) == ("ncclDevKernel_Generic_1", 1_310)
    assert first["total_ns"] == 4_158_756_678
    assert round(float(first["mean_ns"] or 0), 1) == 3_174_623.4
    assert result.facts["listed_op_count"] == 43_915


def test_ops_without_a_launch_record_are_counted(shared_data: Path) -> None:
    path = shared_data / "kineto" / "mi300" / "Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"

    facts = launch_latency(wavescope.open(path)).facts

    assert (facts["linked_op_count"], facts["unlinked_op_count"]) == (1_054, 463)
    assert facts["inverted_op_count"] == 0
