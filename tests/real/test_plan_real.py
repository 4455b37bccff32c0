"""Occupancy and plan of real captures."""

from __future__ import annotations

from pathlib import Path

from wavescope.analyze.capture import CaptureAnalysis
from wavescope.analyze.capture.kernel_occupancy import traced_occupancy
from wavescope.analyze.capture.plan import plan_result
from wavescope.analyze.occupancy import StatedResources
from wavescope.formats.captures import find_captures, load_capture
from wavescope.model.chips.chip_table import chip_named


def analysis(folder: Path) -> CaptureAnalysis:
    return CaptureAnalysis(load_capture(find_captures([folder])[0]))


def test_axpy_is_bound_by_its_two_loads(shared_data: Path) -> None:
    folder = shared_data / "thread-trace" / "gfx90a_axpy_ui_output_agent_14537_dispatch_1"

    result = plan_result(analysis(folder))

    patterns = result.table("plan").column("pattern")
    assert patterns[0] == "exposed-load"
    assert {"scalar-entry", "memory-bound-why"} <= set(patterns)
    gains = [gain for gain in result.table("plan").column("gain_percent") if gain is not None]
    assert sum(float(gain) for gain in gains) <= 100
    assert result.findings[-1].id == "plan-rows-only"


def test_axpy_fills_all_wave_slots(shared_data: Path) -> None:
    folder = shared_data / "thread-trace" / "gfx90a_axpy_ui_output_agent_14537_dispatch_1"
    capture = load_capture(find_captures([folder])[0])

    found = traced_occupancy(capture, StatedResources(chip_named("gfx90a")))

    assert found is not None
    assert found.occupancy.resources.vgprs == 4
    assert found.occupancy.waves_per_simd == 8


def test_samples_give_no_plan(shared_data: Path) -> None:
    result = plan_result(analysis(shared_data / "thread-trace" / "pc_sampling_folder"))

    assert [finding.id for finding in result.findings] == ["plan-samples-only"]
