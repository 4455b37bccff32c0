"""Matrix products: 2 M N K operations; both operands read, the product written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from wavescope.analyze.work.arguments import BF16, FP4, FP32, Arguments, DataType, Tensor, bytes_of
from wavescope.analyze.work.operator_work import Formula, GemmSizes, OperatorWork, WorkKind

_NARROW_BITS = 8
"""Operands so narrow are accumulated wider: the product is written in 16 bits unless told."""


def product(
    sizes: GemmSizes,
    left: Tensor,
    right: Tensor,
    *,
    also_read: int = 0,
    output: DataType | None = None,
    arithmetic: DataType | None = None,
) -> OperatorWork:
    """The work of one or several equal products of two tensors."""
    written = output or (left.data_type if left.data_type.bits > _NARROW_BITS else BF16)
    batch, m, n, k = sizes
    moved = left.bytes + right.bytes + also_read + batch * m * n * written.bits // 8
    batched = f"{batch}x " if batch > 1 else ""
    return OperatorWork(
        WorkKind.GEMM,
        2 * batch * m * n * k,
        moved,
        (arithmetic or wider(left.data_type, right.data_type)).name,
        f"{batched}{m}x{n}x{k}",
        sizes,
    )


def wider(left: DataType, right: DataType) -> DataType:
    """The type that both are computed in."""
    return left if left.bits // left.packed >= right.bits // right.packed else right


def _matrices(left: int, right: int, added: int | None = None) -> Formula:
    """[..., M, K] by [..., K, N], with a bias or an addend."""

    def formula(given: Arguments) -> OperatorWork | None:
        a, b = given.tensor(left), given.tensor(right)
        if a is None or b is None or len(a.dims) != len(b.dims) or len(a.dims) not in (2, 3):
            return None
        (*batches, m, k), (*other_batches, inner, n) = a.dims, b.dims
        if inner != k or batches != other_batches:
            return None
        more = None if added is None else given.tensor(added)
        return product(GemmSizes(math.prod(batches), m, n, k), a, b, also_read=bytes_of([more]))

    return formula


def _matmul(given: Arguments) -> OperatorWork | None:
    """[..., M, K] by [K, N] or by [..., K, N] of the same batches."""
    a, b = given.tensor(0), given.tensor(1)
    if a is None or b is None or len(a.dims) < 2 or len(b.dims) < 2 or a.dims[-1] != b.dims[-2]:
        return None
    *batches, m, k = a.dims
    if len(b.dims) == 2:
        return product(GemmSizes(1, math.prod(batches) * m, b.dims[-1], k), a, b)
    if list(b.dims[:-2]) != batches:
        return None
    return product(GemmSizes(math.prod(batches), m, b.dims[-1], k), a, b)


def _matrix_vector(given: Arguments) -> OperatorWork | None:
    a, b = given.tensor(0), given.tensor(1)
    if a is None or b is None or len(a.dims) != 2 or b.dims != a.dims[1:]:
        return None
    return product(GemmSizes(1, a.dims[0], 1, a.dims[1]), a, b)


def _linear(given: Arguments) -> OperatorWork | None:
    """[..., K] by weights [N, K], with a bias."""
    x, weights = given.tensor(0), given.tensor(1)
    if x is None or weights is None or len(weights.dims) != 2 or not x.dims:
        return None
    if x.dims[-1] != weights.dims[1]:
        return None
    sizes = GemmSizes(1, math.prod(x.dims[:-1]), weights.dims[0], x.dims[-1])
    return product(sizes, x, weights, also_read=bytes_of([given.tensor(2)]))


def _integer_matrices(given: Arguments) -> OperatorWork | None:
    """Products of 8-bit integers, accumulated and written in 32 bits."""
    found = _matrices(0, 1)(given)
    if found is None or found.gemm is None:
        return None
    written = found.gemm.batch * found.gemm.m * found.gemm.n
    return found._replace(bytes=found.bytes + written * (FP32.bits - BF16.bits) // 8)


def _grouped(given: Arguments) -> OperatorWork | None:
    """Rows [T, K] that each belong to one of the groups of weights [G, K, N]."""
    x, weights = given.tensor(0), given.tensor(1)
    if x is None or weights is None or len(x.dims) != 2 or len(weights.dims) != 3:
        return None
    (rows, k), (groups, inner, n) = x.dims, weights.dims
    if inner != k or not groups:
        return None
    used = Tensor((min(groups, rows), k, n), weights.data_type)
    found = product(GemmSizes(1, rows, n, k), x, used)
    return found._replace(gemm=None, shape=f"{groups} groups, {rows}x{n}x{k}")


class _Operands(NamedTuple):
    """Where a library's product has its operands, and its output if that is an argument."""

    left: int
    right: int
    output: int | None = None
    is_four_bit: bool = False


