"""Several traces beside each other."""

from __future__ import annotations

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.page import Trends, change_percent, report_of, trends


def version(gemm_ns: int, *, mode: str) -> TraceMaker:
    maker = a_trace().with_agent(0, chip="gfx942", model="MI300X").with_metadata("mode", mode)
    maker.with_marker("prefill", 0, 1_000).with_marker("decode", 1_000, 9_000)
    maker.with_kernel("gemm", 0, gemm_ns).with_kernel("paged_attention_kernel", 2_000, 2_100)
    return maker.with_coverage(4, 2)


@pytest.fixture(scope="module")
def found() -> Trends:
    makers = [version(100, mode="lite"), version(150, mode="full").with_kernel("new", 3_000, 3_050)]
    return trends(["v1", "v2"], [report_of(maker.build()) for maker in makers])


def test_figures_have_a_row_for_each_trace(found: Trends) -> None:
    first, second = found.result.table("figures").records()

    assert first == {
        "trace": "v1",
        "gpu_model": "MI300X",
        "mode": "lite",
        "gpu_count": 1,
        "op_count": 2,
        "kernel_name_count": 2,
        "span_ns": 2_100,
        "gpu_time_ns": 200,
        "busy_percent": pytest.approx(100 * 200 / 2_100),
        "prefill_ns": 100,
        "decode_ns": 100,
        "idle_percent": pytest.approx(100 * 1_900 / 2_100),
        "coverage_percent": 50,
    }
    assert (second["mode"], second["prefill_ns"], second["decode_ns"]) == ("full", 150, 150)


def test_regressions_are_against_the_first_and_the_one_before(found: Trends) -> None:
    first, second = found.result.table("regressions").records()

    assert first["gpu_time_ns_from_first_change_percent"] is None
    assert second["gpu_time_ns"] == 300
    assert second["gpu_time_ns_from_first_change_percent"] == 50
    assert second["gpu_time_ns_from_previous_change_percent"] == 50


def test_kernels_have_their_mean_in_each_trace(found: Trends) -> None:
    rows = {row["name"]: row for row in found.result.table("kernel_changes").records()}

    assert rows["gemm"]["mean_1_ns"] == 100
    assert rows["gemm"]["mean_2_ns"] == 150
    assert rows["gemm"]["mean_change_percent"] == 50
    assert rows["new"]["mean_1_ns"] is None
    assert rows["new"]["total_change_percent"] is None


def test_what_no_trace_has_is_no_metric(found: Trends) -> None:
    names = [metric.name for metric in found.metrics]

    assert "exposed_communication_percent" not in names
    assert "prefill_ns" in names


def test_changes_of_nothing_are_unknown() -> None:
    assert change_percent(0, 5) is None
    assert change_percent(None, 5) is None
    assert change_percent(4, 5) == 25
