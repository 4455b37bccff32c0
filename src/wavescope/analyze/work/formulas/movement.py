"""Operators that memory bounds: what they move, and a few operations for each element."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.analyze.work.arguments import (
    Arguments,
    DataType,
    Dims,
    Tensor,
    bytes_of,
    size_text,
)
from wavescope.analyze.work.operator_work import Formula, OperatorWork, WorkKind


def moved(
    kind: WorkKind, shown: Tensor, flops: int, tensors: Sequence[Tensor | None]
) -> OperatorWork:
    """Work that moves some tensors once each; it is told by the sizes of one of them."""
    return OperatorWork(kind, flops, bytes_of(tensors), shown.data_type.name, size_text(shown.dims))


def each_argument_once(
    kind: WorkKind, operations: int, main: int = 0, again: Sequence[int] = ()
) -> Formula:
    """An operator whose outputs are arguments, too: each tensor is read or written once.

    Those at `again` are both read and written; `operations` is for each element of the argument
    `main`.
    """

    def formula(given: Arguments) -> OperatorWork | None:
        shown = given.tensor(main)
        twice = [given.tensor(place) for place in again]
        if shown is None or None in twice:
            return None
        return moved(kind, shown, operations * shown.elements, [*given.tensors(), *twice])

    return formula


def broadcast(shapes: Sequence[Dims]) -> Dims | None:
    """The sizes of an elementwise result, None where they do not fit together."""
    axes = max(map(len, shapes), default=0)
    padded = [(1,) * (axes - len(dims)) + dims for dims in shapes]
    result = tuple(max(sizes) if 0 not in sizes else 0 for sizes in zip(*padded, strict=True))
    fits = all(
        size in (1, whole) for dims in padded for size, whole in zip(dims, result, strict=True)
    )
    return result if fits else None


def promoted(tensors: Sequence[Tensor]) -> DataType:
    """The type of an elementwise result: of those with sizes the widest, floats before others."""
    sized = [tensor for tensor in tensors if tensor.dims] or list(tensors)
    return max((tensor.data_type for tensor in sized), key=lambda each: (each.is_float, each.bits))
