"""Elementwise operators and copies: inputs read, the broadcast result written."""

from __future__ import annotations

from collections.abc import Mapping

from wavescope.analyze.work.arguments import BOOL, Arguments, Tensor
from wavescope.analyze.work.formulas.movement import (
    broadcast,
    each_argument_once,
    moved,
    promoted,
)
from wavescope.analyze.work.operator_work import Formula, OperatorWork, WorkKind

_UNARY = (
    "abs",
    "ceil",
    "cos",
    "elu",
    "erf",
    "exp",
    "expm1",
    "floor",
    "frac",
    "gelu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log",
    "log10",
    "log1p",
    "log2",
    "mish",
    "nan_to_num",
    "neg",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "selu",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "softplus",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "bitwise_not",
)
_BINARY = (
    "add",
    "sub",
    "rsub",
    "mul",
    "div",
    "floor_divide",
    "fmod",
    "remainder",
    "pow",
    "maximum",
    "minimum",
    "atan2",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "fmax",
    "fmin",
    "clamp",
    "clamp_min",
    "clamp_max",
    "masked_fill",
    "gelu_backward",
    "silu_backward",
    "sigmoid_backward",
    "tanh_backward",
    "threshold_backward",
    "hardswish_backward",
    "elu_backward",
    "leaky_relu_backward",
)
_TERNARY = ("addcmul", "addcdiv", "lerp", "where")
_COMPARING = (
    "eq",
    "ne",
    "gt",
    "ge",
    "lt",
    "le",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
    "isfinite",
    "isnan",
    "isinf",
)
_INPUTS = 3
"""Tensors come first; what follows are numbers."""


def _elementwise(is_in_place: bool = False, gives_bool: bool = False) -> Formula:
    def formula(given: Arguments) -> OperatorWork | None:
        inputs = given.tensors(range(_INPUTS))
        if not inputs or given.tensor(0) is None:
            return None
        target = inputs[0]
        dims = target.dims if is_in_place else broadcast([tensor.dims for tensor in inputs])
        if dims is None:
            return None
        # Where the first is a condition, the others tell the type.
        valued = [each for each in inputs if each.data_type is not BOOL] or inputs
        data_type = target.data_type if is_in_place else promoted(valued)
        output = Tensor(dims, BOOL if gives_bool else data_type)
        return moved(WorkKind.ELEMENTWISE, output, output.elements, [*inputs, output])._replace(
            data_type=data_type.name
        )

    return formula


def _copy(given: Arguments) -> OperatorWork | None:
    target, source = given.tensor(0), given.tensor(1)
    if target is None or source is None:
        return None
    return moved(WorkKind.COPY, target, 0, [target, source])


def _duplicate(given: Arguments) -> OperatorWork | None:
    """A copy of one tensor in its own type, dense."""
    source = given.tensor(0)
    if source is None:
        return None
    return moved(WorkKind.COPY, source, 0, [source, Tensor(source.dims, source.data_type)])


def _fill(given: Arguments) -> OperatorWork | None:
    target = given.tensor(0)
    return None if target is None else moved(WorkKind.COPY, target, 0, [target])


def _dropout(given: Arguments) -> OperatorWork | None:
    """The result and the mask of what was kept are written."""
    x = given.tensor(0)
    if x is None:
        return None
    dense = Tensor(x.dims, x.data_type)
    return moved(WorkKind.ELEMENTWISE, x, 2 * x.elements, [x, dense, Tensor(x.dims, BOOL)])


_GATED = each_argument_once(WorkKind.ELEMENTWISE, operations=2)
"""Output [T, I], input [T, 2 I]: an activation of one half times the other."""
_QUANTIZED = each_argument_once(WorkKind.ELEMENTWISE, operations=1)
_ROTATED = each_argument_once(WorkKind.ELEMENTWISE, operations=3, main=1, again=(1, 2))


def _stored_in_cache(given: Arguments) -> OperatorWork | None:
    """New keys and values are read and written to their places in the cache."""
    keys, values = given.tensor(0), given.tensor(1)
    if keys is None or values is None:
        return None
    return moved(WorkKind.COPY, keys, 0, [keys, values, keys, values])


def _library_names(namespaces: str, names: str) -> list[str]:
    return [f"{space}::{name}" for space in namespaces.split() for name in names.split()]


ELEMENTWISE_FORMULAS: Mapping[str, Formula] = {
    **{f"aten::{name}": _elementwise() for name in (*_UNARY, *_BINARY, *_TERNARY)},
    **{
        f"aten::{name}_": _elementwise(is_in_place=True)
        for name in (*_UNARY, *_BINARY, *_TERNARY)
        if not name.endswith("_backward")
    },
    **{f"aten::{name}": _elementwise(gives_bool=True) for name in _COMPARING},
    "aten::copy_": _copy,
    "aten::clone": _duplicate,
    "aten::contiguous": _duplicate,
    "aten::fill_": _fill,
    "aten::zero_": _fill,
    "aten::native_dropout": _dropout,
    **dict.fromkeys(
        _library_names(
            "_C sgl_kernel aiter", "silu_and_mul gelu_and_mul gelu_tanh_and_mul mul_and_silu"
        ),
        _GATED,
    ),
    **dict.fromkeys(
        (
            "_C::static_scaled_fp8_quant",
            "_C::dynamic_scaled_fp8_quant",
            "_C::dynamic_per_token_scaled_fp8_quant",
            "aiter::static_per_tensor_quant",
            "aiter::dynamic_per_tensor_quant",
            "aiter::dynamic_per_token_scaled_quant",
            "sgl_kernel::sgl_per_token_quant_fp8",
        ),
        _QUANTIZED,
    ),
    **dict.fromkeys(_library_names("_C sgl_kernel", "rotary_embedding"), _ROTATED),
    **dict.fromkeys(
        (
            "_C_cache_ops::reshape_and_cache",
            "_C_cache_ops::reshape_and_cache_flash",
            "sglang::store_cache",
        ),
        _stored_in_cache,
    ),
}
