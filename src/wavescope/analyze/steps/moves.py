"""Which ops move data rather than compute: copies and fills, some of which run as kernels."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.arrays.coded_columns import CodeCounts, looked_up
from wavescope.model.op_kinds import OpKind, kind_of_type
from wavescope.model.trace import Trace

Directions = npt.NDArray[np.int8]


class Move(enum.IntEnum):
    """Where an op moves data to."""

    NONE = 0
    """It computes."""
    TO_GPU = 1
    """A copy to the GPU, or a fill: it prepares what follows."""
    FROM_GPU = 2
    """A result of what came before."""
    OTHER = 3
    """Within a GPU or between two, or nobody knows."""


_RUNTIME_KERNEL = re.compile(r"__amd_rocclr_(copy|fill)")
"""What HIP launches to copy and fill. Its copies do not tell where they lead to."""


@dataclass(frozen=True)
class Moves:
    """What each op of a trace moves."""

    of_op: Directions
    """The `Move` of each op."""
    by_kernel: npt.NDArray[np.bool_]
    """Which of them are kernels of the runtime. HIP launches them on whichever hardware queue
    the stream of a copy was given: the same program may have them on a queue of their own in
    one run, and among its other kernels in the next."""


def op_moves(trace: Trace) -> Moves:
    """What each op of `trace` moves."""
    ops = trace.ops
    ops.load("type", "name")

    def of_type(code: int) -> Move:
        return _move_of_type(trace.strings[code])

    def of_name(code: int) -> Move:
        return _move_of_kernel(trace.strings[code])

    of_op = looked_up(_table(ops.code_counts("type"), of_type), ops["type"])
    kernels = _table(ops.code_counts("name"), of_name)
    if not kernels.any():
        return Moves(of_op, np.zeros(len(of_op), np.bool_))
    of_kernel = looked_up(kernels, ops["name"])
    by_kernel = (of_op == Move.NONE) & (of_kernel != Move.NONE)
    return Moves(np.where(by_kernel, of_kernel, of_op), by_kernel)


def _table(used: CodeCounts, move_of: Callable[[int], Move]) -> Directions:
    """The move of each code; the last entry answers for code -1, which is unknown."""
    table = np.zeros(int(used.codes.max(initial=-1)) + 2, np.int8)
    for code in used.codes.tolist():
        table[code] = move_of(code)
    return table


def _move_of_type(op_type: str) -> Move:
    kind = kind_of_type(op_type)
    if op_type == "CopyHostToDevice" or kind is OpKind.FILL:
        return Move.TO_GPU
    if op_type == "CopyDeviceToHost":
        return Move.FROM_GPU
    return Move.OTHER if kind is OpKind.COPY else Move.NONE


def _move_of_kernel(name: str) -> Move:
    found = _RUNTIME_KERNEL.match(name)
    if found is None:
        return Move.NONE
    return Move.TO_GPU if found.group(1) == "fill" else Move.OTHER
