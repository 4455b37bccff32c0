"""Normalizations and softmax: the input read, the result written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from wavescope.analyze.work.arguments import Arguments, Tensor
from wavescope.analyze.work.formulas.movement import each_argument_once, moved
from wavescope.analyze.work.operator_work import Formula, OperatorWork, WorkKind

_CENTRED = 5
"""Mean (1), variance (subtract, square, add), scale (1) for each element."""
_RMS = 3
"""Square, add, scale."""
_SOFTMAX = 5
"""Maximum, subtract, exponential, sum, divide."""


class _Layout(NamedTuple):
    """Which argument is normalized, by how many operations, and which scale and shift it."""

    operations: int
    x: int = 0
    parameters: tuple[int, ...] = ()


def _forward(layout: _Layout) -> Formula:
    def formula(given: Arguments) -> OperatorWork | None:
        x = given.tensor(layout.x)
        if x is None:
            return None
        parameters = given.tensors(layout.parameters)
        operations = layout.operations + len(parameters)
        tensors = [x, *parameters, Tensor(x.dims, x.data_type)]
        return moved(WorkKind.NORMALIZATION, x, operations * x.elements, tensors)

    return formula


def _backward(operations: int, gradient: int, x: int) -> Formula:
    """The output's gradient and the input are read, the input's gradient is written."""

    def formula(given: Arguments) -> OperatorWork | None:
        read, normalized = given.tensor(gradient), given.tensor(x)
        if read is None or normalized is None:
            return None
        written = Tensor(normalized.dims, normalized.data_type)
        return moved(
            WorkKind.NORMALIZATION,
            normalized,
            2 * operations * normalized.elements,
            [read, normalized, written],
        )

    return formula


def _softmax(given: Arguments) -> OperatorWork | None:
    x = given.tensor(0)
    if x is None:
        return None
    output = Tensor(x.dims, x.data_type)
    return moved(WorkKind.SOFTMAX, x, _SOFTMAX * x.elements, [x, output])


def _softmax_backward(given: Arguments) -> OperatorWork | None:
    gradient, output = given.tensor(0), given.tensor(1)
    if gradient is None or output is None:
        return None
    written = Tensor(output.dims, output.data_type)
    return moved(WorkKind.SOFTMAX, output, 4 * output.elements, [gradient, output, written])


_LAYER = _forward(_Layout(_CENTRED, parameters=(2, 3)))
_BATCH = _forward(_Layout(_CENTRED, parameters=(1, 2)))
_RMS_TORCH = _forward(_Layout(_RMS, parameters=(2,)))
_RMS_IN_OUT = each_argument_once(WorkKind.NORMALIZATION, _RMS + 1)
"""Output, input and weights are arguments."""
_ADDED_IN_PLACE = each_argument_once(WorkKind.NORMALIZATION, _RMS + 2, again=(0, 1))
"""Input and residual are both read and written."""
_ADDED_IN_OUT = each_argument_once(WorkKind.NORMALIZATION, _RMS + 2)

NORMALIZATION_FORMULAS: Mapping[str, Formula] = {
    "aten::layer_norm": _LAYER,
    "aten::native_layer_norm": _LAYER,
    "aten::native_layer_norm_backward": _backward(_CENTRED + 2, 0, 1),
    "aten::rms_norm": _RMS_TORCH,
    "aten::_fused_rms_norm": _RMS_TORCH,
    "aten::_fused_rms_norm_backward": _backward(_RMS + 1, 0, 1),
    "aten::native_batch_norm": _BATCH,
    "aten::cudnn_batch_norm": _BATCH,
    "aten::miopen_batch_norm": _BATCH,
    "aten::_native_batch_norm_legit": _BATCH,
    "aten::native_batch_norm_backward": _backward(_CENTRED + 2, 0, 1),
    "aten::cudnn_batch_norm_backward": _backward(_CENTRED + 2, 1, 0),
    "aten::miopen_batch_norm_backward": _backward(_CENTRED + 2, 1, 0),
    "aten::native_group_norm": _BATCH,
    "aten::native_group_norm_backward": _backward(_CENTRED + 2, 0, 1),
    "aiter::_groupnorm_run": _forward(_Layout(_CENTRED, parameters=(2, 3))),
    "aiter::layernorm2d_fwd": _forward(_Layout(_CENTRED, parameters=(1, 2))),
    "aiter::rmsnorm2d_fwd": _forward(_Layout(_RMS, parameters=(1,))),
    **dict.fromkeys(
        ("_C::rms_norm", "sgl_kernel::rmsnorm", "aiter::rmsnorm", "_C::rms_norm_static_fp8_quant"),
        _RMS_IN_OUT,
    ),
    **dict.fromkeys(("_C::fused_add_rms_norm", "sgl_kernel::fused_add_rmsnorm"), _ADDED_IN_PLACE),
    **dict.fromkeys(
        ("aiter::add_rmsnorm", "aiter::rmsnorm2d_fwd_with_add", "aiter::rmsnorm2d_with_add"),
        _ADDED_IN_OUT,
    ),
    "aten::_softmax": _softmax,
    "aten::_log_softmax": _softmax,
    "aten::_safe_softmax": _softmax,
    "aten::_softmax_backward_data": _softmax_backward,
    "aten::_log_softmax_backward_data": _softmax_backward,
}
