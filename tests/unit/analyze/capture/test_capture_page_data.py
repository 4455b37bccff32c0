"""What the page of a capture shows: code with heat and producers, waves as strips."""

from __future__ import annotations

from pathlib import Path

from tests.capture_folders import CaptureBuilder, a_capture, step
from tests.plan_contexts import analysis
from wavescope.analyze.capture.page import Stall
from wavescope.analyze.capture.page.page_data import CodeViewOptions, Producer, code_view
from wavescope.analyze.capture.page.wave_timeline import wave_timeline

SOURCE = "@kernel\ndef k():\n    x = load()\n    y = x + 1\n"


def a_kernel() -> CaptureBuilder:
    return (
        a_capture()
        .with_code(
            ("global_load_dword v0, v[4:5], off", "/k.py:3"),
            ("s_waitcnt vmcnt(0)", "/lib/missing.h:7 -> /k.py:4"),
            ("v_add_f32 v0, v0, v1", "/k.py:4"),
            "s_endpgm",
        )
        .with_source("/k.py", SOURCE)
        .with_wave(
            [step(1), step(2, stall=90), step(3, stall=10), step(4)], simd=1, slot=2, begin=5
        )
    )


def test_instructions_name_their_line_and_what_they_waited_for(tmp_path: Path) -> None:
    view = code_view(analysis(a_kernel(), tmp_path))

    load, wait, add, end = view.rows
    assert [row.line for row in view.rows] == ["0:3", "0:4", "0:4", ""]
    assert wait.producers == (Producer(1, 90),)
    assert (load.producers, add.producers) == ((), ())
    assert wait.stall == Stall(90, 90, 9, 0, 0, 0)
    assert load.stall == Stall(0, 0, 0, 90, 90, 9)
    assert (add.stall.raw_heat, end.stall.raw_heat) == (1, 0)


def test_lines_have_the_stall_of_their_instructions(tmp_path: Path) -> None:
    (file,) = code_view(analysis(a_kernel(), tmp_path)).files

    assert file.path == "/k.py"
    assert [
        (line.number, line.text, line.stall.raw, line.stall.charged) for line in file.lines
    ] == [
        (1, "@kernel", 0, 0),
        (2, "def k():", 0, 0),
        (3, "    x = load()", 0, 90),
        (4, "    y = x + 1", 100, 10),
    ]


def test_what_does_not_fit_is_counted(tmp_path: Path) -> None:
    view = code_view(analysis(a_kernel(), tmp_path), CodeViewOptions(rows=2, lines_of_a_file=2))

    assert [row.row for row in view.rows] == [1, 2]
    assert view.left_out_rows == 2
    assert [line.number for line in view.files[0].lines] == [3, 4]
    assert view.files[0].left_out_count == 2


def test_a_capture_without_sources_has_only_instructions(tmp_path: Path) -> None:
    capture = a_kernel()
    capture.sources.clear()

    view = code_view(analysis(capture, tmp_path))

    assert view.files == []
    assert len(view.rows) == 4


def test_waves_are_strips_of_simds_and_slots(tmp_path: Path) -> None:
    capture = a_kernel().with_wave([step(1), step(2, stall=20)], simd=0, slot=0, begin=0)

    found = wave_timeline(analysis(capture, tmp_path))

    assert found is not None
    assert found.strip_labels == ["SE0 CU1 SIMD0", "slot 0", "SE0 CU1 SIMD1", "slot 2"]
    timeline = found.timeline
    assert timeline.span_ns == 5 + 4 * 4 + 100
    assert [strip.busy_ns for strip in timeline.strips] == [8, 8, 16, 16]
    total = timeline.strips[2].times[0].sum(axis=1)
    labels = timeline.colourings[0].labels
    assert dict(zip(labels, total.tolist(), strict=True)) == {
        "matrix": 0, "vector ALU": 4, "memory issue": 4, "other issue": 8,
        "stall: memory": 90, "stall: LDS or scalar": 0, "stall: barrier": 0, "stall: other": 10,
    }  # fmt: skip


def test_single_pieces_carry_their_instruction(tmp_path: Path) -> None:
    found = wave_timeline(analysis(a_kernel(), tmp_path))

    assert found is not None
    ops = found.timeline.ops
    longest = int(ops.duration_ns.argmax())
    assert found.names.names[int(found.names.of_op[longest])] == "s_waitcnt vmcnt(0)"
    assert (int(ops.start_ns[longest]), int(ops.duration_ns[longest])) == (4, 90)
    assert ops.left_out_count == 0


def test_no_wave_files_no_timeline(tmp_path: Path) -> None:
    assert wave_timeline(analysis(a_capture().with_code("s_endpgm"), tmp_path)) is None
