"""Real traces of every tool have a report that is small and whole."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

import wavescope
from wavescope.analyze.page import report_of

TRACES = (
    "kineto/h200/h200_graph_decode.json.gz",
    "kineto/mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "kineto/sglang/sglang_Qwen3-8B_decode.json.gz",
    "kineto/vllm/vllm_decode_graph_execution.json.gz",
    "kineto/mi210/gpu_only_trace.json.gz",
    "rtl/hip_4gpu.db",
)


class Sections(HTMLParser):
    """The headings of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._is_heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_heading = tag == "h2"

    def handle_data(self, data: str) -> None:
        if self._is_heading:
            self.found.append(data)
        self._is_heading = False


@pytest.mark.parametrize("name", TRACES)
def test_a_real_trace_has_a_report(name: str, shared_data: Path, tmp_path: Path) -> None:
    page = wavescope.report(shared_data / name, tmp_path / "report.html")

    headings = Sections()
    headings.feed(page.read_text())
    assert {"Findings", "Timeline", "Where the time goes", "Kernels"} <= set(headings.found)
    assert page.stat().st_size < 2_000_000


@pytest.mark.parametrize("name", TRACES)
def test_strips_hold_the_busy_time_of_each_gpu(name: str, shared_data: Path) -> None:
    with wavescope.open(shared_data / name) as trace:
        drawn = report_of(trace).timeline
        busy = {
            row["gpu"]: row["busy_ns"] for row in wavescope.summary(trace).table("gpus").records()
        }

    assert {strip.gpu: strip.busy_ns for strip in drawn.strips if strip.queue is None} == busy
    for strip in drawn.strips:
        assert round(strip.times[0].sum()) == strip.busy_ns


def test_two_real_traces_are_compared(shared_data: Path, tmp_path: Path) -> None:
    qwen = "Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"
    paths = [shared_data / "kineto" / chip / qwen for chip in ("mi300", "h100")]

    page = wavescope.report(paths, tmp_path / "report.html", labels=["MI300X", "H100"])

    headings = Sections()
    headings.feed(page.read_text())
    assert headings.found[0] == "Traces by metrics"
    assert {"Trends", "What changed", "Each trace"} <= set(headings.found)
