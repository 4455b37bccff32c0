"""What kernels of PyTorch's templates compute, and that they pair by it."""

from __future__ import annotations

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.compare import CompareOptions, Part, compare
from wavescope.analyze.compare.kernel_roles import kernel_role, role_types

COPY = (
    "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const"
    "::{lambda()#%d}::operator()() const::{lambda(%s)#1}"
)
COPY_FLOAT, COPY_HALF = COPY % (7, "float"), COPY % (12, "c10::BFloat16")
MUL = (
    "at::native::BinaryFunctor<float, float, float, "
    "at::native::binary_internal::MulFunctor<float> >"
)


CAST = f"void at::native::elementwise_kernel<512, 1, at::native::gpu_kernel_impl<{COPY_FLOAT}>(x)>"
UNROLLED = f"void at::native::unrolled_elementwise_kernel<{COPY % (9, 'float')}, char*, 4>(int)"
VECTORIZED = f"void at::native::vectorized_elementwise_kernel<4, {MUL}, std::array<char*, 3ul> >(x)"
MANUAL = "elementwise_kernel_manual_unroll<128, 8, at::native::gpu_kernel_impl_nocast<%s>(x)>(int)"


@pytest.mark.parametrize(
    ("name", "role"),
    [
        (CAST, "direct_copy_kernel_cuda(float)"),
        (UNROLLED, "direct_copy_kernel_cuda(float)"),
        (MANUAL % COPY_HALF, "direct_copy_kernel_cuda(BFloat16)"),
        (VECTORIZED, "BinaryFunctor<float,float,float,binary_internal::MulFunctor<float>>"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::FillF", ""),
        ("elementwise_kernel_with_index<int, at::native::arange_cuda_out>(x)", ""),
        ("Cijk_Alik_Bljk_MT256x128x64", ""),
        ("void at::native::elementwise_kernel<", ""),
        ("elementwise_kernel<<<<<(((", ""),
        ("", ""),
    ],
)
def test_roles(name: str, role: str) -> None:
    assert kernel_role(name) == role


def test_the_types_of_a_role() -> None:
    assert role_types("direct_copy_kernel_cuda(float)") == "float"
    assert role_types("CUDAFunctor_add<BFloat16>") == "BFloat16"
    assert role_types("sin") == "sin"


def elementwise(functor: str) -> str:
    return (
        f"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<{functor}>"
        "(at::TensorIteratorBase&)>(int, at::native::gpu)"
    )


def unrolled(functor: str) -> str:
    return f"void at::native::unrolled_elementwise_kernel<{functor}, std::array<char*, 2ul>>(int)"


def manual(functor: str) -> str:
    return (
        "void at::native::elementwise_kernel_manual_unroll<128, 8, "
        f"at::native::gpu_kernel_impl_nocast<{functor}>(at::TensorIteratorBase&)>(int)"
    )


def layers(*kernels: tuple[str, int]) -> TraceMaker:
    """Five times the kernels one after another, each with its length."""
    maker, at = a_trace(), 0
    for name, length in kernels * 5:
        maker.with_kernel(name, at, at + length)
        at += length + 5
    return maker


def test_one_short_name_for_other_work_is_told_apart() -> None:
    """Both traces have `elementwise_kernel (direct_copy)`: of floats here, of halves there."""
    base = layers(("gemm", 50), (manual(COPY_HALF), 10), ("norm", 20), (elementwise(COPY_FLOAT), 7))
    new = layers(
        ("gemm", 50), (elementwise(COPY_HALF), 30), ("norm", 20), (unrolled(COPY_FLOAT), 9)
    )

    result = compare([base.build(), new.build()], CompareOptions(parts=(Part.KERNEL,)))

    rows = {row["name"]: row for row in result.table("kernels").records()}
    halves = rows["elementwise_kernel (direct_copy) [BFloat16]"]
    floats = rows["unrolled_elementwise (direct_copy)"]
    assert (halves["base_name"], halves["base_total_ns"], halves["new_total_ns"]) == (
        "elementwise_kernel (manual_unroll, direct_copy)",
        50,
        150,
    )
    assert (floats["base_name"], floats["base_total_ns"], floats["new_total_ns"]) == (
        "elementwise_kernel (direct_copy) [float]",
        35,
        45,
    )
    assert "role" in str(halves["matched_by"])
    assert sum(int(row["delta_ns"] or 0) for row in rows.values()) == 110


def test_one_short_name_for_the_same_work_stays_whole() -> None:
    trace = layers((elementwise(COPY_HALF), 10), (elementwise(COPY_FLOAT), 7)).build()

    result = compare([trace, trace], CompareOptions(parts=(Part.KERNEL,)))

    assert result.table("kernels").column("name") == ["elementwise_kernel (direct_copy)"]