def _library_product(at: _Operands) -> Formula:
    """[M, K] by [N, K] or [K, N], perhaps batched; scales and biases are read, too."""

    def formula(given: Arguments) -> OperatorWork | None:
        a, b = given.tensor(at.left), given.tensor(at.right)
        sizes = None if a is None or b is None else _sizes(a, b, at.is_four_bit)
        if a is None or b is None or sizes is None:
            return None
        output = None if at.output is None else given.tensor(at.output)
        if output is not None and output.elements != sizes.batch * sizes.m * sizes.n:
            return None
        operands = {at.left, at.right, at.output}
        others = bytes_of(given.tensors(i for i in range(len(given)) if i not in operands))
        return product(
            sizes,
            a,
            b,
            also_read=others,
            output=None if output is None else output.data_type,
            arithmetic=FP4 if at.is_four_bit else None,
        )

    return formula


def _sizes(a: Tensor, b: Tensor, is_four_bit: bool) -> GemmSizes | None:
    if len(a.dims) != len(b.dims) or len(a.dims) not in (2, 3) or a.dims[:-2] != b.dims[:-2]:
        return None
    m, k = a.dims[-2:]
    packed = 2 if is_four_bit or a.data_type.packed == 2 else 1
    if b.dims[-1] == k:
        return GemmSizes(math.prod(a.dims[:-2]), m, b.dims[-2], k * packed)
    if b.dims[-2] == k:
        return GemmSizes(math.prod(a.dims[:-2]), m, b.dims[-1], k * packed)
    return None


_LIBRARY_PRODUCTS = {
    _Operands(0, 1): (
        "aiter::gemm_a16w16",
        "aiter::gemm_a8w8",
        "aiter::gemm_a8w8_CK",
        "aiter::gemm_a8w8_blockscale",
        "aiter::gemm_a8w8_bpreshuffle",
        "aiter::batched_gemm_a8w8",
        "aiter::batched_gemm_bf16",
        "aiter::hipb_mm",
        "aiter::rocb_mm",
        "_rocm_C::LLMM1",
        "_rocm_C::wvSplitK",
        "vllm::rocm_unquantized_gemm",
        "vllm::rocm_unquantized_gemm_impl",
        "vllm::rocm_aiter_gemm_w8a8",
        "vllm::rocm_aiter_gemm_w8a8_blockscale",
        "vllm::rocm_aiter_gemm_a8w8_blockscale",
        "vllm::w8a8_block_fp8_matmul_func",
        "vllm::w8a8_triton_block_scaled_mm_func",
        "sgl_kernel::fp8_scaled_mm",
        "sgl_kernel::fp8_blockwise_scaled_mm",
        "sgl_kernel::int8_scaled_mm",
    ),
    _Operands(0, 1, output=4): (
        "aiter::gemm_a8w8_ck",
        "aiter::gemm_a8w8_asm",
        "aiter::gemm_a8w8_blockscale_ck",
        "aiter::gemm_a8w8_bpreshuffle_ck",
    ),
    _Operands(0, 1, output=2): ("aiter::gemm_a16w16_asm",),
    _Operands(0, 1, is_four_bit=True): ("aiter::gemm_a4w4",),
    _Operands(0, 1, output=4, is_four_bit=True): (
        "aiter::gemm_a4w4_asm",
        "aiter::gemm_a4w4_blockscale",
    ),
    _Operands(1, 2, output=0): (
        "_C::cutlass_scaled_mm",
        "_C::cutlass_scaled_mm_azp",
    ),
    _Operands(1, 2, output=0, is_four_bit=True): (
        "_C::cutlass_scaled_fp4_mm",
        "sgl_kernel::cutlass_scaled_fp4_mm",
    ),
}

GEMM_FORMULAS: Mapping[str, Formula] = {
    "aten::mm": _matrices(0, 1),
    "aten::bmm": _matrices(0, 1),
    "aten::addmm": _matrices(1, 2, added=0),
    "aten::_addmm_activation": _matrices(1, 2, added=0),
    "aten::addmm_": _matrices(1, 2, added=0),
    "aten::baddbmm": _matrices(1, 2, added=0),
    "aten::baddbmm_": _matrices(1, 2, added=0),
    "aten::mv": _matrix_vector,
    "aten::matmul": _matmul,
    "aten::linear": _linear,
    "aten::_scaled_mm": _library_product(_Operands(0, 1)),
    "aten::_int_mm": _integer_matrices,
    "aten::_grouped_mm": _grouped,
    "aten::_scaled_grouped_mm": _grouped,
    **{
        name: _library_product(operands)
        for operands, names in _LIBRARY_PRODUCTS.items()
        for name in names
    },
}
