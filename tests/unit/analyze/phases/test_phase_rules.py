"""What names say about phases, and a user's own rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavescope.analyze.phases.name_signs import NamedPhase, built_in_rules
from wavescope.errors import UsageError
from wavescope.model.toml_files import read_rules


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("aiter::fmoe_bf16_pertokenMXfp4_g1u1_novs_silu_1tg_ps_32x256", NamedPhase.PREFILL),
        ("aiter::fmoe_bf16_pertokenMXfp4_g1u1_novs_silu_1tg_32x256", NamedPhase.NOTHING),
        ("void paged_attention_ll4mi_reduce_kernel<bf16>(int)", NamedPhase.DECODE),
        ("_fwd_grouped_kernel_stage1", NamedPhase.DECODE),
        ("_fwd_kernel_extend", NamedPhase.PREFILL),
        ("void flashinfer::BatchDecodeWithPagedKVCacheKernel<p>(x)", NamedPhase.DECODE),
        ("void flashinfer::BatchPrefillWithRaggedKVCacheKernel<p>(x)", NamedPhase.PREFILL),
        ("kernel_unified_attention_3d", NamedPhase.DECODE),
        ("kernel_unified_attention_2d", NamedPhase.NOTHING),
        ("aiter::mla_dec_stage1_bf16_a16w16_subQ16_mqa16", NamedPhase.DECODE),
        ("void mul_mat_vec_q<(ggml_type)12, 1>(x)", NamedPhase.FEW_TOKENS),
        ("void mul_mat_q<(ggml_type)12, 128, false>(x)", NamedPhase.MANY_TOKENS),
        ("_chunk_scan_fwd_kernel", NamedPhase.PREFILL),
        ("_selective_scan_update_kernel", NamedPhase.DECODE),
        ("mori::EpDispatchIntraNodeKernel", NamedPhase.COMMUNICATION),
        ("void at::native::layer_norm_grad_input_kernel<float>(x)", NamedPhase.TRAINING),
        ("void at::native::elementwise_kernel<128, 4>(x)", NamedPhase.NOTHING),
    ],
)
def test_names_that_say_a_phase(name: str, phase: NamedPhase) -> None:
    assert built_in_rules().says(name).phase is phase


@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x16x128_MI16x16x1_SN", 16),
        ("Cijk_Alik_Bljk_BBS_BH_MT192x240x64_MI16x16x1", 192),
        ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", 8),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1", 128),
        ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", 16),
        ("cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2", 128),
        ("_gemm_a16_w16_kernel_BLOCK_SIZE_M_64_BLOCK_SIZE_N_128_BLOCK_SIZE_K_128", 64),
        ("void at::native::elementwise_kernel<128, 4>(x)", None),
    ],
)
def test_the_smaller_side_of_a_tile(name: str, side: int | None) -> None:
    assert built_in_rules().says(name).tile_side == side


def test_own_rules_come_first(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text('[[phase]]\nmatch = "^my_"\nphase = "decode"\nweight = 0.5\n')

    rules = built_in_rules().extended(read_rules(path))

    assert rules.says("my_fmha_fwd")[:2] == (NamedPhase.DECODE, 0.5)
    assert rules.says("fmha_fwd").phase is NamedPhase.PREFILL


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[rule]]\n", "something other than"),
        ('phase = "x"\n', "something other than"),
        ('[[phase]]\nphase = "decode"\n', "rule 1: a rule has match"),
        ('[[phase]]\nmatch = "a"\nphase = "warm"\n', "rule 1: phase is one of prefill"),
        ('[[phase]]\nmatch = "("\nphase = "decode"\n', "rule 1"),
        ('[[phase]]\nmatch = "a"\nphase = "decode"\nweight = 3\n', "weight is a number"),
    ],
)
def test_wrong_rules_are_named(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text)

    with pytest.raises(UsageError, match=complaint):
        built_in_rules().extended(read_rules(path))
