"""How fast a board could do some work at best: its published peaks as a roofline."""

from __future__ import annotations

import enum
from typing import NamedTuple

from wavescope.analyze.work.operator_work import OperatorWork
from wavescope.model.chips.board_table import Board

_NS_PER_S = 1_000_000_000
_GIGA, _TERA = 1e9, 1e12
HIGHEST_BELIEVED_PERCENT = 110.0
"""Of a peak: faster is not possible, so that the formula, the shapes or the board are wrong, or
the data came from a cache."""


class Bound(str, enum.Enum):
    """What a board would run out of first."""

    COMPUTE = "compute"
    MEMORY = "memory"


class Limit(NamedTuple):
    """The shortest time that some work can take, and what sets it."""

    time_ns: float
    bound: Bound


def shortest_time(work: OperatorWork, data_type: str, board: Board) -> Limit | None:
    """The time of one call at the peaks; None where the board's peak for its type is unknown.

    Arithmetic outside matrix units is never what bounds the operators that have formulas.
    """
    memory_ns = work.bytes / (board.memory_gb_per_s * _GIGA) * _NS_PER_S
    if not work.kind.is_matrix:
        return Limit(memory_ns, Bound.MEMORY)
    peak = board.tflops.get(data_type)
    if peak is None:
        return None
    compute_ns = work.flops / (peak * _TERA) * _NS_PER_S
    return max(
        Limit(compute_ns, Bound.COMPUTE), Limit(memory_ns, Bound.MEMORY), key=lambda each: each[0]
    )
