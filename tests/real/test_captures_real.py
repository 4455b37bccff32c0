"""Real captures: an MI210 thread trace and a PC-sampling folder, as their tools wrote them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture_folders import a_capture, step
from wavescope.analyze.capture import CaptureAnalysis, HotspotOptions, hotspots
from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.formats.captures import find_captures, load_capture
from wavescope.model.capture import Measure
from wavescope.model.result import Result

AXPY = "gfx90a_axpy_ui_output_agent_14537_dispatch_1"


@pytest.fixture
def captures(shared_data: Path) -> Path:
    folder = shared_data / "thread-trace"
    if not folder.is_dir():
        pytest.skip("real thread traces are not here: expected in ../shared/data/thread-trace")
    return folder


def analysis(path: Path) -> CaptureAnalysis:
    (location,) = find_captures([path])
    return CaptureAnalysis(load_capture(location))


def report(path: Path) -> Result:
    return hotspots(analysis(path), HotspotOptions())


def test_both_captures_are_found_below_their_parent(captures: Path) -> None:
    assert [found.name for found in find_captures([captures])] == [AXPY, "pc_sampling_folder"]


def test_axpy_is_read_as_its_tool_wrote_it(captures: Path) -> None:
    capture = analysis(captures / AXPY).capture

    assert capture.kernel_name == "axpy(float*, float const*, float, int)"
    assert (capture.facts.chip, capture.facts.chip_origin) == ("gfx90a", "the capture's name")
    assert capture.facts.dispatch_id == 1
    assert not capture.is_partial
    instructions = capture.instructions
    assert instructions.measure is Measure.CYCLES
    assert len(instructions) == 26
    assert (instructions.line_number == range(26)).all()
    assert (instructions.stall <= instructions.latency).all()
    assert int(instructions.stall.sum()) == 1_447_208


def test_axpy_waits_for_its_loads(captures: Path) -> None:
    result = report(captures / AXPY)
    raw, charged = result.table("instructions"), result.table("instructions_charged")

    assert raw.column("instruction")[0] == "s_waitcnt vmcnt(0)"
    assert raw.column("stall")[0] == 1_258_456
    assert raw.column("type")[0] == Kind.VMEM_WAIT.value
    assert charged.column("instruction")[0] == "global_load_dword v3, v[0:1], off"
    assert charged.column("stall")[0] == 1_258_456 + 5_564
    assert result.facts["charged_basis"] == "program order"
    assert result.facts["wait_stall_charged_percent"] == 100
    assert result.facts["toolchain"] == "ROCm 7.2.0"
    stall = result.table("stall_types").column("charged_stall")
    assert sum(int(value or 0) for value in stall) == 1_447_208


def test_pc_samples_are_counted(captures: Path) -> None:
    capture = analysis(captures / "pc_sampling_folder").capture

    assert capture.instructions.measure is Measure.SAMPLES
    assert int(capture.instructions.stall.sum()) == 3384
    assert int(capture.instructions.latency.sum()) == 3384 + 1306
    reasons = capture.instructions.stall_reasons
    assert reasons is not None
    assert reasons.shape == (1635, 10)
    assert int(reasons.sum()) == 3384
    assert capture.facts.gfxip == 9
    assert len(capture.missing_sources) == 4
    assert not capture.is_partial


def test_a_pc_sampling_report_names_the_barrier(captures: Path) -> None:
    result = report(captures / "pc_sampling_folder")

    assert result.facts["measure"] == "samples"
    assert (result.facts["stall"], result.facts["samples"]) == (3_384, 4_690)
    assert "hits" not in [column.name for column in result.table("lines").columns]
    assert result.table("stall_types").column("stall")[0] == 766
    assert result.facts["chip"] == "gfx942"
    assert result.table("instructions").column("instruction")[0] == "s_barrier"
    assert result.table("instructions").column("stall")[0] == 153
    stall = result.table("stall_types").column("charged_stall")
    assert sum(int(value or 0) for value in stall) == 3384


def test_agent_information_of_the_mi210_is_read(captures: Path, tmp_path: Path) -> None:
    folder = tmp_path / AXPY
    folder.mkdir()
    (folder / "code.json").write_bytes((captures / AXPY / "code.json").read_bytes())
    agents = captures / "gfx90a_pmc" / "pass1" / "782163_agent_info.csv"
    (tmp_path / agents.name).write_bytes(agents.read_bytes())

    found = analysis(folder)

    assert found.capture.facts.chip == "gfx90a"
    assert found.chip.basis == "agent information"
    assert found.capture.agents[0].cu_count == 104
    assert found.capture.agents[0].lds_kib == 64


def test_a_real_rocpd_file_gives_registers_and_the_chip(
    captures: Path, shared_data: Path, tmp_path: Path
) -> None:
    database = shared_data / "rocprofv3" / "rocpd_v3_sample.db"
    if not database.is_file():
        pytest.skip("the real rocpd file is not here: expected in ../shared/data/rocprofv3")
    builder = a_capture(demangled="__amd_rocclr_copyBuffer", dispatch=10**9)
    folder = builder.with_code("s_endpgm").with_wave([step(1)]).write(tmp_path)
    (tmp_path / "1_results.db").write_bytes(database.read_bytes())

    found = analysis(folder)

    facts = found.capture.kernel_facts
    assert facts is not None
    assert (facts.origin, facts.kernel_name) == ("1_results.db", "__amd_rocclr_copyBuffer")
    assert (facts.vgpr_count, facts.accum_vgpr_count, facts.sgpr_count) == (8, 0, 32)
    assert not facts.is_certain
    assert found.capture.facts.chip == "gfx950"
    assert found.capture.agents[0].lds_kib == 160
