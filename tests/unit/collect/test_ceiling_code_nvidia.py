"""What the ceilings' kernels are for NVIDIA: PTX, which clang writes without any part of CUDA."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.unit.collect.test_ceiling_code import compilers
from wavescope.collect.ceilings.measurements import CEILINGS
from wavescope.package_files import package_file

NAMES_OF_CUDA = """
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(size) __attribute__((launch_bounds(size)))
struct __attribute__((aligned(16))) float4 { float x, y, z, w; };
struct Place { unsigned x; };
#define threadIdx (Place{(unsigned)__nvvm_read_ptx_sreg_tid_x()})
#define blockIdx (Place{(unsigned)__nvvm_read_ptx_sreg_ctaid_x()})
#define gridDim (Place{(unsigned)__nvvm_read_ptx_sreg_nctaid_x()})
"""
AMPERE = {
    "matrix_fp16_16x8x16": "m16n8k16.row.col.f32.f16.f16.f32",
    "matrix_bf16_16x8x16": "m16n8k16.row.col.f32.bf16.bf16.f32",
    "matrix_fp32_16x8x8": "m16n8k8.row.col.f32.tf32.tf32.f32",
    "matrix_int8_16x8x32": "m16n8k32.row.col.s32.s8.s8.s32",
    "matrix_fp64_8x8x4": "m8n8k4.row.col.f64.f64.f64.f64",
}
EIGHT_BITS = {"matrix_fp8_16x8x32": "m16n8k32.row.col.f32.e4m3.e4m3.f32"}


def matrix_instructions(
    architecture: int, compiler_version: tuple[int, int], folder: Path
) -> Counter[str]:
    """How often each matrix instruction stands in each kernel, as 'kernel instruction'.

    The compiler may be older than the chip: its instructions are text to it.
    """
    source = package_file("collect", "ceilings", "kernels.cpp")
    assert source is not None
    header = folder / "names_of_cuda.h"
    header.write_text(NAMES_OF_CUDA)
    if not compilers():
        pytest.skip("needs a clang")
    major, minor = compiler_version
    options = ["-x", "cuda", "--cuda-device-only", "--offload-arch=sm_75", "-nocudalib"]
    options += ["-nocudainc", "-include", str(header), "-O3", "-S", str(source), "-o", "-"]
    options += ["-Wno-unknown-cuda-version", "-U__CUDA_ARCH__", f"-D__CUDA_ARCH__={architecture}"]
    options += [f"-D__CUDACC_VER_MAJOR__={major}", f"-D__CUDACC_VER_MINOR__={minor}"]
    done = subprocess.run([compilers()[0], *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counted: Counter[str] = Counter()
    kernel = ""
    for line in done.stdout.splitlines():
        if entry := re.search(r"\.entry (\w+)", line):
            kernel = entry[1]
        elif product := re.search(r"mma\.sync\.aligned\.([\w.]+)", line):
            counted[f"{kernel} {product[1]}"] += 1
    return counted


@pytest.mark.parametrize(
    ("architecture", "compiler_version", "expected"),
    [
        (750, (13, 0), {}),
        (800, (13, 0), AMPERE),
        (890, (12, 3), AMPERE),
        (890, (12, 4), {**AMPERE, **EIGHT_BITS}),
        (900, (13, 0), AMPERE),
    ],
)
def test_each_product_stands_as_often_as_it_is_counted(
    architecture: int, compiler_version: tuple[int, int], expected: dict[str, str], tmp_path: Path
) -> None:
    found = matrix_instructions(architecture, compiler_version, tmp_path)

    assert found == {f"{kernel} {product}": 128 for kernel, product in expected.items()}


def test_every_ceiling_of_matrices_knows_its_kernel() -> None:
    known = {kernel for ceiling in CEILINGS for kernel in ceiling.kernels}

    assert {*AMPERE, *EIGHT_BITS} <= known
