"""Convolutions: 2 operations for each output element, input channel of its group and kernel tap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wavescope.analyze.work.arguments import Arguments, Tensor, bytes_of, size_text
from wavescope.analyze.work.operator_work import Formula, OperatorWork, WorkKind


class _Layout(NamedTuple):
    """At which positions a convolution's arguments are; `bias` and others may be missing."""

    x: int
    weight: int
    stride: int
    padding: int
    dilation: int
    groups: int
    bias: int | None = None
    transposed: int | None = None


class _Sizes(NamedTuple):
    batch: int
    in_channels: int
    out_channels: int
    taps: int
    groups: int
    in_space: tuple[int, ...]
    out_space: tuple[int, ...]
    is_transposed: bool

    @property
    def flops(self) -> int:
        """Every input element of a transposed convolution meets every tap, otherwise every
        output element does."""
        space = self.in_space if self.is_transposed else self.out_space
        channels = self.in_channels * self.out_channels // self.groups
        return 2 * self.batch * channels * self.taps * math.prod(space)


def _forward(layout: _Layout) -> Formula:
    def formula(given: Arguments) -> OperatorWork | None:
        x, weight = given.tensor(layout.x), given.tensor(layout.weight)
        transposed = layout.transposed is not None and given.flag(layout.transposed)
        if x is None or weight is None or transposed:
            return None
        sizes = _sizes(given, layout, x, weight)
        if sizes is None:
            return None
        bias = None if layout.bias is None else given.tensor(layout.bias)
        output = Tensor((sizes.batch, sizes.out_channels, *sizes.out_space), x.data_type)
        return _work(sizes, x, weight, bytes_of([x, weight, bias, output]), 1)

    return formula


def _sizes(given: Arguments, layout: _Layout, x: Tensor, weight: Tensor) -> _Sizes | None:
    axes = len(x.dims) - 2
    groups = given.number(layout.groups)
    stride = _for_axes(given.numbers(layout.stride), axes)
    padding = _for_axes(given.numbers(layout.padding), axes)
    dilation = _for_axes(given.numbers(layout.dilation), axes)
    if axes < 1 or len(weight.dims) != axes + 2 or not groups or groups < 1:
        return None
    if stride is None or padding is None or dilation is None or min(stride) < 1:
        return None
    batch, in_channels, *in_space = x.dims
    out_channels, group_channels, *kernel = weight.dims
    if group_channels * groups != in_channels:
        return None
    out_space = tuple(
        (size + 2 * pad - step * (tap - 1) - 1) // jump + 1
        for size, pad, step, tap, jump in zip(
            in_space, padding, dilation, kernel, stride, strict=True
        )
    )
    if min(out_space) < 1:
        return None
    taps = math.prod(kernel)
    return _Sizes(batch, in_channels, out_channels, taps, groups, tuple(in_space), out_space, False)


def _for_axes(values: tuple[int, ...] | None, axes: int) -> tuple[int, ...] | None:
    """One value for each axis; a single one holds for all."""
    if not values or axes < 1:
        return None
    return values * axes if len(values) == 1 else values if len(values) == axes else None


def _transposed(padding: int, extra: int, stride: int, dilation: int, groups: int) -> Formula:
    """A transposed convolution with its arguments at these positions; `extra` pads the output."""

    def formula(given: Arguments) -> OperatorWork | None:
        x, weight, group_count = given.tensor(0), given.tensor(1), given.number(groups)
        parts = [given.numbers(place) for place in (padding, extra, stride, dilation)]
        if x is None or weight is None or not group_count or None in parts:
            return None
        return _transposed_work(x, weight, group_count, [part or () for part in parts])

    return formula


