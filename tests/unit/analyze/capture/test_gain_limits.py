"""No gain beyond what memory and cycles leave, and what it says when they are used up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture_folders import CaptureBuilder, a_capture, step
from tests.counters_builder import counted
from tests.plan_contexts import a_context, analysis
from wavescope.analyze.capture.latency_hiding import simd_time
from wavescope.analyze.capture.plan import KernelCounters, plan_result
from wavescope.analyze.capture.plan.memory_requests import lane_bytes
from wavescope.analyze.capture.plan.plan import planned_changes
from wavescope.analyze.traffic import TrafficOptions, kernel_traffic
from wavescope.model.chips.chip_table import chip_named
from wavescope.model.result import Finding

LOAD = "global_load_dwordx4 v[8:11], v[2:3], off"
STORE = "global_store_dwordx4 v[2:3], v[8:11], off"
WAVES = 1_000_000
BYTES = 2 * 16 * 64 * WAVES
"""A load and a store of 16 bytes by the 64 lanes of each wave."""


def a_copy(tb_per_s: float) -> CaptureBuilder:
    """A streaming kernel on MI350X whose waves wait for their load most of the time."""
    return (
        a_capture()
        .with_code(LOAD, "s_waitcnt vmcnt(0)", STORE, "s_endpgm")
        .with_wave([step(1), step(2, stall=984), step(3), step(4)])
        .with_agent(Name="gfx950", Product_Name="AMD Instinct MI350X")
        .with_kernel_row(
            Workgroup_Size_X=256, Workgroup_Size_Y=1, Workgroup_Size_Z=1,
            Grid_Size_X=64 * WAVES, Grid_Size_Y=1, Grid_Size_Z=1,
            Start_Timestamp=1_000, End_Timestamp=1_000 + round(BYTES / tb_per_s / 1000),
        )
    )  # fmt: skip


def findings_of(capture: CaptureBuilder, folder: Path) -> list[Finding]:
    return list(plan_result(analysis(capture, folder)).findings)


def test_a_kernel_that_asks_for_all_of_memory_has_nothing_to_gain_in_loads(tmp_path: Path) -> None:
    result = plan_result(analysis(a_copy(8.5), tmp_path))

    assert result.table("plan").column("pattern") == ["memory-full"]
    (finding,) = result.findings
    assert finding.title == (
        "#1 [HIGH] memory is the limit: the kernel requests 8.5 of 8.0 TB/s (MI350X)"
    )
    assert finding.gain_percent is None
    assert result.facts["memory"] == "requests 8.5 of 8.0 TB/s (MI350X)"
    assert finding.numbers["requested_tb_per_s"] == pytest.approx(8.5, abs=0.01)


def test_more_than_memory_can_give_comes_from_caches_and_bounds_nothing(tmp_path: Path) -> None:
    load, why = findings_of(a_copy(24.0), tmp_path)

    assert (load.id, why.id) == ("exposed-load", "memory-bound-why")
    assert load.gain_percent == pytest.approx(98.4)
    assert "requests 24.0 of 8.0 TB/s (MI350X), of which caches serve at least 67 %" in why.evidence


def test_what_memory_leaves_is_all_there_is_to_gain(tmp_path: Path) -> None:
    full, load = findings_of(a_copy(6.0), tmp_path)

    assert full.id == "memory-full", "it decides what the others are worth, so it comes first"
    assert load.id == "exposed-load"
    assert load.gain_percent == pytest.approx(25.0, abs=0.01)
    assert "the kernel requests 6.0 of 8.0 TB/s (MI350X)" in load.gain_basis
    assert "at most 25.0 % while the same bytes are moved" in load.gain_basis


def test_memory_that_is_hardly_asked_limits_nothing(tmp_path: Path) -> None:
    load, *_ = findings_of(a_copy(0.1), tmp_path)

    assert load.id == "exposed-load"
    assert load.gain_percent == pytest.approx(98.4)
    assert "TB/s" not in load.gain_basis


def test_gains_together_are_no_more_than_memory_leaves(tmp_path: Path) -> None:
    capture = a_copy(6.0)
    capture.code[:0] = [("s_load_dwordx4 s[0:3], s[4:5], 0x0", ""), ("s_waitcnt lgkmcnt(0)", "")]
    capture.waves.clear()
    capture.with_wave([step(1), step(2, stall=488), step(3), step(4, stall=488), step(5), step(6)])

    changes = planned_changes(a_context(capture, tmp_path))

    gains = {each.opportunity.pattern: each.gain_percent for each in changes}
    assert gains == {
        "memory-full": None,
        "scalar-entry": pytest.approx(12.5, abs=0.01),
        "exposed-load": pytest.approx(12.5, abs=0.01),
    }


def test_without_a_launch_the_traced_units_tell_where_all_had_waves(tmp_path: Path) -> None:
    capture = a_copy(1.0).with_clock(2_000)
    capture.kernel_row = None
    for cu in range(2, 10):
        capture.with_wave([step(1), step(2, stall=984), step(3), step(4)], cu=cu)

    memory = a_context(capture, tmp_path).memory

    assert memory is not None
    assert memory.tb_per_s == pytest.approx(2_048 / 1_000 * 256 * 2_000 / 1e6)


def test_a_few_traced_units_tell_nothing_of_the_whole_chip(tmp_path: Path) -> None:
    capture = a_copy(1.0)
    capture.kernel_row = None

    assert a_context(capture, tmp_path).memory is None


def test_requests_of_matrix_kernels_are_no_bound_because_caches_serve_them(tmp_path: Path) -> None:
    capture = a_copy(8.5)
    capture.code[2:2] = [("v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[4:5], v[6:7], a[0:3]", "")]
    capture.waves.clear()
    capture.with_wave([step(row, stall=900 if row == 2 else 0) for row in range(1, 6)])

    assert a_context(capture, tmp_path).memory is None


def test_counters_bound_a_matrix_kernel_by_what_memory_moved(tmp_path: Path) -> None:
    capture = a_copy(1.0)
    values = {"FETCH_SIZE": 6_000_000.0 / 1.024}
    (traffic,) = kernel_traffic(
        [counted(("k", 1_000_000, values))], TrafficOptions(chip_named("gfx950"))
    )

    memory = a_context(capture, tmp_path, KernelCounters(traffic, values)).memory

    assert memory is not None
    assert memory.words == "moves 6.0 of 8.0 TB/s (MI350X)"


def test_idle_is_what_no_traced_wave_of_a_simd_works(tmp_path: Path) -> None:
    capture = a_capture().with_code("s_waitcnt vmcnt(0)", "v_add_f32 v0, v1, v2")
    capture.with_wave([step(1, stall=80, issue=20)], slot=0)
    capture.with_wave([step(2, issue=30)], slot=1)

    assert simd_time(analysis(capture, tmp_path)).idle_percent == 50.0


def test_gains_are_no_more_than_the_time_in_which_simds_did_nothing(tmp_path: Path) -> None:
    """Two waves stall together for 100 cycles of 1,000; a third hides nothing of it."""
    capture = a_capture().with_code(LOAD, "s_waitcnt vmcnt(0)", "v_add_f32 v0, v1, v2")
    for slot in range(2):
        capture.with_wave([step(1, issue=1), step(2, stall=98, issue=1)], slot=slot)
    capture.with_wave([step(3, issue=900)], slot=2, begin=100)

    (load, *_) = planned_changes(a_context(capture, tmp_path))

    assert load.gain_percent == pytest.approx(9.8)
    assert "no more than the 9.8 % in which its SIMDs did nothing" in load.gain_basis


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (LOAD, 16),
        ("buffer_load_dwordx3 v[0:2], v3, s[0:3], 0 offen", 12),
        ("global_load_b64 v[0:1], v[2:3], off", 8),
        ("buffer_load_dword v0, v3, s[0:3], 0 offen", 4),
        ("global_load_ushort v0, v[2:3], off", 2),
        ("buffer_load_ubyte_d16 v0, v3, s[0:3], 0 offen", 1),
        ("global_load_u8 v0, v[2:3], off", 1),
        ("global_load_lds_dwordx4 v[0:1], off", 16),
        ("global_atomic_add_f32 v[0:1], v2, off", 4),
        ("global_atomic_pk_add_bf16 v[0:1], v2, off", 4),
        ("global_atomic_add_x2 v[0:1], v[2:3], off", 8),
        ("global_atomic_add_f64 v[0:1], v[2:3], off", 8),
        ("ds_read_b128 v[0:3], v4", 0),
        ("scratch_load_dword v0, off, off", 0),
    ],
)
def test_bytes_of_a_lane(text: str, size: int, tmp_path: Path) -> None:
    capture = a_capture().with_code(text).with_wave([step(1)])

    assert lane_bytes(analysis(capture, tmp_path)).tolist() == [0, size]
