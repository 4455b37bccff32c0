"""Instructions are classed by mnemonic, waits are read in every spelling, chips are recognised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture_analyses import traced
from tests.capture_folders import a_capture
from wavescope.analyze.capture.instruction_kinds import KINDS, Kind, kind_of_text, parsed_wait
from wavescope.analyze.capture.traced_chip import IsaFamily, family_of_chip, traced_chip

GFX9, GFX10, GFX11, GFX12 = IsaFamily.GFX9, IsaFamily.GFX10, IsaFamily.GFX11, IsaFamily.GFX12


@pytest.mark.parametrize(
    ("text", "family", "kind"),
    [
        ("s_waitcnt vmcnt(3)", GFX9, Kind.VMEM_WAIT),
        ("s_waitcnt lgkmcnt(0)", GFX9, Kind.LDS_SMEM_WAIT),
        ("s_waitcnt expcnt(0)", GFX9, Kind.EXPORT_WAIT),
        ("s_waitcnt vmcnt(0) lgkmcnt(0)", GFX9, Kind.MIXED_WAIT),
        ("s_waitcnt 0xc07f", GFX9, Kind.LDS_SMEM_WAIT),
        ("s_waitcnt 0x0", GFX9, Kind.MIXED_WAIT),
        ("s_waitcnt_vscnt null, 0x0", GFX10, Kind.STORE_WAIT),
        ("s_waitcnt_depctr 0xfff", GFX11, Kind.ALU_WAIT),
        ("s_delay_alu instid0(VALU_DEP_1)", GFX11, Kind.ALU_WAIT),
        ("s_wait_loadcnt 0x0", GFX12, Kind.VMEM_WAIT),
        ("s_wait_samplecnt 0x1", GFX12, Kind.VMEM_WAIT),
        ("s_wait_storecnt 0x0", GFX12, Kind.STORE_WAIT),
        ("s_wait_dscnt 0x2", GFX12, Kind.LDS_WAIT),
        ("s_wait_kmcnt 0x0", GFX12, Kind.SMEM_WAIT),
        ("s_wait_loadcnt_dscnt 0x103", GFX12, Kind.MIXED_WAIT),
        ("s_wait_alu 0xfffe", GFX12, Kind.ALU_WAIT),
        ("s_wait_idle", GFX12, Kind.MIXED_WAIT),
        ("s_barrier", GFX9, Kind.BARRIER),
        ("s_barrier_signal -1", GFX12, Kind.BARRIER),
        ("s_barrier_wait -1", GFX12, Kind.BARRIER),
        ("buffer_load_dwordx4 v[0:3], v4, s[8:11], 0 offen", GFX9, Kind.VMEM_LOAD),
        ("buffer_load_dword v4, s[8:11], 0 offen lds", GFX9, Kind.LOAD_TO_LDS),
        ("global_load_lds_dwordx4 v[0:1], off", GFX9, Kind.LOAD_TO_LDS),
        ("global_load_async_to_lds_b128 v0, v[2:3], off", GFX12, Kind.LOAD_TO_LDS),
        ("buffer_store_dword v0, off, s[0:3], s32 offset:4", GFX9, Kind.SCRATCH),
        ("scratch_load_dword v1, off, off offset:8", GFX9, Kind.SCRATCH),
        ("flat_store_dword v[0:1], v2", GFX9, Kind.VMEM_STORE),
        ("tbuffer_load_format_x v0, off, s[0:3], format:22, 0", GFX9, Kind.VMEM_LOAD),
        ("image_sample v[0:3], v[4:5], s[0:7], s[8:11]", GFX10, Kind.VMEM_LOAD),
        ("global_atomic_add v0, v[2:3], v1, off glc", GFX9, Kind.ATOMIC),
        ("s_buffer_load_dwordx4 s[0:3], s[4:7], 0x0", GFX9, Kind.SMEM),
        ("s_load_b128 s[0:3], s[4:5], 0x0", GFX12, Kind.SMEM),
        ("ds_read_b128 v[0:3], v4", GFX9, Kind.LDS),
        ("ds_load_b128 v[0:3], v4", GFX11, Kind.LDS),
        ("ds_read_b64_tr_b16 v[0:1], v4", GFX9, Kind.LDS),
        ("ds_bpermute_b32 v0, v1, v2", GFX9, Kind.LDS_PERMUTE),
        ("ds_add_u32 v0, v1", GFX9, Kind.LDS_ATOMIC),
        ("v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", GFX9, Kind.MATRIX),
        ("v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[6:9], v10", GFX9, Kind.MATRIX),
        ("v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", GFX11, Kind.MATRIX),
        ("v_exp_f32_e32 v0, v1", GFX9, Kind.VALU_TRANSCENDENTAL),
        ("v_rcp_f32_e32 v0, v1", GFX9, Kind.VALU_TRANSCENDENTAL),
        ("v_permlane32_swap_b32_e32 v0, v1", GFX9, Kind.VALU_PERMUTE),
        ("v_add_f32_dpp v0, v1, v2 row_shr:1", GFX9, Kind.VALU_PERMUTE),
        ("v_fmac_f32_e32 v0, v1, v2", GFX9, Kind.VALU),
        ("v_expand_thing v0", GFX9, Kind.VALU),
        ("s_cbranch_scc1 20", GFX9, Kind.BRANCH),
        ("s_nop 3", GFX9, Kind.NOP),
        ("s_sleep 1", GFX9, Kind.SLEEP),
        ("s_endpgm", GFX9, Kind.END),
        ("s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)", GFX11, Kind.MESSAGE),
        ("buffer_wbl2 sc0 sc1", GFX9, Kind.CACHE),
        ("buffer_gl0_inv", GFX10, Kind.CACHE),
        ("global_wb scope:SCOPE_SYS", GFX12, Kind.CACHE),
        ("s_icache_inv", GFX9, Kind.CACHE),
        ("s_add_u32 s0, s1, s2", GFX9, Kind.SALU),
        ("; _Z4axpyPf", GFX9, Kind.LABEL),
        ("mystery v0", GFX9, Kind.OTHER),
    ],
)
def test_kinds(text: str, family: IsaFamily, kind: Kind) -> None:
    assert kind_of_text(text, family) is kind
    analysis = traced(a_capture(gfxip=int(family)).with_code(text))
    assert KINDS[analysis.kind_code[1]] is kind


@pytest.mark.parametrize(
    ("text", "family", "limits"),
    [
        ("s_waitcnt vmcnt(3) lgkmcnt(1)", GFX9, {"vmcnt": 3, "lgkmcnt": 1}),
        ("s_waitcnt vmcnt(  0) & lgkmcnt(0x0)", GFX9, {"vmcnt": 0, "lgkmcnt": 0}),
        ("s_waitcnt vmcnt 0x2", GFX10, {"vmcnt": 2}),
        ("s_waitcnt 0x0f70", GFX9, {"vmcnt": 0}),
        ("s_waitcnt 0x4f75", GFX9, {"vmcnt": 21}),
        ("s_waitcnt 0xc07f", GFX9, {"lgkmcnt": 0}),
        ("s_waitcnt 0xcf0f", GFX9, {"expcnt": 0}),
        ("s_waitcnt 0xff7f", GFX10, {}),
        ("s_waitcnt 0xc57f", GFX10, {"lgkmcnt": 5}),
        ("s_waitcnt 0x3f7", GFX11, {"vmcnt": 0}),
        ("s_waitcnt 0xfc27", GFX11, {"lgkmcnt": 2}),
        ("s_waitcnt_vscnt null, 0x3", GFX10, {"vscnt": 3}),
        ("s_wait_loadcnt_dscnt 0x103", GFX12, {"loadcnt": 1, "dscnt": 3}),
        ("s_wait_storecnt_dscnt 0x0", GFX12, {"storecnt": 0, "dscnt": 0}),
        ("s_wait_kmcnt 0x0", GFX12, {"kmcnt": 0}),
    ],
)
def test_limits_of_waits(text: str, family: IsaFamily, limits: dict[str, int]) -> None:
    wait = parsed_wait(text, family)

    assert wait is not None
    assert dict(wait.limits) == limits
    assert not wait.drains_all


@given(st.integers(0, 63), st.integers(0, 7), st.integers(0, 15))
def test_gfx9_numbers_hold_what_was_put_in(vmcnt: int, expcnt: int, lgkmcnt: int) -> None:
    number = vmcnt & 15 | (vmcnt >> 4) << 14 | expcnt << 4 | lgkmcnt << 8
    expected = {"vmcnt": vmcnt, "expcnt": expcnt, "lgkmcnt": lgkmcnt}
    most = {"vmcnt": 63, "expcnt": 7, "lgkmcnt": 15}

    wait = parsed_wait(f"s_waitcnt {number:#x}", GFX9)

    assert wait is not None
    assert dict(wait.limits) == {
        name: value for name, value in expected.items() if value < most[name]
    }


@given(st.text(max_size=40), st.sampled_from(list(IsaFamily)))
def test_any_text_has_a_kind(text: str, family: IsaFamily) -> None:
    assert kind_of_text(text, family) in Kind
    parsed_wait(f"s_wait{text}", family)


@pytest.mark.parametrize(
    ("instruction", "chip", "family"),
    [
        ("v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[0:7], v[8:15], a[0:3]", "gfx950", GFX9),
        ("v_mfma_f32_16x16x32_bf16 a[0:3], v[0:3], v[4:7], a[0:3]", "gfx950", GFX9),
        ("ds_read_b64_tr_b16 v[0:1], v2", "gfx950", GFX9),
        ("v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[0:1], v[2:3], a[0:3]", "gfx942", GFX9),
        ("v_mfma_f32_16x16x16bf16_1k a[0:3], v[0:1], v[2:3], a[0:3]", "gfx90a", GFX9),
        ("v_accvgpr_read_b32 v0, a0", "gfx908", GFX9),
        ("s_wait_loadcnt 0x0", "gfx1201", GFX12),
        ("v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", "gfx1100", GFX11),
        ("s_waitcnt_vscnt null, 0x0", "gfx1030", GFX10),
        ("s_nop 0", "gfx942", GFX9),
    ],
)
def test_instructions_tell_the_chip(instruction: str, chip: str, family: IsaFamily) -> None:
    guess = traced_chip(traced(a_capture(gfxip=int(family)).with_code(instruction)).capture)

    assert (guess.name, guess.family) == (chip, family)


def test_names_tell_the_family() -> None:
    families = [
        family_of_chip(chip) for chip in ("gfx906", "gfx90a", "gfx1036", "gfx1151", "gfx1201")
    ]

    assert families == [GFX9, GFX9, GFX10, GFX11, GFX12]


def test_the_stated_family_outweighs_a_guess() -> None:
    guess = traced_chip(traced(a_capture(gfxip=11).with_code("v_add_u32_e32 v0, s6, v0")).capture)

    assert (guess.name, guess.family, guess.basis) == ("", GFX11, "filenames.json")
