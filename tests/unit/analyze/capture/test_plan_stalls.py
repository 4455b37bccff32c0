"""Exposed stall, its pieces by cause, loops and operands: what the patterns build on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.capture_folders import a_capture, step
from tests.plan_contexts import a_context, analysis
from wavescope.analyze.capture.instruction_kinds import operands_of
from wavescope.analyze.capture.latency_hiding import exposed_stalls
from wavescope.analyze.capture.plan.loops import Loop, find_loops, innermost_loop

MFMA = "v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]"


def test_a_lone_waves_stall_is_exposed(tmp_path: Path) -> None:
    capture = a_capture().with_code("global_load_dword v1, v[2:3], off", "s_waitcnt vmcnt(0)")
    context = a_context(capture.with_wave([step(1), step(2, stall=100)]), tmp_path)

    assert exposed_stalls(context.analysis).tolist() == [0, 100]
    assert context.lifetime == 108


def test_what_another_wave_of_the_simd_issues_hides_stall(tmp_path: Path) -> None:
    capture = (
        a_capture()
        .with_code("s_waitcnt vmcnt(0)", "v_add_f32 v0, v1, v2")
        .with_wave([step(1, stall=100)], slot=0)
        .with_wave([step(2, issue=30, idle=20)], slot=1)
        .with_wave([step(2, issue=90)], simd=1)
    )

    assert exposed_stalls(analysis(capture, tmp_path)).tolist() == [70, 0, 0]


def test_a_running_matrix_instruction_hides_stall(tmp_path: Path) -> None:
    capture = a_capture().with_code(MFMA, "s_waitcnt vmcnt(0)")
    capture.with_wave([step(1, issue=4), step(2, stall=100)])

    context = a_context(capture, tmp_path)

    assert context.matrix_cycles[1] == 16
    assert exposed_stalls(context.analysis).tolist() == [0, 88], (
        "12 of the 16 cycles lie in the stall"
    )


def test_a_wave_that_only_waits_for_its_stores_hides_nothing(tmp_path: Path) -> None:
    capture = (
        a_capture()
        .with_code("s_waitcnt vmcnt(0)", "s_endpgm", "s_sleep 2")
        .with_wave([step(1, stall=100)], slot=0)
        .with_wave([step(2, issue=90)], slot=1)
        .with_wave([step(3, issue=90)], slot=2)
    )

    assert exposed_stalls(analysis(capture, tmp_path)).tolist() == [100, 0, 0]


def test_pieces_of_waits_belong_to_what_they_waited_for(tmp_path: Path) -> None:
    capture = a_capture().with_code(
        "global_load_dword v1, v[2:3], off",
        "ds_read_b32 v4, v5",
        "s_waitcnt vmcnt(0) lgkmcnt(0)",
        "v_add_f32 v0, v1, v4",
        "s_waitcnt vmcnt(0)",
    )
    capture.with_wave([step(1), step(2), step(3, stall=101), step(4, stall=7), step(5, stall=9)])

    pieces = a_context(capture, tmp_path).pieces
    rows = pieces.rows_of(np.arange(len(pieces)))

    by_cause = sorted(
        zip(rows.tolist(), pieces.cause_row.tolist(), pieces.stall.tolist(), strict=True)
    )
    assert by_cause == [(3, 1, 50), (3, 2, 51), (4, 4, 7), (5, 5, 9)]
    assert pieces.stall.sum() == 117
    assert [pieces.stall_of(np.array([place])) for place in range(len(pieces))] == (
        pieces.stall.tolist()
    )
    assert pieces.exposed.tolist() == pieces.stall.tolist()


def test_loops_are_where_waves_jumped_back(tmp_path: Path) -> None:
    capture = a_capture().with_code(*["s_nop 0"] * 6)
    capture.with_wave([step(row) for row in (1, 2, 3, 3, 4, 2, 3, 4, 5)])
    capture.with_wave([step(row) for row in (1, 2, 3, 4, 2, 3, 4, 5)])
    context = a_context(capture, tmp_path)

    loops = find_loops(context.analysis)

    assert loops == [Loop(3, 3, 1), Loop(2, 4, 2)]
    assert innermost_loop(loops, 7).tolist() == [-1, -1, 1, 0, 1, -1, -1]


def test_a_block_that_lies_before_its_jump_is_no_loop(tmp_path: Path) -> None:
    capture = a_capture().with_code("s_nop 0", "s_nop 1", "s_branch 65530", "s_endpgm")
    capture.with_wave([step(1), step(3), step(2), step(4)])

    assert a_context(capture, tmp_path).loops == []


def test_a_function_called_twice_is_no_loop(tmp_path: Path) -> None:
    function = ("v_add_f32 v0, v1, v2", "s_setpc_b64 s[30:31]")
    call = "s_swappc_b64 s[30:31], s[4:5]"
    capture = a_capture().with_code(*function, call, call, "s_endpgm")
    capture.with_wave([step(row) for row in (3, 1, 2, 4, 1, 2, 5)])

    assert a_context(capture, tmp_path).loops == []


def test_straight_code_has_no_loops(tmp_path: Path) -> None:
    capture = a_capture().with_code("s_nop 0", "s_nop 0").with_wave([step(1), step(2)])

    assert a_context(capture, tmp_path).loops == []


@pytest.mark.parametrize(
    ("text", "written", "read"),
    [
        (MFMA, {("a", 0), ("a", 1), ("a", 2), ("a", 3)}, {("v", 0), ("v", 1), ("v", 2), ("v", 3), ("a", 0), ("a", 1), ("a", 2), ("a", 3)}),
        ("v_add_f32 v0, v1, v2", {("v", 0)}, {("v", 1), ("v", 2)}),
        ("v_fmac_f32_e32 v3, s0, v2", {("v", 3)}, {("v", 2), ("v", 3)}),
        ("global_store_dword v[0:1], v3, off", set(), {("v", 0), ("v", 1), ("v", 3)}),
        ("buffer_load_dword v7, v1, s[0:3], 0 offen", {("v", 7)}, {("v", 1)}),
        ("v_cmp_gt_i32_e32 vcc, s1, v0", set(), {("v", 0)}),
        ("s_mov_b32 s1, s2", set(), set()),
        ("", set(), set()),
    ],
)  # fmt: skip
def test_operands(text: str, written: set[tuple[str, int]], read: set[tuple[str, int]]) -> None:
    found = operands_of(text)

    assert (set(found.written), set(found.read)) == (written, read)
