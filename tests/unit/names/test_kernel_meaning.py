"""What kernels are: category, family and note by name, users' rules, hostile names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.errors import UsageError
from wavescope.model.toml_files import read_rules
from wavescope.names.kernel_names import (
    CATEGORIES,
    CategoryRules,
    KernelMeaning,
    expanded_note,
    meaning_of,
)
from wavescope.package_files import packaged_toml

_TENSILE = "UserArgs_MT64x64x256_MI16x16x1_SN_LDSB0"
_MEANINGS = [
    (
        f"Cijk_Ailk_Bljk_HHS_BH_Bias_HAS_SAV_{_TENSILE}",
        "GEMM",
        "hipBLASLt",
        "hipBLASLt GEMM, tile 64x64x256",
    ),
    (
        "Cijk_Ailk_Bljk (MT64x64x256)",
        "GEMM",
        "hipBLASLt",
        "hipBLASLt GEMM, tile 64x64x256",
    ),
    (
        "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SE_1LDSB0_APM1_ABV0_ACED0_AF0EM8",
        "GEMM",
        "rocBLAS",
        "rocBLAS GEMM, tile 128x128x32",
    ),
    (
        "Cijk_SB_BiasS_HAS_ScaleAlphaVec_PostGSU8_VW1",
        "GEMM",
        "hipBLASLt",
        "hipBLASLt GEMM, adds up 8 parts of a split K",
    ),
    (
        "_ZN5aiter52fmoe_bf16_blockscaleFp8_g1u1_novs_silu_1tg_ps_32x256E",
        "MoE",
        "AITER",
        "AITER fused MoE, persistent, tile 32x256",
    ),
    (
        "aiter::fmha_fwd_hd192_hd128_bf16_causal_group",
        "attention",
        "AITER",
        "AITER flash attention fwd, hd192_hd128_causal_group",
    ),
    (
        "_ZL12rms_norm_f32ILi256ELb1ELb0ELb0EEvPKfPfiiilllf",
        "normalization",
        "llama.cpp",
        "llama.cpp rms_norm",
    ),
    (
        "void at::native::vectorized_layer_norm_kernel<float, float, true>(int, float)",
        "normalization",
        "PyTorch",
        "PyTorch vectorized_layer_norm",
    ),
    ("void rms_norm_kernel<float>(float*)", "normalization", "", "rms normalization"),
    (
        "void convert_unary_cont_vec4<float, __half>(void const*, __half*, long)",
        "copy/fill",
        "llama.cpp",
        "llama.cpp copy: another type",
    ),
    (
        "void mul_mat_q<(ggml_type)2, 64, false, (ggml_prec)30>(char const*, int const*)",
        "GEMM",
        "llama.cpp",
        "llama.cpp matrix product, q4_0",
    ),
    (
        "void rope_norm<true, false, float, __half>(float const*, __half*, int)",
        "attention",
        "llama.cpp",
        "llama.cpp rotary position embedding",
    ),
    (
        "void soft_max_f32<true, 0, 0, __half>(float const*, __half const*, float*)",
        "softmax",
        "llama.cpp",
        "llama.cpp softmax",
    ),
    ("moe_weighted_reduction_f32(float const*, float*, long, int)", "MoE", "", "MoE"),
    ("void lightning_indexer_kernel_vec<(ggml_type)1>(char const*)", "other", "llama.cpp", ""),
    ("aiter::mix_sample_outer_exponential", "sampling", "AITER", "AITER token sampling"),
    (
        "_ZN5aiter37dynamic_per_group_scaled_quant_kernelIDhDB8_Li32EEEvPT0_PfPKT_PKfiliibPKii",
        "quantization",
        "AITER",
        "AITER dynamic_per_group_scaled_quant",
    ),
    (
        "void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<int>, int>(int)",
        "attention",
        "Composable Kernel",
        "CK-Tile attention, FmhaFwd",
    ),
    (
        "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_bias_TNT",
        "GEMM",
        "cuBLAS",
        "cuBLAS GEMM, tile 64x8x64",
    ),
    (
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_32x6_tn_align8>"
            "(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_32x6_tn_align8::Params)"
        ),
        "GEMM",
        "CUTLASS",
        "CUTLASS GEMM, tile 64x64x32",
    ),
    (
        "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16>(int)",
        "attention",
        "serving",
        "writes or indexes the KV cache",
    ),
    (
        (
            "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel"
            "<c10::BFloat16>(c10::BFloat16 const&)), true>(c10::BFloat16*, c10::BFloat16 const*, int)"
        ),
        "elementwise",
        "vLLM",
        "activation",
    ),
    ("triton_poi_fused_add_mul_3", "elementwise", "TorchInductor", None),
    ("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_12", "normalization", "TorchInductor", None),
    ("triton_poi_fused__to_copy_1", "copy/fill", "TorchInductor", None),
    ("triton_tem_fused_mm_5", "GEMM", "TorchInductor", "TorchInductor GEMM template, mm #5"),
    (
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
        "communication",
        "NCCL or RCCL",
        "collective: AllReduce",
    ),
    ("__amd_rocclr_copyBuffer.kd", "copy/fill", "HIP runtime", "HIP runtime copyBuffer"),
    ("_combined_routing_compute", "MoE", "Triton kernels", "Triton MoE routing"),
    ("mul_mat_vec_q<(ggml_type)13, 1>(int)", "GEMM", "llama.cpp", None),
    (
        "hipBLASLt GEMM (MT256x16x128)",
        "GEMM",
        "hipBLASLt",
        "hipBLASLt GEMM, tile 256x16x128",
    ),
    ("aiter::fmoe (vs_silu_32x384)", "MoE", "AITER", "AITER fused MoE, tile 32x384"),
    ("aiter::local_device_load_rmsnorm", "normalization", "AITER", "AITER rmsnorm"),
    ("ck_tile::MoeSortingKernel", "MoE", "Composable Kernel", "CK-Tile MoE Sorting"),
    ("ck_tile::QuantGemmKernel", "GEMM", "Composable Kernel", "CK-Tile QuantGemm"),
    ("kn_get_mla_metadata_v1_2", "attention", "AITER", None),
    ("_fused_qk_rope_reshape_and_cache", "attention", "", "rotary position embedding"),
    ("_fused_dynamic_mxfp4_quant_moe_sort", "quantization", "", "quantization for MoE"),
    ("_masked_embedding_kernel", "embedding", "", None),
    ("elementwise_kernel (manual_unroll)", "elementwise", "PyTorch", "PyTorch elementwise"),
    ("triton_red (RMSNorm reduce)", "normalization", "TorchInductor", None),
    ("void fbgemm_gpu::permute_2D_lengths_kernel<int>(int)", "embedding", "FBGEMM", None),
    ("void at::native::upsample_nearest2d_out_frame<float>(int)", "copy/fill", "PyTorch", None),
    (
        "bmm_E2m1_E2m1E2m1_Fp32_bA16_bB16_bC16_t128x8x512u2_s5_clmp_swiGlu_dynBatch_sm100f",
        "GEMM",
        "TensorRT-LLM",
        "TensorRT-LLM GEMM, tile 128x8x512",
    ),
    ("nvjet_tst_128x24_64x11_2x1_v_bz_TNT", "GEMM", "cuBLAS", "cuBLAS GEMM, tile 128x24x64"),
    (
        "sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32",
        "convolution",
        "cuDNN",
        "cuDNN convolution wgrad",
    ),
    ("void deep_ep::internode_ll::dispatch<true>(int)", "communication", "DeepEP", None),
    ("void deep_gemm::sm100_paged_mqa_logits<1u>(int)", "attention", "", "attention"),
    ("void deep_gemm::sm100_mega_mhc_impl<5120u>(int)", "other", "", ""),
    ("void marlin_moe_wna16::Marlin<256>(int)", "MoE", "", "MoE"),
    ("void tinygemm_m16n8k16_chunk_kernel<int>(int)", "GEMM", "", "matrix product"),
    (
        "void cutlass::device_kernel<cutlass::gemm::kernel::MoeFCGemm<int> >(int)",
        "MoE",
        "CUTLASS",
        None,
    ),
    ("void mori::moe::EpDispatchIntraNodeKernel<__half>(int)", "communication", "", None),
    (
        "void cutlass::Kernel2<vllm::enable_sm89_to_sm90<cutlass::gemm::kernel::DefaultGemm<int> > >(int)",
        "GEMM",
        "CUTLASS",
        None,
    ),
    ("prefill", "other", "", ""),
    ("", "other", "", ""),
]


@pytest.mark.parametrize(("name", "category", "family", "note"), _MEANINGS)
def test_meaning(name: str, category: str, family: str, note: str | None) -> None:
    meaning = meaning_of(name)

    assert (meaning.category, meaning.family) == (category, family)
    assert note is None or meaning.note == note


def test_notes_leave_out_bracketed_parts_without_text() -> None:
    found = re.match(r"(a)(b)?", "a")
    assert found is not None

    assert expanded_note(r"x \1[, tile \2][ of \1]", found) == "x a of a"


@pytest.mark.parametrize(
    ("name", "category"),
    [
        (
            "void causal_conv1d_fwd_kernel<Causal_conv1d_fwd_kernel_traits<128, 4>>(P)",
            "convolution",
        ),
        (
            "void causal_conv1d_bwd_kernel<Causal_conv1d_bwd_kernel_traits<128, 4>>(P)",
            "convolution",
        ),
        ("_causal_conv1d_update_kernel", "convolution"),
        ("_causal_conv1d_varlen_states", "convolution"),
        (
            "void at::native::conv_depthwise2d_forward_kernel<1, c10::BFloat16, int>(P)",
            "convolution",
        ),
        ("_selective_scan_update_kernel", "attention"),
        ("_chunk_scan_fwd_kernel", "attention"),
        ("fused_recurrent_gated_delta_rule_fwd_kernel", "attention"),
    ],
)
def test_the_convolution_before_a_scan_is_one_whoever_runs_it(name: str, category: str) -> None:
    assert meaning_of(name).category == category


def test_built_in_rules_are_sound() -> None:
    document = packaged_toml("names", "rules", "kernel_meanings.toml")

    for rule in document["rule"]:
        assert set(rule) <= {"match", "short", "category", "family", "note"}
        assert ("match" in rule) != ("short" in rule)
        assert rule["category"] in CATEGORIES
        check_note(rule.get("match") or rule["short"], rule["note"])
    for rule in document["word"]:
        assert set(rule) <= {"words", "category", "note", "anywhere"}
        assert rule["category"] in CATEGORIES
        assert rule["words"] == rule["words"].lower()
        check_note(rule["words"], rule["note"])


def check_note(pattern: str, note: str) -> None:
    found = re.compile(f"{pattern}\n|").match("")
    assert found is not None
    expanded_note(note, found)


def test_users_rules_come_first_and_may_leave_the_name_alone(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(
        "[[rule]]\nmatch = '^mine_(\\w+)'\ncategory = 'attention'\nnote = 'ours, \\1'\n"
        "[[rule]]\nmatch = '^Cijk'\nname = 'matrix'\n"
        "[[rule]]\nmatch = 'special'\ncategory = 'our ops'\n"
    )
    rules = CategoryRules.from_document(read_rules(path))

    assert rules.meaning_of("mine_decode") == KernelMeaning("attention", "", "ours, decode")
    assert rules.meaning_of("special_gemm").category == "our ops"
    assert rules.meaning_of("Cijk_A").category == "GEMM"
    assert rules.names.named("mine_decode").name == "mine_decode"
    assert rules.names.named("Cijk_A").name == "matrix"


@pytest.mark.parametrize(
    "text",
    [
        "[[rule]]\nmatch = 'a'\n",
        "[[rule]]\nmatch = 'a'\nnote = '\\2'\n",
        "[[rule]]\nmatch = 'a'\nkind = 'b'\n",
        "[[rule]]\nmatch = 'a'\ncategory = 3\n",
    ],
)
def test_wrong_rules_are_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text)

    with pytest.raises(UsageError, match="rule 1"):
        CategoryRules.from_document(read_rules(path))


@given(st.text(max_size=300))
def test_any_name_has_a_category(name: str) -> None:
    assert meaning_of(name).category in CATEGORIES


def test_endless_names_are_not_kept() -> None:
    name = "Cijk_" + "x_MT1x1" * 100_000

    assert meaning_of(name).category in CATEGORIES


_FRAGMENTS = (
    "_MT1x1x1_",
    "quant",
    "cutlass_gemm_",
    "mean_pow_",
    "1x1_",
    "norm",
    "a::",
    "(",
    "gemm",
    "moe",
)


@pytest.mark.parametrize("fragment", _FRAGMENTS)
@pytest.mark.parametrize(
    "start", ["", "Cijk_A", "triton_red (", "cutlass_", "rocprim::", "aiter::"]
)
def test_repetitive_names_take_no_more_steps_than_they_must(start: str, fragment: str) -> None:
    # A pattern whose steps grow with the third power would not come back here.
    assert meaning_of(start + fragment * 20_000).category in CATEGORIES
