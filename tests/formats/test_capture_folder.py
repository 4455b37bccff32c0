"""Captures are read whatever the version wrote and whatever the disk did to it."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.capture_folders import HEADER, CaptureBuilder, a_capture, step, write_json
from wavescope.errors import UnreadableInputError
from wavescope.formats.captures import code_table, find_captures, load_capture, occupancy_file
from wavescope.formats.captures.code_rows import frames_of
from wavescope.model.capture import Capture, Frame, Measure


def read(*paths: Path) -> Capture:
    (location,) = find_captures(paths)
    return load_capture(location)


def an_axpy() -> CaptureBuilder:
    return (
        a_capture()
        .with_source("/src/k.py", "@kernel\ndef axpy():\n    load()\n    store()\n")
        .with_code(
            ("s_load_dword s0, s[4:5], 0x0", "/src/k.py:2"),
            ("s_waitcnt lgkmcnt(0)", "/src/k.py:2"),
            ("global_load_dword v2, v[2:3], off", "/src/lib.h:7 -> /src/k.py:3"),
            ("s_waitcnt vmcnt(0)", "/src/k.py:4"),
            ("s_endpgm", ""),
        )
        .with_wave(
            [step(1), step(2, stall=50), step(3, stall=8), step(4, stall=200, idle=3), step(5)],
            begin=100,
        )
        .with_wave(
            [step(1), step(2, stall=60), step(3), step(4, stall=150), step(5)], simd=1, begin=104
        )
    )


def test_a_folder_gives_instructions_waves_sources_and_occupancy(tmp_path: Path) -> None:
    capture = read(an_axpy().with_clock(2100).write(tmp_path))

    assert capture.kernel_name == "axpy(float*)"
    assert capture.facts.dispatch_id == 1
    assert capture.facts.gfxip == 9
    assert not capture.is_partial
    assert capture.instructions.stall.tolist() == [0, 0, 110, 8, 350, 0]
    assert capture.instructions.latency.tolist() == [0, 8, 118, 16, 358, 8]
    assert capture.instructions.idle.tolist() == [0, 0, 0, 0, 3, 0]
    assert capture.instructions.frames_of(3) == (Frame("/src/lib.h", 7), Frame("/src/k.py", 3))
    assert capture.source_line(Frame("/src/k.py", 2)) == "def axpy():"
    assert "/src/lib.h" in capture.missing_sources
    assert capture.waves.simd.tolist() == [0, 1]
    assert capture.waves.begin.tolist() == [100, 104]
    assert capture.waves.row[capture.waves.events(1)].tolist() == [1, 2, 3, 4, 5]
    assert capture.waves.stall[capture.waves.events(0)].tolist() == [0, 50, 8, 200, 0]
    assert len(capture.occupancy) == 4
    assert capture.occupancy.is_start.sum() == 2
    assert capture.clock is not None
    assert capture.clock.shader_mhz == 2100


def test_rows_of_code_are_the_sums_over_the_waves(tmp_path: Path) -> None:
    capture = read(an_axpy().write(tmp_path))
    waves, rows = capture.waves, len(capture.instructions)

    for column, of_wave in (("stall", waves.stall), ("latency", waves.duration)):
        sums = np.bincount(waves.row, of_wave, rows).astype(int).tolist()
        assert sums == getattr(capture.instructions, column).tolist()


def test_stored_dependencies_are_kept_by_wave(tmp_path: Path) -> None:
    stored = read(an_axpy().write(tmp_path)).waves.dependencies

    assert stored.wave.tolist() == [0, 0, 1, 1]
    assert stored.wait_row.tolist() == [2, 4, 2, 4]
    assert [stored.producers(index).tolist() for index in range(4)] == [[1], [3], [1], [3]]


def test_parent_several_and_stats_csv_name_captures(tmp_path: Path) -> None:
    for dispatch in (2, 10, 1):
        an_axpy_of = an_axpy()
        an_axpy_of.dispatch = dispatch
        an_axpy_of.write(tmp_path)
    names = [f"ui_output_agent_7_dispatch_{number}" for number in (1, 2, 10)]
    stats = tmp_path / f"stats_{names[1]}.csv"
    stats.write_text("CodeObj,Vaddr\n")

    assert [found.name for found in find_captures([tmp_path])] == names
    assert [found.name for found in find_captures([tmp_path / name for name in names])] == names
    assert [found.name for found in find_captures([stats])] == [names[1]]


def test_a_stats_csv_without_its_folder_says_what_is_missing(tmp_path: Path) -> None:
    stats = tmp_path / "stats_ui_output_agent_7_dispatch_9.csv"
    stats.write_text("CodeObj,Vaddr\n")

    with pytest.raises(UnreadableInputError, match="the folder ui_output_agent_7_dispatch_9") as it:
        find_captures([stats])
    assert "keep the whole output folder" in (it.value.hint or "")


def test_a_dispatch_id_is_found_in_a_renamed_folder(tmp_path: Path) -> None:
    folder = an_axpy().write(tmp_path)
    renamed = folder.rename(tmp_path / "ui_output_agent_7_dispatch_12_after_fix")

    assert read(renamed).facts.dispatch_id == 12


def test_no_capture_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match=r"no code\.json") as raised:
        find_captures([tmp_path])
    assert "decoder" in raised.value.hint
    with pytest.raises(UnreadableInputError, match="no such file"):
        find_captures([tmp_path / "absent"])


def test_header_as_list_extra_columns_and_other_order(tmp_path: Path) -> None:
    header = ["Source", "ISA", "LineNumber", "Hit", "Latency", "Stall", "ServiceType"]
    rows = [["", "; k", 0, 0, 0, 0, 0], ["a.py:3", "s_nop 0", 1, 5, 20, 7, 0]]
    write_json(tmp_path / "code.json", {"code": rows, "header": header, "version": "4.0.0"})

    capture = read(tmp_path)

    assert capture.instructions.stall.tolist() == [0, 7]
    assert capture.instructions.idle.tolist() == [0, 0]
    assert capture.instructions.frames_of(1) == (Frame("a.py", 3),)
    assert capture.facts.format_version == "4.0.0"


def test_pc_sampling_counts_samples(tmp_path: Path) -> None:
    header = [*HEADER.split(", "), "PC_Issued", "PC_Stalled", "Stall_Reasons"]
    row = ["s_barrier", 0, 1, "k.cpp:9", 1, 64, 0, 0, 0, 0, 3, 40, [0, 39, 1]]
    label = ["; k", 0, 0, "k", 1, 64, 0, 0, 0, 0, 0, 0, [0, 0, 0]]
    write_json(tmp_path / "code.json", {"code": [label, row], "header": header, "version": "3.0.0"})

    instructions = read(tmp_path).instructions

    assert instructions.measure is Measure.SAMPLES
    assert instructions.latency.tolist() == [0, 43]
    assert instructions.stall.tolist() == [0, 40]
    assert instructions.stall_reasons is not None
    assert instructions.stall_reasons.tolist() == [[0, 0, 0], [0, 39, 1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("{", "not JSON"),
        ("[1]", "JSON object"),
        ('{"code": 5, "header": "ISA, LineNumber, Hit, Latency, Stall"}', "not a list"),
        ('{"code": [], "header": "a, b"}', "no column isa"),
        ('{"code": [], "header": 7}', "header"),
    ],
)
def test_unusable_code_is_refused_with_a_reason(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "code.json").write_text(text)

    with pytest.raises(UnreadableInputError, match=message):
        read(tmp_path)


def test_null_code_is_partial_and_says_what_to_do(tmp_path: Path) -> None:
    write_json(tmp_path / "code.json", {"code": None, "header": HEADER, "version": "3.0.0"})

    capture = read(tmp_path)

    assert len(capture.instructions) == 0
    assert capture.is_partial
    assert "HSA_CU_MASK" in capture.missing[0]


def test_short_rows_huge_and_wrong_values_are_noted(tmp_path: Path) -> None:
    rows = [
        ["; k", 0, 0, "k", 1, 0, 0, 0, 0, 0],
        ["s_nop 0", 0, 1],
        ["s_nop 1", 0, 2, "a.py:1", 1, 8, 10**30, "x", -4, None],
        ["s_nop 2", 0, 3, None, 1, 8, 1, 5, 2],
    ]
    write_json(tmp_path / "code.json", {"code": rows, "header": HEADER})

    capture = read(tmp_path)

    assert list(capture.instructions.text) == ["; k", "s_nop 1", "s_nop 2"]
    assert capture.instructions.hits.tolist() == [0, 0, 1]
    assert capture.instructions.stall.tolist() == [0, 0, 2]
    assert capture.missing == ("1 rows of code.json are too short",)
    assert any("hit" in note for note in capture.repaired)
    assert any("negative" in note for note in capture.repaired)


def test_latin_1_and_utf_16_sources_are_read(tmp_path: Path) -> None:
    folder = (
        an_axpy()
        .with_source("/src/k.py", "# größe\nx".encode("latin-1"))
        .with_source("/src/lib.h", "// ü\r\ny".encode("utf-16"))
        .write(tmp_path)
    )

    capture = read(folder)

    assert capture.sources["/src/k.py"].lines == ["# größe", "x"]
    assert capture.sources["/src/k.py"].encoding == "latin-1"
    assert capture.sources["/src/lib.h"].lines == ["// ü", "y"]


@pytest.mark.parametrize("local", ["/etc/hostname", "../secret.py", "a/../../secret.py", "..", ""])
def test_snapshots_cannot_lead_outside(tmp_path: Path, local: str) -> None:
    (tmp_path / "secret.py").write_text("password")
    folder = an_axpy().write(tmp_path)
    write_json(folder / "snapshots.json", {"/": {"src": {"k.py": local}}})

    capture = read(folder)

    assert "/src/k.py" not in capture.sources
    assert "outside" in capture.missing_sources["/src/k.py"]


def test_links_that_leave_the_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("password")
    folder = an_axpy().write(tmp_path)
    copy = folder / "source_0_k.py"
    copy.unlink()
    copy.symlink_to(tmp_path / "secret.py")
    (folder / "loop").symlink_to(folder)

    capture = read(folder)

    assert capture.sources == {}
    assert len(capture.waves) == 2


def test_deep_and_odd_snapshots_are_survived(tmp_path: Path) -> None:
    folder = an_axpy().write(tmp_path)
    (folder / "snapshots.json").write_text('{"/":' + '{"..":' * 5000 + "1" + "}" * 5001)
    assert any("snapshots.json" in note for note in read(folder).missing)

    write_json(folder / "snapshots.json", {"/": {"src": {"k.py": 7, "..": {"..": {}}}}})
    assert read(folder).repaired == ("1 entries of snapshots.json name no copy",)


def test_kernel_trace_of_the_dispatch_is_found_in_any_casing(tmp_path: Path) -> None:
    an_axpy().with_kernel_row(VGPR_Count=144, Accum_VGPR_Count=136, LDS_Block_Size=16384).write(
        tmp_path
    )
    table = (tmp_path / "out_kernel_trace.csv").read_text()
    (tmp_path / "out_kernel_trace.csv").unlink()
    above = tmp_path.with_name("x_KERNEL_TRACE.CSV")
    above.write_text(table.replace("VGPR_Count", "Vgpr_Count").replace("LDS_Block", "Lds_Block"))
    try:
        facts = read(tmp_path / "ui_output_agent_7_dispatch_1").kernel_facts
    finally:
        above.unlink()

    assert facts is not None
    assert (facts.vgpr_count, facts.accum_vgpr_count, facts.lds_bytes) == (144, 136, 16384)
    assert facts.workgroup_size == (64, 1, 1)
    assert facts.is_certain


def test_a_csv_of_another_kernel_is_not_believed(tmp_path: Path) -> None:
    folder = an_axpy().with_kernel_row(Kernel_Name="gemm(int)", VGPR_Count=8).write(tmp_path)

    capture = read(folder)

    assert capture.kernel_facts is None
    assert "another kernel, 'gemm(int)'" in capture.repaired[0]


def test_truncated_names_match_and_an_agent_names_the_chip(tmp_path: Path) -> None:
    folder = (
        an_axpy()
        .with_kernel_row(Kernel_Name="axpy.kd", VGPR_Count=8)
        .with_agent(
            Name="gfx942", Simd_Per_Cu=4, Max_Waves_Per_Simd=8, Lds_Size_In_Kb=64, Cu_Count=304
        )
        .write(tmp_path)
    )

    capture = read(folder)

    assert capture.kernel_facts is not None
    assert capture.kernel_facts.vgpr_count == 8
    assert capture.facts.chip == "gfx942"
    assert capture.agents[0].cu_count == 304


@pytest.mark.parametrize(
    ("name", "chip"),
    [
        ("gfx90a_axpy_ui_output_agent_7_dispatch_1", "gfx90a"),
        ("ui_output_agent_7_dispatch_1_GFX1201", "gfx1201"),
        ("gfx942_or_gfx950_dispatch_1", ""),
        ("mygfx942x_dispatch_1", ""),
    ],
)
def test_a_chip_in_the_captures_name_is_known_where_no_file_says_it(
    tmp_path: Path, name: str, chip: str
) -> None:
    folder = a_capture().with_code("s_nop 0").write(tmp_path).rename(tmp_path / name)

    assert read(folder).facts.chip == chip


def test_the_code_objects_name_states_the_chip(tmp_path: Path) -> None:
    folder = an_axpy().write(tmp_path)
    (tmp_path / "out_gfx950_code_object_id_2.out").write_bytes(b"\x7fELF")

    assert read(folder).facts.chip == "gfx950"


def test_rocpd_gives_registers_and_dynamic_lds(tmp_path: Path) -> None:
    folder = an_axpy().write(tmp_path)
    with sqlite3.connect(tmp_path / "9_results.db") as database:
        database.execute(
            "CREATE TABLE rocpd_kernel_dispatch_00ab (id, guid, kernel_id, dispatch_id, start, 'end',"
            " private_segment_size, group_segment_size, workgroup_size_x, workgroup_size_y,"
            " workgroup_size_z, grid_size_x, grid_size_y, grid_size_z)"
        )
        database.execute(
            "CREATE TABLE rocpd_info_kernel_symbol_00ab (id, guid, kernel_name, display_name,"
            " group_segment_size, sgpr_count, arch_vgpr_count, accum_vgpr_count)"
        )
        database.execute(
            "INSERT INTO rocpd_kernel_dispatch_00ab VALUES (1,'g',3,1,10,90,0,40960,256,1,1,512,1,1)"
        )
        database.execute(
            "INSERT INTO rocpd_info_kernel_symbol_00ab VALUES (3,'g','_Z4axpyPf.kd','axpy(float*)',0,96,124,0)"
        )
    database.close()

    facts = read(folder).kernel_facts

    assert facts is not None
    assert (facts.vgpr_count, facts.lds_bytes, facts.workgroup_size) == (124, 40960, (256, 1, 1))
    assert (facts.start_ns, facts.end_ns, facts.is_certain) == (10, 90, True)


def test_damaged_companions_leave_the_rest(tmp_path: Path) -> None:
    folder = an_axpy().write(tmp_path)
    (folder / "occupancy.json").write_text("{")
    (folder / "filenames.json").write_text("nonsense")
    (folder / "realtime.json").write_text("[]")
    (tmp_path / "x_kernel_trace.csv").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "x.db").write_bytes(b"SQLite format 3\x00 and no more")

    capture = read(folder)

    assert len(capture.waves) == 2
    assert any("occupancy.json" in note for note in capture.missing)
    assert any("filenames.json" in note for note in capture.missing)
    assert any("x.db" in note for note in capture.repaired)


def test_newer_occupancy_rows_carry_the_workgroup(tmp_path: Path) -> None:
    folder = a_capture().with_code("s_nop 0").with_wave([step(1)], workgroup=12).write(tmp_path)

    occupancy = read(folder).occupancy

    assert occupancy.workgroup.tolist() == [12, 12]
    assert occupancy.kernel_names[1] == "axpy(float*)"


def test_unreadable_folder_is_an_error_not_a_traceback(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with pytest.raises(UnreadableInputError, match="neither a regular file"):
        find_captures([pipe])


@given(st.text(max_size=60))
def test_any_source_text_gives_frames_with_lines(text: str) -> None:
    for frame in frames_of(text):
        assert frame.line >= 0


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=5),
    max_leaves=12,
)


@settings(max_examples=60)
@given(rows=st.lists(_VALUES, max_size=6), extra=st.lists(_VALUES, min_size=6, max_size=14))
def test_any_rows_give_a_trace_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, rows: list[object], extra: list[object]
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    document = {"code": [*rows, extra], "header": HEADER}
    (folder / "code.json").write_text(json.dumps(document))
    try:
        capture = read(folder)
    except UnreadableInputError:
        return
    columns = capture.instructions
    assert len(columns.stall) == len(columns.text) == len(columns.source_code)
    assert (columns.stall >= 0).all()


_CELLS = st.one_of(
    st.integers(-(2**65), 2**65),
    st.integers(0, 300),
    st.none(),
    st.floats(allow_nan=False),
    st.booleans(),
)
_ROWS = st.lists(
    st.tuples(
        st.sampled_from(["s_nop 0", "; k", " s_waitcnt vmcnt(0) ", 'q"\\u00e9', "é\n", ""]),
        st.lists(st.integers(0, 10**6), min_size=7, max_size=7) | st.lists(_CELLS, max_size=9),
        st.sampled_from(["a.py:3", "", "b.h:1 -> a.py:9", "größe.py:4"]),
    ),
    max_size=8,
)


@settings(max_examples=80)
@given(rows=_ROWS, indent=st.sampled_from([None, 2]))
def test_the_native_reader_gives_what_python_gives(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, list[object], str]],
    indent: int | None,
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    code = [[text, 0, *cells[:1], source, *cells[1:]] for text, cells, source in rows]
    (folder / "code.json").write_text(json.dumps({"code": code, "header": HEADER}, indent=indent))

    native = read(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_table, "columns_library", lambda: None)
        python = read(folder)

    assert native.repaired == python.repaired
    assert native.missing == python.missing
    assert native.kernel_name == python.kernel_name
    assert list(native.instructions.text) == list(python.instructions.text)
    for name in ("line_number", "address", "hits", "latency", "stall", "idle", "is_label"):
        assert (
            getattr(native.instructions, name).tolist()
            == getattr(python.instructions, name).tolist()
        )
    chains = [
        [capture.instructions.frames_of(row) for row in range(len(python.instructions))]
        for capture in (native, python)
    ]
    assert chains[0] == chains[1]


@settings(max_examples=100)
@given(st.binary(max_size=30), st.integers(0, 400))
def test_spoiled_code_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, garbage: bytes, place: int
) -> None:
    folder = tmp_path_factory.mktemp("spoiled")
    code = [["; k", 0, 0, "k", 1, 0, 0, 0, 0, 0], ["s_nop 0", 0, 1, "a.py:3", 1, 8, 5, 20, 7, 0]]
    text = json.dumps({"code": code, "header": HEADER, "version": "3.0.0"}).encode()
    (folder / "code.json").write_bytes(text[:place] + garbage + text[place + len(garbage) :])
    try:
        capture = read(folder)
    except UnreadableInputError:
        return
    assert len(capture.instructions.text) == len(capture.instructions.stall)


@settings(max_examples=60)
@given(
    st.lists(
        st.lists(st.integers(-5, 400), min_size=6, max_size=11)
        | st.lists(
            st.none() | st.booleans() | st.floats() | st.integers(-(2**70), 2**70), max_size=8
        ),
        max_size=6,
    )
)
def test_any_occupancy_rows_are_read_or_counted(rows: list[list[object]]) -> None:
    table, bad = occupancy_file._table(rows, 3)

    assert len(table) + bad == len(rows)
    assert (table[:, 0] == 3).all()
    usable = [row for row in rows if len(row) >= 6 and all(type(value) is int for value in row[:6])]
    for row in usable:
        if all(abs(value) < 2**62 for value in row[:6]):  # type: ignore[arg-type]
            assert row[:6] in table[:, 1:7].tolist()
