"""The kernels of a transformer, with nominal times of a middling model."""

from __future__ import annotations

from dataclasses import replace

from tests.rank_jobs.machine import Kernel

QKV = Kernel("Cijk_Alik_Bljk_BBS_BH_MT256x256x64_MI16x16x16x1_SN", 110_000, 1 << 22)
ATTENTION = Kernel("fmha_fwd_kernel", 140_000, 1 << 21)
PROJECTION = Kernel("Cijk_Alik_Bljk_BBS_BH_MT128x256x64_MI16x16x16x1_SN", 60_000, 1 << 21)
NORM = Kernel("rmsnorm_kernel", 25_000, 1 << 20, clock_share=0.5)
MLP_UP = Kernel("Cijk_Ailk_Bljk_BBS_BH_MT256x256x32_MI16x16x16x1_SN", 150_000, 1 << 23)
MLP_DOWN = Kernel("Cijk_Ailk_Bljk_BBS_BH_MT256x128x64_MI16x16x16x1_SN", 130_000, 1 << 22)
ATTENTION_BACKWARD = Kernel("fmha_bwd_kernel", 290_000, 1 << 22)
OPTIMIZER = Kernel(
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel"
    "<at::native::(anonymous namespace)::FusedAdam>",
    180_000,
    1 << 22,
    clock_share=0.4,
    grows=False,
)
ROUTER = Kernel("topk_softmax_kernel", 20_000, 1 << 18)
EXPERTS = Kernel("aiter::fmoe_bf16_g1u1_subGU_256", 260_000, 1 << 22)
LOGITS = Kernel("Cijk_Alik_Bljk_BBS_BH_MT64x256x64_MI16x16x16x1_SN", 200_000, 1 << 23)

ATTENTION_BLOCK = (NORM, QKV, ATTENTION, PROJECTION)
MLP_BLOCK = (NORM, MLP_UP, MLP_DOWN)


def scaled(kernels: tuple[Kernel, ...], factor: float) -> tuple[Kernel, ...]:
    """The same kernels on parts of the data."""
    return tuple(
        replace(
            kernel,
            nominal_ns=kernel.nominal_ns * factor,
            work_items=max(256, int(kernel.work_items * factor)),
        )
        for kernel in kernels
    )


def backward(kernels: tuple[Kernel, ...]) -> tuple[Kernel, ...]:
    """What runs backwards through them: twice the work, the last first."""
    return tuple(
        replace(
            kernel,
            name=kernel.name.replace("fmha_fwd", "fmha_bwd").replace("rmsnorm", "rmsnorm_bwd"),
            nominal_ns=2 * kernel.nominal_ns,
            work_items=2 * kernel.work_items,
        )
        for kernel in reversed(kernels)
    )
