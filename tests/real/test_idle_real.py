"""Idle time of real traces over what the host did during it: labels of ours, exact to the ns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wavescope
from wavescope.model.result import Finding, Severity

TRACES = (
    "truth/vllm_piecewise_mi300x.json.gz",
    "truth/sglang_extend_mi300x.json.gz",
    "truth/owlv2_mi300x.json.gz",
    "truth/timesformer_h100.json.gz",
    "truth/vit_mi300x.json.gz",
    "truth/normalization_mi300x.json.gz",
    "truth/flux_capture_mi300x.json.gz",
    "truth/training_nccl.json.gz",
    "truth/training_control.json.gz",
    "truth/training_test.json.gz",
    "sglang/sglang_Qwen3-8B_decode.json.gz",
    "vllm/vllm_decode_graph_execution.json.gz",
    "truth/llama_only_prefill_h200.json.gz",
    "truth/llama_assisted_h200.json.gz",
)


def labels(shared_data: Path) -> dict[str, dict[str, dict[str, int]]]:
    told = json.loads((shared_data / "kineto" / "labels.json").read_text())
    return {name: label["idle"] for name, label in told.items() if not name.startswith("_")}


def test_every_labelled_trace_is_checked(shared_data: Path) -> None:
    assert set(labels(shared_data)) == set(TRACES)


@pytest.mark.parametrize("name", TRACES)
def test_the_parts_are_those_of_the_labels(shared_data: Path, name: str) -> None:
    result = wavescope.findings_result(shared_data / "kineto" / name)
    expected = labels(shared_data)[name]
    rows = {str(row["gpu"]): row for row in result.table("idle").records()}

    assert set(rows) == set(expected)
    for gpu, parts in expected.items():
        assert {key: rows[gpu][key] for key in parts} == parts
    for finding in result.findings:
        if finding.id == "gpu-idle":
            parts = expected[str(finding.numbers["gpu"])]
            assert {key: finding.numbers[key] for key in parts} == parts


def idle_of(shared_data: Path, name: str) -> Finding:
    (finding,) = wavescope.findings(shared_data / "kineto" / name, only=["gpu-idle"])
    return finding


def test_image_preprocessing_that_keeps_the_gpu_waiting_is_named(shared_data: Path) -> None:
    finding = idle_of(shared_data, "truth/owlv2_mi300x.json.gz")

    assert "the host was in scipy.ndimage.zoom instead of launching more" in finding.title
    assert finding.numbers["before_call"] == "scipy.ndimage.zoom"
    assert finding.numbers["longest_gap_call"] == "scipy.ndimage.zoom"
    assert "112.6 ms of 142.8 ms in scipy.ndimage.zoom" in finding.evidence
    assert "preprocess" in str(finding.numbers["before_stack"])
    assert ".item()" not in finding.suggestion


def test_first_launches_that_load_code_are_set_apart(shared_data: Path) -> None:
    finding = idle_of(shared_data, "truth/normalization_mi300x.json.gz")

    assert (finding.numbers["main_cause"], finding.numbers["reason"]) == (
        "in_launch",
        "first_launch",
    )
    assert finding.severity is Severity.INFO
    assert finding.numbers["startup_ns"] == finding.numbers["first_launch_ns"] == 978_602_976
    assert "batch_norm_collect_statistics_kernel 331.6 ms" in finding.evidence
    assert finding.gain_percent is not None and finding.gain_percent < 10


@pytest.mark.parametrize(
    "name", ["sglang/sglang_Qwen3-8B_decode.json.gz", "truth/sglang_extend_mi300x.json.gz"]
)
def test_an_op_that_was_launched_in_time_is_no_reason_to_launch_less(
    shared_data: Path, name: str
) -> None:
    finding = idle_of(shared_data, name)

    assert (finding.numbers["main_cause"], finding.numbers["reason"]) == ("after_launch", "event")
    assert "what it waited for is not in the trace" in finding.evidence
    assert "the host waited in hipMemcpyWithStream" in finding.evidence
    assert finding.suggestion.startswith("launching less does not help")
    assert finding.gain_percent is None


def test_capturing_a_graph_is_start_up(shared_data: Path) -> None:
    finding = idle_of(shared_data, "truth/flux_capture_mi300x.json.gz")

    assert finding.numbers["reason"] == "one_time"
    assert "torch.cudagraph_trees._record" in finding.title
    assert finding.severity is Severity.WARNING


def test_dispatch_numbers_that_jump_come_before_any_claim(shared_data: Path) -> None:
    path = shared_data / "rocprofv3" / "gfx1151" / "decode_kernel_trace.csv"
    found = {each.id: each for each in wavescope.findings(path)}

    assert found["low-coverage"].numbers["seen"] == 4_734
    assert found["low-coverage"].numbers["timed"] == 144
    assert found["gpu-idle"].evidence.startswith("4,590 of 4,734 dispatch numbers are missing")
    assert found["gpu-idle"].gain_percent is None


def test_a_filter_of_kernels_does_not_make_a_gpu_idle(shared_data: Path) -> None:
    path = shared_data / "kineto" / "truth" / "training_control.json.gz"
    (whole,) = wavescope.summary(path).table("gpus").records()
    (part,) = wavescope.summary(path, kernel="gemm").table("gpus").records()

    assert part["idle_ns"] <= whole["idle_ns"]
    assert not wavescope.findings(path, kernel="gemm", only=["gpu-idle"])
