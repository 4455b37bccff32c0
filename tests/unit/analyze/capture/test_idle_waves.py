"""Waves that found no work: the only thing said of them is to capture others."""

from __future__ import annotations

from pathlib import Path

from tests.capture_folders import CaptureBuilder, a_capture, step
from tests.plan_contexts import analysis
from wavescope.analyze.capture import hotspots
from wavescope.analyze.capture.plan import plan_result

PROLOGUE = (
    "s_load_dwordx4 s[0:3], s[4:5], 0x0",
    "s_waitcnt lgkmcnt(0)",
    "s_cbranch_scc1 90",
)
WORK = ("v_add_f32 v0, v1, v2",) * 60
STORE = "global_store_dword v[0:1], v2, off"


def a_kernel(*tail: str) -> CaptureBuilder:
    return a_capture().with_code(*PROLOGUE, *WORK, *tail, "s_endpgm")


def leaving(capture: CaptureBuilder, waves: int = 3) -> CaptureBuilder:
    """Waves that wait for their arguments and end."""
    end = len(capture.code)
    for slot in range(waves):
        capture.with_wave([step(1), step(2, stall=900), step(3), step(end)], slot=slot)
    return capture


def test_waves_that_left_at_once_give_one_finding_and_no_plan(tmp_path: Path) -> None:
    result = plan_result(analysis(leaving(a_kernel(STORE)), tmp_path))

    assert result.table("plan").rows == []
    (finding,) = result.findings
    assert finding.id == "capture-no-work"
    assert finding.title == ("These waves found no work: 4 of 65 instructions ran; capture others")
    assert finding.numbers == {"executed_rows": 4, "rows": 65, "waves": 3}


def test_hotspots_say_it_first_and_nothing_else_of_the_stall(tmp_path: Path) -> None:
    result = hotspots(analysis(leaving(a_kernel(STORE)), tmp_path))

    assert [finding.id for finding in result.findings] == ["capture-no-work"]


def test_a_disassembly_without_executions_is_all_that_there_is(tmp_path: Path) -> None:
    capture = analysis(a_kernel(STORE), tmp_path)

    plan, spots = plan_result(capture), hotspots(capture)

    assert [finding.id for finding in plan.findings] == ["capture-no-waves"]
    assert [finding.id for finding in spots.findings] == ["capture-no-waves"]
    (finding,) = plan.findings
    assert finding.title == "No wave was traced: no instruction has an execution"
    assert finding.numbers == {"rows": 65}


def test_without_wave_files_rows_tell_it(tmp_path: Path) -> None:
    folder = tmp_path / "whole"
    capture = leaving(a_kernel(STORE))
    rows = capture.rows()
    bare = a_kernel(STORE)
    bare.rows = lambda: rows  # type: ignore[method-assign]

    result = plan_result(analysis(bare, folder))

    assert [finding.id for finding in result.findings] == ["capture-no-work"]


def patterns(capture: CaptureBuilder, folder: Path) -> list[str]:
    return [
        str(name) for name in plan_result(analysis(capture, folder)).table("plan").column("pattern")
    ]


def test_a_wave_that_stored_had_work(tmp_path: Path) -> None:
    capture = leaving(a_kernel(STORE))
    capture.with_wave([step(1), step(2, stall=900), step(64), step(65)], slot=9)

    assert patterns(capture, tmp_path) == ["scalar-entry"]


def test_a_kernel_without_stores_may_be_as_short_as_it_likes(tmp_path: Path) -> None:
    assert patterns(leaving(a_kernel()), tmp_path) == ["scalar-entry"]


def test_a_trace_that_was_cut_off_may_have_lost_the_work(tmp_path: Path) -> None:
    capture = a_kernel(STORE).with_wave([step(1), step(2, stall=900)])

    assert patterns(capture, tmp_path) == ["scalar-entry"]
