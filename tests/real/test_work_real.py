"""The work of operators, its roofline and what findings say of it, on real traces."""

from __future__ import annotations

import gzip
from pathlib import Path

import orjson
import pytest

import wavescope
from wavescope.model.result import Finding, Value

OWLV2 = "truth/owlv2_mi300x.json.gz"
SGLANG = "truth/sglang_extend_mi300x.json.gz"
WITH_SHAPES = (
    OWLV2,
    SGLANG,
    "truth/timesformer_h100.json.gz",
    "truth/vit_mi300x.json.gz",
    "truth/flux_capture_mi300x.json.gz",
    "truth/normalization_mi300x.json.gz",
    "truth/training_control.json.gz",
    "truth/training_test.json.gz",
    "h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
)


def kineto(shared_data: Path, name: str) -> Path:
    return shared_data / "kineto" / name


def by_role(path: Path) -> dict[str, dict[str, Value]]:
    """The largest use of each role."""
    rows = wavescope.work(path).table("work").records()
    return {str(row["role"]): row for row in reversed(rows) if row["role"]}


def told(path: Path) -> dict[str, Finding]:
    return {finding.id: finding for finding in wavescope.findings(path)}


def test_the_products_of_a_prefill(shared_data: Path) -> None:
    found = by_role(kineto(shared_data, SGLANG))

    # Qwen3-8B, 15 x 1,024 tokens: hidden 4,096, 32 + 2 * 8 heads of 128, inner 12,288
    assert {role: (row["shape"], row["calls"]) for role, row in found.items()} == {
        "QKV": ("15360x6144x4096", 36),
        "attention out": ("15360x4096x4096", 36),
        "FFN gate+up": ("15360x24576x4096", 36),
        "FFN down": ("15360x4096x12288", 36),
        "LM head": ("15x151936x4096", 1),
    }
    largest = found["FFN gate+up"]
    assert largest["gpu_time_ns"] == 243_643_021
    assert largest["flops"] == 36 * 2 * 15360 * 24576 * 4096
    # at 1,307.4 TFLOP/s these take 85.15 ms
    assert largest["percent_of_peak"] == pytest.approx(34.95, abs=0.01)
    assert largest["bound"] == "compute"


def test_attention_over_pages_counts_the_sequences_not_the_cache(shared_data: Path) -> None:
    rows = wavescope.work(kineto(shared_data, SGLANG)).table("work").records()
    (row,) = (row for row in rows if row["operator"] == "aiter::mha_batch_prefill")

    pairs = 15 * 32 * 1024 * 1025 // 2
    assert row["flops"] == 36 * 2 * pairs * 256
    assert row["bytes"] == 36 * 15_360 * 2 * (32 + 8) * 128 * 2


def test_a_replay_does_the_work_of_the_captured_pass(shared_data: Path) -> None:
    """The one replay of the capture; its eager products are counted as they ran."""
    path = kineto(shared_data, "truth/flux_capture_mi300x.json.gz")
    with gzip.open(path) as file:
        events = orjson.loads(file.read())["traceEvents"]
    sizes = [event["args"]["Input Dims"][:2] for event in events if event["name"] == "aten::mm"]
    result = wavescope.work(path)
    products = [row for row in result.table("work").records() if row["operator"] == "aten::mm"]

    assert sum(int(row["calls"] or 0) for row in products) == len(sizes) == 427 + 171
    assert sum(int(row["flops"] or 0) for row in products) == sum(
        2 * rows * depth * columns for (rows, depth), (_, columns) in sizes
    )
    assert result.facts["joined_graph_replay_ns"] == result.facts["replayed_ns"] == 35_504_808


@pytest.mark.parametrize("name", WITH_SHAPES)
def test_no_product_is_faster_than_its_gpu_and_no_kernel_counts_twice(
    shared_data: Path, name: str
) -> None:
    result = wavescope.work(kineto(shared_data, name))
    rows = result.table("work").records()

    kernel_time_ns = int(result.facts["kernel_time_ns"] or 0)
    assert sum(int(row["gpu_time_ns"] or 0) for row in rows) <= kernel_time_ns
    assert result.facts["boards"] != "unknown"
    faster = [row for row in rows if float(row["percent_of_peak"] or 0) > 110]
    # Tensors that fit into a cache may be read faster than memory is: they are marked.
    assert {row["bound"] for row in faster} <= {"memory"}
    assert all("cached data" in str(row["note"]) for row in faster)
    assert sum(int(row["gpu_time_ns"] or 0) for row in faster) < 0.002 * kernel_time_ns


def test_attention_in_parts_is_told_as_such(shared_data: Path) -> None:
    found = told(kineto(shared_data, OWLV2))

    # 24 layers of the image tower and 12 of the text tower, 5 steps
    assert found["unfused-attention"].numbers["attention_count"] == 180
    assert found["unfused-attention"].numbers["gpu_time_percent"] == pytest.approx(75.6, abs=0.1)
    assert "dominant-work" not in found
    assert "unfused-attention" not in told(kineto(shared_data, "truth/vit_mi300x.json.gz"))


def test_the_time_above_the_roofline_is_told_for_products(shared_data: Path) -> None:
    finding = told(kineto(shared_data, SGLANG))["above-roofline"]

    assert finding.title == (
        "aten::mm (FFN gate+up) runs at 35 % of MI300X's bf16 matrix peak; 158.5 ms above the "
        "roofline in total"
    )


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("vllm/vllm_decode_graph_execution.json.gz", 72.7),
        ("truth/vllm_piecewise_mi300x.json.gz", 81.4),
    ],
)
def test_experts_that_dominate_are_told_without_shapes(
    shared_data: Path, name: str, share: float
) -> None:
    finding = told(kineto(shared_data, name))["dominant-work"]

    assert finding.numbers["category"] == "MoE"
    assert finding.numbers["gpu_time_percent"] == pytest.approx(share, abs=0.05)
