"""Chip and registers of a traced kernel, and measured occupancy beside the theoretical one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture_folders import CaptureBuilder, a_capture, step
from wavescope.analyze.capture import CaptureAnalysis, hotspots
from wavescope.analyze.capture.kernel_occupancy import (
    RegisterCounts,
    measured_occupancy,
    named_registers,
    named_sgprs,
    register_counts,
    traced_occupancy,
    traced_occupancy_result,
)
from wavescope.analyze.capture.plan import plan_result
from wavescope.analyze.capture.traced_chip import chip_evidence
from wavescope.analyze.occupancy import StatedResources
from wavescope.errors import UsageError
from wavescope.formats.captures import find_captures, load_capture
from wavescope.model.capture import Capture, KernelFacts
from wavescope.model.chips.chip_table import chip_named


def loaded(builder: CaptureBuilder, folder: Path) -> Capture:
    return load_capture(find_captures([builder.write(folder)])[0])


def facts(vgprs: int, accumulated: int = 0) -> KernelFacts:
    return KernelFacts("k.csv", "k", vgpr_count=vgprs, accum_vgpr_count=accumulated)


@pytest.mark.parametrize(
    ("text", "gfxip", "chip"),
    [
        ("v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], 0", 9, "gfx950"),
        ("v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], 0", 9, "gfx950"),
        ("ds_read_b64_tr_b16 v[0:1], v2", 9, "gfx950"),
        ("v_cvt_pk_bf16_f32 v0, v1, v2", 9, "gfx950"),
        ("v_permlane32_swap_b32_e32 v0, v1", 9, "gfx950"),
        ("v_smfmac_f32_16x16x64_f16 v[0:3], v[4:7], v[8:15], v16", 9, "gfx950"),
        ("buffer_load_dwordx4 v1, s[0:3], 0 offen lds", 9, "gfx950"),
        ("global_load_lds_dwordx4 v[0:1], off", 9, "gfx950"),
        ("v_bitop3_b32 v0, v1, v2, v3 bitop3:0x40", 12, "gfx1201"),
        ("v_mfma_f32_16x16x32_fp8_fp8 v[0:3], v[4:5], v[6:7], 0", 9, "gfx942"),
        ("v_mfma_f32_32x32x8_f16 v[0:15], v[4:5], v[6:7], 0", 9, "gfx942"),
        ("v_mfma_f32_32x32x8bf16_1k a[0:15], v[0:1], v[2:3], 0", 9, "gfx90a"),
        ("v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], 0", 9, "gfx908"),
        ("s_wait_loadcnt 0x0", 12, "gfx1201"),
        ("v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", 11, "gfx1100"),
        ("s_waitcnt_vscnt null, 0x0", 10, "gfx1030"),
        ("v_addc_co_u32_e32 v3, vcc, v3, v1, vcc", 0, "gfx942"),
        ("v_add_f32 v0, v1, v2", 9, "gfx942"),
        ("v_add_f32 v0, v1, v2", 11, "gfx1100"),
    ],
)
def test_instructions_tell_the_chip(tmp_path: Path, text: str, gfxip: int, chip: str) -> None:
    capture = loaded(a_capture(gfxip=gfxip).with_code(text).with_wave([step(1)]), tmp_path)

    found = chip_evidence(capture)

    assert found is not None
    assert found.chip.name == chip
    assert found.is_certain == (chip == "gfx950")


def test_what_files_state_comes_first(tmp_path: Path) -> None:
    builder = a_capture().with_code("v_add_f32 v0, v1, v2").with_wave([step(1)])
    capture = loaded(builder.with_agent(Name="gfx90a", Gfx_Target_Version=90010), tmp_path)

    found = chip_evidence(capture)

    assert found is not None
    assert (found.chip.name, found.is_certain) == ("gfx90a", True)
    asked = chip_evidence(capture, chip_named("gfx950"))
    assert asked is not None
    assert asked.chip.name == "gfx950"


def test_instructions_decide_gfx950_against_a_file_of_another_machine(tmp_path: Path) -> None:
    builder = a_capture().with_code("ds_read_b64_tr_b16 v[0:1], v2").with_wave([step(1)])
    capture = loaded(builder.with_agent(Name="gfx942", Gfx_Target_Version=90402), tmp_path)

    found = chip_evidence(capture)

    assert found is not None
    assert (found.chip.name, found.is_certain) == ("gfx950", True)
    assert CaptureAnalysis(capture).chip.name == "gfx950"


def test_a_guessed_chip_is_called_a_guess(tmp_path: Path) -> None:
    builder = a_capture().with_code("v_add_f32 v0, v1, v2", "s_endpgm").with_wave([step(1)])
    capture = loaded(builder, tmp_path)
    analysis = CaptureAnalysis(capture)

    assert plan_result(analysis).facts["chip"] == "gfx942 (instruction set gfx9: a guess)"
    assert hotspots(analysis).facts["chip_basis"] == "instruction set gfx9 (a guess)"
    occupancy = traced_occupancy_result(capture, StatedResources())
    assert occupancy.facts["chip_known_by"] == "instruction set gfx9 (a guess)"


def an_lds_kernel(text: str = "ds_read_b32 v0, v1") -> CaptureBuilder:
    builder = a_capture().with_code(text, "s_endpgm").with_wave([step(1), step(2)])
    return builder.with_agent(Name="gfx942", Gfx_Target_Version=90402)


def test_lds_that_nobody_states_is_unknown(tmp_path: Path) -> None:
    result = traced_occupancy_result(loaded(an_lds_kernel(), tmp_path), StatedResources())

    (lds,) = [row for row in result.table("limits").records() if row["resource"] == "LDS"]
    assert (lds["used"], lds["allocated"], lds["workgroups"]) == (None, None, None)
    assert lds["limits"] == "unknown"
    assert result.facts["unknown"] == "LDS"
    assert "LDS is unknown and may allow fewer" in result.findings[0].title


def test_static_lds_of_0_says_nothing_of_a_kernel_that_uses_lds(tmp_path: Path) -> None:
    dynamic = loaded(an_lds_kernel().with_kernel_row(LDS_Block_Size=0), tmp_path / "dynamic")
    none = loaded(
        an_lds_kernel("ds_bpermute_b32 v0, v1, v2").with_kernel_row(LDS_Block_Size=0),
        tmp_path / "none",
    )

    found = traced_occupancy(dynamic)
    assert found is not None
    assert found.occupancy.resources.lds_bytes is None
    assert any("static LDS only" in note for note in found.notes)
    found = traced_occupancy(none)
    assert found is not None
    assert found.occupancy.resources.lds_bytes == 0


@pytest.mark.parametrize("name", ["axpy(float*) (.kd)", "axpy(float*) [clone .kd]", "_Z4axpyPf.kd"])
def test_lds_is_read_from_the_kernel_trace_however_it_spells_the_kernel(
    tmp_path: Path, name: str
) -> None:
    builder = an_lds_kernel().with_kernel_row(Kernel_Name=name, LDS_Block_Size=16_384)

    found = traced_occupancy(loaded(builder, tmp_path))

    assert found is not None
    assert found.occupancy.resources.lds_bytes == 16_384


def test_lds_of_a_kernel_trace_by_its_first_name(tmp_path: Path) -> None:
    capture = a_traced_kernel()
    capture.kernel_row = None
    folder = capture.write(tmp_path)
    (tmp_path / "out_kernel_trace.csv").write_text(
        "Kind,Agent_Id,Queue_Id,Dispatch_Id,Kernel_Name,Private_Segment_Size,Group_Segment_Size,"
        f"Workgroup_Size_X\nKERNEL_DISPATCH,4,1,1,{capture.demangled},16,4360,256\n"
    )

    facts = load_capture(find_captures([folder])[0]).kernel_facts

    assert facts is not None
    assert (facts.lds_bytes, facts.scratch_bytes) == (4360, 16)


def test_registers_are_counted_to_the_end_of_ranges() -> None:
    texts = [
        "; v_label v300",
        "v_mfma_f32_16x16x16_f16 a[8:11], v[240:241], v[2:3], a[8:11]",
        "buffer_load_dwordx4 v[12:15], v16, s[0:3], 0 offen",
        "s_mov_b32 s255, 0",
    ]

    assert named_registers(texts) == (242, 12)
    assert named_registers(["v_accvgpr_read_b32 v1, a0"]) == (2, 1)
    assert named_registers([]) == (0, 0)


def test_scalar_registers_are_those_that_instructions_name_where_nothing_states_them() -> None:
    code = ("; s90 of a label", "s_load_dwordx4 s[4:7], s[0:1], 0x0", "v_mov_b32 v3, s9")

    assert named_sgprs(code) == 10
    assert named_sgprs([]) == 0


@pytest.mark.parametrize(
    ("chip", "stated", "named", "expected"),
    [
        ("gfx950", facts(124), (242, 0), (248, 0)),
        ("gfx950", facts(96), (176, 12), (180, 12)),
        ("gfx950", facts(248), (242, 0), (248, 0)),
        ("gfx950", facts(128, 128), (120, 100), (128, 128)),
        ("gfx942", facts(144, 136), (140, 128), (144, 136)),
        ("gfx942", facts(64), (120, 0), (120, 0)),
        ("gfx908", facts(64, 64), (70, 10), (70, 64)),
        ("gfx942", None, (100, 20), (100, 20)),
    ],
)
def test_registers_by_files_and_instructions(
    chip: str, stated: KernelFacts | None, named: tuple[int, int], expected: tuple[int, int]
) -> None:
    found = register_counts(chip_named(chip), stated, named)

    assert (found.vgprs, found.agprs) == expected


def test_halved_registers_are_said_to_be() -> None:
    found = register_counts(chip_named("gfx950"), facts(124), (242, 0))

    assert found == RegisterCounts(
        248,
        0,
        "k.csv, doubled",
        "k.csv says 124 registers, instructions name 242: ROCm up to 7.2 states half of gfx950's",
    )


def test_measured_occupancy_counts_waves_of_each_simd(tmp_path: Path) -> None:
    busy = [step(1, issue=100)]
    capture = loaded(
        a_capture()
        .with_code("s_endpgm")
        .with_wave(busy, begin=0, simd=0, slot=0)
        .with_wave(busy, begin=50, simd=0, slot=1)
        .with_wave(busy, begin=0, simd=1, slot=0),
        tmp_path,
    )

    found = measured_occupancy(capture.occupancy)

    assert found is not None
    assert (found.peak, found.simds, found.waves) == (2, 2, 3)
    assert found.mean_while_busy == pytest.approx(300 / 250)


def test_a_wave_that_ends_as_another_starts_does_not_overlap_it(tmp_path: Path) -> None:
    builder = a_capture().with_code("s_endpgm")
    builder.with_wave([step(1, issue=10)], begin=0).with_wave([step(1, issue=10)], begin=10)

    found = measured_occupancy(loaded(builder, tmp_path).occupancy)

    assert found is not None
    assert (found.peak, found.mean_while_busy) == (1, 1.0)


def a_traced_kernel() -> CaptureBuilder:
    return (
        a_capture()
        .with_code("v_mfma_f32_16x16x32_fp8_fp8 a[132:135], v[142:143], v[6:7], 0", "s_endpgm")
        .with_wave([step(1), step(2)])
        .with_agent(Name="gfx942", Gfx_Target_Version=90402)
        .with_kernel_row(
            VGPR_Count=144, Accum_VGPR_Count=136, SGPR_Count=96,
            LDS_Block_Size=16_384, Workgroup_Size_X=256,
        )
    )  # fmt: skip


def test_the_facts_of_a_capture_give_its_occupancy(tmp_path: Path) -> None:
    found = traced_occupancy(loaded(a_traced_kernel(), tmp_path))

    assert found is not None
    assert found.occupancy.waves_per_simd == 1
    assert found.occupancy.resources.lds_bytes == 16_384
    assert found.measured is not None
    assert found.measured.peak == 1
    assert found.notes == ()


def test_flags_replace_what_files_say(tmp_path: Path) -> None:
    capture = loaded(a_traced_kernel(), tmp_path)

    found = traced_occupancy(capture, StatedResources(vgprs=100, agprs=100))

    assert found is not None
    assert found.occupancy.waves_per_simd == 2


def test_assumptions_are_said(tmp_path: Path) -> None:
    builder = a_capture().with_code("v_add_f32 v0, v1, v200", "s_endpgm").with_wave([step(1)])
    result = traced_occupancy_result(loaded(builder, tmp_path), StatedResources())

    texts = [finding.evidence for finding in result.findings]
    assert any("workgroups of 256 are assumed" in text for text in texts)
    assert any("the chip is a guess" in text for text in texts)
    assert any("a lower bound" in text for text in texts)
    assert result.facts["measured_peak_waves_per_simd"] == 1


def test_more_waves_than_the_facts_allow_are_a_warning(tmp_path: Path) -> None:
    builder = a_traced_kernel()
    for slot in range(1, 4):
        builder.with_wave([step(1), step(2)], slot=slot)

    result = traced_occupancy_result(loaded(builder, tmp_path), StatedResources())

    assert "occupancy-above-theory" in [finding.id for finding in result.findings]


def test_waves_that_are_not_there_are_named(tmp_path: Path) -> None:
    builder = a_traced_kernel()
    builder.kernel_row = {"VGPR_Count": 32, "Accum_VGPR_Count": 0, "Workgroup_Size_X": 256}
    builder.code[0] = ("v_add_f32 v0, v1, v2", "")

    result = traced_occupancy_result(loaded(builder, tmp_path), StatedResources())

    (finding,) = [each for each in result.findings if each.id == "occupancy-not-reached"]
    assert finding.suggestion.endswith("registers and LDS are not what keeps waves away")


def test_unknown_lds_may_be_what_keeps_waves_away(tmp_path: Path) -> None:
    builder = a_traced_kernel()
    builder.kernel_row = {"VGPR_Count": 32, "Accum_VGPR_Count": 0, "Workgroup_Size_X": 256}
    builder.code[0] = ("ds_read_b32 v0, v1", "")

    result = traced_occupancy_result(loaded(builder, tmp_path), StatedResources())

    (finding,) = [each for each in result.findings if each.id == "occupancy-not-reached"]
    assert finding.suggestion.endswith(
        "or LDS keeps waves away: how much a workgroup takes is not known"
    )


def test_absurd_facts_are_cut_with_a_note(tmp_path: Path) -> None:
    builder = a_traced_kernel()
    builder.kernel_row = {"VGPR_Count": 99_999, "LDS_Block_Size": 10**9, "Workgroup_Size_X": 4096}

    found = traced_occupancy(loaded(builder, tmp_path))

    assert found is not None
    assert "were cut" in found.notes[-1]


def test_a_capture_that_tells_nothing_asks_for_the_chip(tmp_path: Path) -> None:
    capture = loaded(a_capture(gfxip=0).with_code("s_nop 0").with_wave([step(1)]), tmp_path)

    with pytest.raises(UsageError, match="which chip"):
        traced_occupancy_result(capture, StatedResources())


def test_a_row_of_another_kernel_is_said_not_to_count(tmp_path: Path) -> None:
    builder = a_traced_kernel()
    builder.kernel_row = {"VGPR_Count": 144, "Kernel_Name": "other(int)"}

    result = traced_occupancy_result(loaded(builder, tmp_path), StatedResources())

    assert result.facts["registers_known_by"] == "instructions"
    (note,) = [each.evidence for each in result.findings if each.id == "capture-repaired"]
    assert "dispatch 1 is another kernel, 'other(int)'; its registers and LDS are not used" in note
