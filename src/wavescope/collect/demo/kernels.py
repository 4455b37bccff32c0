"""The kernels of the demo: what a transformer layer launches in prefill and in decode.

Names are of the kinds that LLM servers on AMD Instinct show; durations are plausible round numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

_BF16 = "__hip_bfloat16"


@dataclass(frozen=True)
class DemoKernel:
    """A kernel: its symbol's resources, launch size and mean duration."""

    name: str
    mean_ns: int
    workgroup: int
    workgroups: int
    vgprs: int
    agprs: int
    lds_bytes: int
    is_collective: bool = False


def _gemm(tile: str, mean_ns: int, workgroups: int, agprs: int) -> DemoKernel:
    name = (
        f"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT{tile}_MI16x16x1_SN_LDSB1_"
        "AFC1_AFEM1_ASEM1_GRVWA8_GRVWB8_NTA0_NTB0_PGR2_PLR1_SU0_SUM0_TLDS1_WSGRA0_WG64_4_1"
    )
    return DemoKernel(name, mean_ns, 256, workgroups, 128, agprs, 65_536)


RMS_NORM_PREFILL = DemoKernel(
    "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, c10::BFloat16*, "
    "c10::BFloat16 const*, float, int, int)",
    21_000, 1024, 2048, 32, 0, 128,
)  # fmt: skip
ROTARY_PREFILL = DemoKernel(
    "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, "
    "c10::BFloat16*, c10::BFloat16 const*, int, long, long, int, int, int)",
    18_000, 512, 2048, 24, 0, 0,
)  # fmt: skip
CACHE_PREFILL = DemoKernel(
    "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16, "
    "(vllm::Fp8KVCacheDataType)0>(__hip_bfloat16 const*, __hip_bfloat16 const*)",
    12_000, 512, 2048, 20, 0, 0,
)  # fmt: skip
ATTENTION_PREFILL = DemoKernel(
    "aiter::fmha_fwd_hd128_bf16_causal_rtne_group", 410_000, 512, 1024, 128, 128, 65_536
)
SILU_PREFILL = DemoKernel(
    "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>"
    "(c10::BFloat16 const&)), true>(c10::BFloat16*, c10::BFloat16 const*, int)",
    46_000, 1024, 2048, 28, 0, 0,
)  # fmt: skip
ALL_REDUCE_PREFILL = DemoKernel(
    "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
    150_000, 256, 32, 96, 0, 29_360, is_collective=True,
)  # fmt: skip

PREFILL_LAYER = (
    RMS_NORM_PREFILL,
    _gemm("256x256x64", 620_000, 608, 256),
    ROTARY_PREFILL,
    CACHE_PREFILL,
    ATTENTION_PREFILL,
    _gemm("256x224x64", 390_000, 512, 256),
    ALL_REDUCE_PREFILL,
    RMS_NORM_PREFILL,
    _gemm("256x256x128", 1_480_000, 1216, 256),
    SILU_PREFILL,
    _gemm("256x240x64", 760_000, 608, 256),
    ALL_REDUCE_PREFILL,
)

RMS_NORM_DECODE = DemoKernel(
    "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, c10::BFloat16*, "
    "c10::BFloat16 const*, float, int, int)",
    4_200, 1024, 32, 32, 0, 128,
)  # fmt: skip
ATTENTION_DECODE = DemoKernel(
    f"void paged_attention_ll4mi_QKV_mfma16_kernel<{_BF16}, {_BF16}, (vllm::Fp8KVCacheDataType)0, "
    f"{_BF16}, 16, 128, 256, false, 8>({_BF16} const*, {_BF16} const*, {_BF16} const*)",
    14_500, 256, 256, 96, 0, 16_384,
)  # fmt: skip
ATTENTION_REDUCE_DECODE = DemoKernel(
    f"void paged_attention_ll4mi_reduce_kernel<{_BF16}, {_BF16}, 128, 128, 256, 4>"
    f"({_BF16}*, float const*, float const*, {_BF16} const*, int const*)",
    4_600, 128, 32, 40, 0, 1_024,
)  # fmt: skip
SILU_DECODE = DemoKernel(
    SILU_PREFILL.name, 3_900, 1024, 32, 28, 0, 0,
)  # fmt: skip
ALL_REDUCE_DECODE = DemoKernel(
    f"void vllm::cross_device_reduce_1stage<{_BF16}, 2>(vllm::RankData*, vllm::RankSignals, "
    f"vllm::Signal*, {_BF16}*, int, int)",
    9_800, 512, 36, 48, 0, 0, is_collective=True,
)  # fmt: skip

DECODE_LAYER = (
    RMS_NORM_DECODE,
    _gemm("32x16x512", 11_500, 304, 64),
    DemoKernel(ROTARY_PREFILL.name, 3_400, 512, 32, 24, 0, 0),
    DemoKernel(CACHE_PREFILL.name, 3_100, 512, 32, 20, 0, 0),
    ATTENTION_DECODE,
    ATTENTION_REDUCE_DECODE,
    _gemm("16x16x512", 8_300, 256, 32),
    ALL_REDUCE_DECODE,
    RMS_NORM_DECODE,
    _gemm("64x16x256", 24_000, 448, 64),
    SILU_DECODE,
    _gemm("16x32x512", 15_200, 304, 32),
    ALL_REDUCE_DECODE,
)

SOFTMAX = DemoKernel(
    "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, "
    "at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*, float const*, int)",
    17_000, 1024, 32, 40, 0, 4_096,
)  # fmt: skip
ARGMAX = DemoKernel(
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
    "at::native::ArgMaxOps<float>, unsigned int, long, 4> >(at::native::ReduceOp<float, "
    "at::native::ArgMaxOps<float>, unsigned int, long, 4>)",
    12_500, 512, 32, 48, 0, 8_192,
)  # fmt: skip

SAMPLING = (_gemm("128x16x128", 61_000, 501, 128), SOFTMAX, ARGMAX)
