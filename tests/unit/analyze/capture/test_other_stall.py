"""What no pattern explains is told by its cause, and loops that wait for others are called that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture_folders import CaptureBuilder, a_capture, step
from tests.plan_contexts import a_context, analysis, exposed_of, found_by
from wavescope.analyze.capture.plan import plan_result
from wavescope.analyze.capture.plan.patterns import (
    idle_gaps,
    lds_before_matrix,
    other_stall,
    polling,
)
from wavescope.analyze.capture.plan.plan import planned_changes

MFMA = "v_mfma_f32_16x16x16_f16 a[0:3], v[8:9], v[10:11], a[0:3]"
ENTRY = ("s_load_dwordx4 s[0:3], s[4:5], 0x0", "s_waitcnt lgkmcnt(0)")
LDS_WAIT = "s_waitcnt lgkmcnt(0)"


def patterns_of(capture: CaptureBuilder, folder: Path) -> list[str]:
    return [each.opportunity.pattern for each in planned_changes(a_context(capture, folder))]


@pytest.mark.parametrize(
    ("code", "pattern"),
    [
        (("ds_read_b32 v2, v0", LDS_WAIT, "v_add_f32_e32 v1, v1, v2"), "lds-latency"),
        (("ds_bpermute_b32 v2, v0, v1", LDS_WAIT, "v_add_f32_e32 v1, v1, v2"), "lds-latency"),
        (("ds_write_b32 v0, v2", LDS_WAIT, "s_barrier", MFMA), "lds-latency"),
        (("s_load_dword s6, s[0:1], s7", LDS_WAIT, "v_add_u32_e32 v0, s6, v0"), "scalar-load"),
        (("v_mov_b32_e32 v9, 0", "v_fma_f64 v[2:3], v[2:3], v[4:5], v[2:3]"), "arithmetic-stall"),
        (("v_mov_b32_e32 v9, 0", "global_store_dwordx4 v0, v[1:4], s[2:3]"), "store-stall"),
        (("global_store_dword v0, v9, s[2:3]", "s_waitcnt vmcnt(0)"), "store-wait"),
        (("v_mov_b32_e32 v9, 0", MFMA), "matrix-unit"),
        (("v_mov_b32_e32 v9, 0", "s_sleep 1"), "unexplained-stall"),
    ],
)
def test_what_takes_most_of_the_time_comes_first(
    code: tuple[str, ...], pattern: str, tmp_path: Path
) -> None:
    load = ("global_load_dword v1, v0, s[0:1]", "s_waitcnt vmcnt(0)")
    capture = a_capture().with_code(*load, *code)
    round_of = [step(3), step(4, stall=200), *(step(row) for row in range(5, 3 + len(code)))]
    capture.with_wave([step(1), step(2, stall=500), *round_of * 20])

    assert patterns_of(capture, tmp_path)[:2] == [pattern, "exposed-load"]


def test_it_says_where_and_how_long(tmp_path: Path) -> None:
    read = ("ds_read_b32 v2, v0", LDS_WAIT)
    capture = a_capture().with_code(*read, *read)
    capture.with_wave([step(1), step(2, stall=60), step(3), step(4, stall=40)])
    context = a_context(capture, tmp_path)

    (found,) = found_by(other_stall.find, context)

    assert exposed_of(context, found) == 100
    assert found.where == "row 1 and 1 other place"
    assert "issued 4 cycles before it is waited for, arrives after 54" in found.evidence
    assert found.sketch.before == ("ds_read_b32 v2, v0", "s_waitcnt lgkmcnt(0)  # waits")


def test_a_little_of_it_is_not_told(tmp_path: Path) -> None:
    capture = a_capture().with_code("v_mov_b32_e32 v9, 0", "v_rcp_f32_e32 v2, v0")
    capture.with_wave([step(1, issue=200), step(2, stall=5)])

    assert found_by(other_stall.find, a_context(capture, tmp_path)) == []


def test_a_write_to_lds_is_nothing_that_a_matrix_instruction_reads(tmp_path: Path) -> None:
    capture = a_capture().with_code("ds_write_b128 v0, v[4:7]", LDS_WAIT, "s_barrier", MFMA)
    capture.with_wave([step(1), step(2, stall=200), step(3), step(4)])

    assert found_by(lds_before_matrix.find, a_context(capture, tmp_path)) == []


def a_long_kernel(*, other_wave: bool) -> CaptureBuilder:
    """One wave that waits 100 cycles for every sixteenth instruction, perhaps beside a busy one."""
    capture = a_capture().with_code(*["v_add_f32_e32 v0, v0, v1"] * 64, "s_endpgm")
    steps = [step(row, idle=0 if row % 16 else 100) for row in range(1, 65)]
    capture.with_wave([*steps, step(65, idle=500)])
    if other_wave:
        capture.with_wave([step(1, issue=2_000)], slot=1)
    return capture


def test_waves_that_have_nothing_to_issue(tmp_path: Path) -> None:
    context = a_context(a_long_kernel(other_wave=False), tmp_path)

    (found,) = found_by(idle_gaps.find, context)

    assert found.gain_cycles == 400, "the last one is before the end, where nothing is left to do"
    assert found.where == "row 16"
    assert context.main_row(found) == 16
    assert "instruction cache, or a register" in found.cause


def test_a_gap_in_which_another_wave_works_costs_nothing(tmp_path: Path) -> None:
    context = a_context(a_long_kernel(other_wave=True), tmp_path)

    assert found_by(idle_gaps.find, context) == []


def a_polling_loop(read: str, *between: str) -> CaptureBuilder:
    code = (read, "s_waitcnt vmcnt(0) lgkmcnt(0)", *between, "s_cbranch_vccnz 65530")
    capture = a_capture().with_code(*ENTRY, *code, "global_store_dword v0, v1, s[2:3]")
    round_of = [step(3), step(4, stall=900), *(step(row) for row in range(5, 3 + len(code)))]
    return capture.with_wave([step(1), step(2), *round_of * 20, step(3 + len(code))])


COMPARE = "v_cmp_ne_u32_e32 vcc, 0, v3"


@pytest.mark.parametrize(
    "capture",
    [
        a_polling_loop("global_load_dword v3, v0, s[0:1] sc0 sc1", COMPARE),
        a_polling_loop("global_load_dword v3, v[4:5], off glc", COMPARE),
        a_polling_loop("flat_load_dword v3, v[4:5]", COMPARE, "s_sleep 1"),
        a_polling_loop("global_load_dword v3, v0, s[0:1]", "buffer_inv sc1", COMPARE),
        a_polling_loop("s_load_dword s6, s[0:1], 0x0 glc", "s_cmp_lg_u32 s6, 0"),
    ],
)
def test_a_loop_that_looks_for_what_others_write(capture: CaptureBuilder, tmp_path: Path) -> None:
    result = plan_result(analysis(capture, tmp_path))

    (finding,) = result.findings
    assert finding.id == "polling"
    assert finding.title.startswith("#1 [HIGH] waves read one place again and again")
    assert finding.gain_percent is None, "no change of these waves brings it"


@pytest.mark.parametrize(
    "capture",
    [
        a_polling_loop("global_load_dword v3, v0, s[0:1]", COMPARE),
        a_polling_loop("global_load_dword v3, v0, s[0:1] sc1", "v_add_u32_e32 v0, 4, v0", COMPARE),
        a_polling_loop("global_load_dword v3, v0, s[0:1] sc1", "s_add_u32 s0, s0, 64", COMPARE),
        a_polling_loop("global_load_dword v3, v0, s[0:1] sc1", MFMA, COMPARE),
        a_polling_loop(
            "global_load_dword v3, v0, s[0:1] sc1", "global_store_dword v8, v3, s[2:3]", COMPARE
        ),
    ],
)
def test_a_loop_that_works_or_moves_on_polls_nothing(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    assert found_by(polling.find, a_context(capture, tmp_path)) == []


def test_a_little_polling_does_not_come_first(tmp_path: Path) -> None:
    capture = a_polling_loop("global_load_dword v3, v0, s[0:1] sc1", COMPARE)
    capture.with_code("global_load_dword v6, v7, s[0:1]", "s_waitcnt vmcnt(0)")
    end = len(capture.code)
    capture.waves[0].steps += [step(end - 1), step(end, stall=60_000)]

    assert patterns_of(capture, tmp_path) == ["exposed-load", "polling", "memory-bound-why"]
