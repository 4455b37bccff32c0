"""What compilers make of the ceilings' kernels: the instructions that are meant to be timed.

Assembly needs no GPU. Each chip is compiled by the newest clang here that knows it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from wavescope.collect.ceilings.measurements import CEILINGS
from wavescope.package_files import package_file

NAMES_OF_HIP = """
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(size) __attribute__((amdgpu_flat_work_group_size(1, size)))
typedef float float4 __attribute__((ext_vector_type(4)));
struct Place { unsigned x; };
#define threadIdx (Place{__builtin_amdgcn_workitem_id_x()})
#define blockIdx (Place{__builtin_amdgcn_workgroup_id_x()})
#define gridDim (Place{__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()})
__device__ inline void __syncthreads() { __builtin_amdgcn_s_barrier(); }
"""
VECTOR = {
    "read_memory": {"global_load_dwordx4": 8},
    "read_second_level": {"global_load_dwordx4": 16},
    "read_first_level": {"global_load_dwordx4": 16},
    "read_shared": {"ds_read_b128": 16},
    "arithmetic_fp16": {"v_pk_fma_f16": 128},
    "arithmetic_fp32": {"v_fma_f32": 128},
    "arithmetic_fp64": {"v_fma_f64": 128},
    "arithmetic_int32": {"v_mul_lo_u32": 128},
    "arithmetic_int64": {"v_mad_u64_u32": 128},
}
PACKED = {**VECTOR, "arithmetic_fp32": {"v_pk_fma_f32": 64}}
MI100 = {
    "matrix_fp16_32x32x8": {"v_mfma_f32_32x32x8f16": 128},
    "matrix_bf16_32x32x4": {"v_mfma_f32_32x32x4bf16": 128},
    "matrix_fp32_32x32x2": {"v_mfma_f32_32x32x2f32": 128},
    "matrix_int8_32x32x8": {"v_mfma_i32_32x32x8i8": 128},
}
MI200 = {
    "matrix_fp16_32x32x8": {"v_mfma_f32_32x32x8f16": 128},
    "matrix_bf16_32x32x8": {"v_mfma_f32_32x32x8bf16_1k": 128},
    "matrix_fp32_32x32x2": {"v_mfma_f32_32x32x2f32": 128},
    "matrix_fp64_16x16x4": {"v_mfma_f64_16x16x4f64": 128},
    "matrix_int8_32x32x8": {"v_mfma_i32_32x32x8i8": 128},
}
MI300 = {
    "matrix_fp8_32x32x16": {"v_mfma_f32_32x32x16_fp8_fp8": 128},
    "matrix_fp16_32x32x8": {"v_mfma_f32_32x32x8_f16": 128},
    "matrix_bf16_32x32x8": {"v_mfma_f32_32x32x8_bf16": 128},
    "matrix_fp32_32x32x2": {"v_mfma_f32_32x32x2_f32": 128},
    "matrix_fp64_16x16x4": {"v_mfma_f64_16x16x4_f64": 128},
    "matrix_int8_32x32x16": {"v_mfma_i32_32x32x16_i8": 128},
}
MI350 = {
    "matrix_fp4_32x32x64": {"v_mfma_f32_32x32x64_f8f6f4": 128},
    "matrix_fp6_32x32x64": {"v_mfma_f32_32x32x64_f8f6f4": 128},
    "matrix_fp8_32x32x64": {"v_mfma_f32_32x32x64_f8f6f4": 128},
    "matrix_fp16_32x32x16": {"v_mfma_f32_32x32x16_f16": 128},
    "matrix_bf16_32x32x16": {"v_mfma_f32_32x32x16_bf16": 128},
    "matrix_fp32_32x32x2": {"v_mfma_f32_32x32x2_f32": 128},
    "matrix_fp64_16x16x4": {"v_mfma_f64_16x16x4_f64": 128},
    "matrix_int8_32x32x32": {"v_mfma_i32_32x32x32_i8": 128},
}
CHIPS = {
    "gfx906": VECTOR,
    "gfx908": {**VECTOR, **MI100},
    "gfx90a": {**PACKED, **MI200},
    "gfx940": {**PACKED, **MI300},
    "gfx942": {**PACKED, **MI300},
    "gfx950": {**PACKED, **MI350},
}


@cache
def compilers() -> list[str]:
    found = [f"clang-{version}" for version in range(30, 14, -1)]
    return [name for name in found if shutil.which(name)]


def assembly(chip: str, folder: Path) -> str:
    source = package_file("collect", "ceilings", "kernels.cpp")
    assert source is not None
    header = folder / "names_of_hip.h"
    header.write_text(NAMES_OF_HIP)
    options = ["-x", "hip", "--cuda-device-only", f"--offload-arch={chip}", "-nogpulib"]
    options += ["-nogpuinc", "-include", str(header), "-O3", "-S", str(source), "-o", "-"]
    for compiler in compilers():
        done = subprocess.run([compiler, *options], capture_output=True, text=True, check=False)
        if "invalid target ID" not in done.stderr:
            assert done.returncode == 0, done.stderr
            return done.stdout
    return pytest.skip(f"needs a clang that knows {chip}")


def instructions(text: str) -> dict[str, Counter[str]]:
    """How often each instruction stands in each kernel."""
    kernels: dict[str, Counter[str]] = {}
    counted: Counter[str] = Counter()
    for line in text.splitlines():
        if label := re.match(r"([a-z]\w+):", line):
            counted = kernels.setdefault(label.group(1), Counter())
        elif mnemonic := re.match(r"\t([a-z]\w+)", line):
            counted[mnemonic.group(1)] += 1
    return kernels


@pytest.mark.parametrize("chip", CHIPS)
def test_kernels_hold_the_instructions_that_they_time(chip: str, tmp_path: Path) -> None:
    found = instructions(assembly(chip, tmp_path))

    wanted = CHIPS[chip]
    assert {
        kernel: {name: found[kernel][name] for name in wanted[kernel]} for kernel in wanted
    } == wanted
    assert {name for name in found if name.startswith("matrix_")} == {
        name for name in wanted if name.startswith("matrix_")
    }


@pytest.mark.parametrize("chip", CHIPS)
def test_a_ceiling_has_one_kernel_on_a_chip(chip: str) -> None:
    having = [sum(kernel in CHIPS[chip] for kernel in ceiling.kernels) for ceiling in CEILINGS]

    assert set(having) <= {0, 1}
    assert sum(having) == len(CHIPS[chip])