def _transposed_work(
    x: Tensor, weight: Tensor, groups: int, parts: Sequence[tuple[int, ...]]
) -> OperatorWork | None:
    axes = len(x.dims) - 2
    spread = [_for_axes(part, axes) for part in parts]
    if axes < 1 or len(weight.dims) != axes + 2 or weight.dims[0] != x.dims[1]:
        return None
    padding, extra, stride, dilation = spread
    if padding is None or extra is None or stride is None or dilation is None:
        return None
    batch, in_channels, *in_space = x.dims
    _, group_channels, *kernel = weight.dims
    out_space = tuple(
        (size - 1) * jump - 2 * pad + step * (tap - 1) + more + 1
        for size, jump, pad, step, tap, more in zip(
            in_space, stride, padding, dilation, kernel, extra, strict=True
        )
    )
    if min(out_space) < 1:
        return None
    sizes = _Sizes(
        batch,
        in_channels,
        group_channels * groups,
        math.prod(kernel),
        groups,
        tuple(in_space),
        out_space,
        True,
    )
    output = Tensor((batch, sizes.out_channels, *out_space), x.data_type)
    return _work(sizes, x, weight, bytes_of([x, weight, output]), 1)


def _any_direction(given: Arguments) -> OperatorWork | None:
    """`convolution` and `_convolution`, which may be transposed."""
    if not given.flag(6):
        return _forward(_CONVOLUTION)(given)
    return _transposed(padding=4, extra=7, stride=3, dilation=5, groups=8)(given)


def _backward(given: Arguments) -> OperatorWork | None:
    """Gradients of the input and of the weights, each as much arithmetic as the way forward."""
    gradient, x, weight = given.tensor(0), given.tensor(1), given.tensor(2)
    mask = [part.strip() == "True" for part in given.text(10).strip("[]").split(",")]
    if gradient is None or x is None or weight is None or given.flag(7) is not False:
        return None
    if len(mask) != 3 or not any(mask[:2]):
        return None
    sizes = _sizes(given, _BACKWARD, x, weight)
    if sizes is None or (sizes.batch, sizes.out_channels, *sizes.out_space) != gradient.dims:
        return None
    wants_x, wants_weight = mask[:2]
    read = bytes_of([gradient, weight if wants_x else None, x if wants_weight else None])
    written = bytes_of([x if wants_x else None, weight if wants_weight else None])
    return _work(sizes, x, weight, read + written, sum(mask[:2]))


def _work(
    sizes: _Sizes, x: Tensor, weight: Tensor, moved_bytes: int, passes: int
) -> OperatorWork | None:
    return OperatorWork(
        WorkKind.CONVOLUTION,
        passes * sizes.flops,
        moved_bytes,
        x.data_type.name,
        f"{size_text(x.dims)} by {size_text(weight.dims)}",
    )


_CONVOLUTION = _Layout(0, 1, stride=3, padding=4, dilation=5, groups=8, bias=2, transposed=6)
_MIOPEN = _Layout(0, 1, stride=4, padding=3, dilation=5, groups=6, bias=2)
_CUDNN = _Layout(0, 1, stride=3, padding=2, dilation=4, groups=5)
_CUDNN_RELU = _Layout(0, 1, stride=3, padding=4, dilation=5, groups=6, bias=2)
_BACKWARD = _Layout(1, 2, stride=4, padding=5, dilation=6, groups=9)

CONVOLUTION_FORMULAS: Mapping[str, Formula] = {
    "aten::convolution": _any_direction,
    "aten::_convolution": _any_direction,
    "aten::convolution_overrideable": _any_direction,
    "aten::miopen_convolution": _forward(_MIOPEN),
    "aten::miopen_depthwise_convolution": _forward(_MIOPEN),
    "aten::cudnn_convolution": _forward(_CUDNN),
    "aten::cudnn_convolution_relu": _forward(_CUDNN_RELU),
    "aten::cudnn_convolution_transpose": _transposed(2, 3, 4, 5, 6),
    "aten::miopen_convolution_transpose": _transposed(3, 4, 5, 6, 7),
    "aten::convolution_backward": _backward,
}
