"""The same model on an MI300X and on an H200: names differ, what they do does not."""

from __future__ import annotations

from collections.abc import Sequence

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.compare import compare
from wavescope.analyze.contents import overview
from wavescope.analyze.ops.op_labels import categories
from wavescope.analyze.work.uses import gpu_boards

ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)"
AMD = ("Cijk_Ailk_Bljk_BBS_BH_MT256x256x64_MI16x16x1", "ck_tile::FmhaFwdKernel", ADD)
NVIDIA = (
    "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT",
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 64, 4>>(Params)",
    ADD,
)


def model(names: Sequence[str], lengths: Sequence[int], **agent: int | str) -> TraceMaker:
    """20 steps of four layers, in phases that are marked."""
    maker = a_trace().with_process(1).with_agent(0, **agent)
    at = 0
    for step in range(20):
        begin = at
        for name, length in [*zip(names, lengths, strict=True)] * 4:
            maker.with_kernel(name, at, at + length)
            at += length + 500
        maker.with_marker("prefill" if step == 0 else "decode", begin, at)
    return maker


def mi300x() -> TraceMaker:
    return model(
        AMD, (40_000, 20_000, 3_000), chip="gfx942", model="AMD Instinct MI300X", cu_count=304
    )


def h200() -> TraceMaker:
    return model(NVIDIA, (30_000, 12_000, 2_500), chip="sm_90", model="NVIDIA H200", cu_count=132)


def test_an_h200_is_known_by_its_peaks() -> None:
    trace = h200().build()

    (gpu,) = overview(trace).table("gpus").records()
    assert (gpu["chip"], gpu["model"], gpu["compute_units"]) == ("sm_90", "NVIDIA H200", 132)
    board = gpu_boards(trace)[0]
    assert board is not None
    assert (board.name, board.tflops["bf16"], board.memory_gb_per_s) == ("H200 SXM", 989.4, 4800.0)


def test_names_of_both_vendors_are_of_the_same_categories() -> None:
    found = [
        categories(maker().build()).table("categories").column("category")
        for maker in (mi300x, h200)
    ]

    assert found == [["GEMM", "attention", "elementwise"]] * 2


def test_what_differs_is_told_by_role_and_by_phase() -> None:
    result = compare([mi300x().build(), h200().build()])

    kernels = {row["name"]: row for row in result.table("kernels").records()}
    product = kernels["nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT"]
    assert (product["status"], product["delta_ns"]) == ("renamed", -80 * 10_000)
    rows = {row["name"]: row["delta_ns"] for row in result.table("waterfall_categories").records()}
    assert (rows["GEMM"], rows["attention"], rows["elementwise"]) == (-800_000, -640_000, -40_000)
    phases = {row["name"]: row["delta_ns"] for row in result.table("phases").records()}
    assert phases == {"prefill": -74_000, "decode": -19 * 74_000}
    assert result.table("traces").column("gpu_model") == ["AMD Instinct MI300X", "NVIDIA H200"]
