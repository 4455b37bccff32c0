"""Chips as data: what limits occupancy, published peaks, and how long matrix instructions take."""

from wavescope.model.chips.board_table import Board, boards, find_board
from wavescope.model.chips.chip_table import (
    Accumulators,
    Chip,
    RegisterFile,
    chip_named,
    chips,
    find_chip,
    matrix_cycles,
)

__all__ = [
    "Accumulators",
    "Board",
    "Chip",
    "RegisterFile",
    "boards",
    "chip_named",
    "chips",
    "find_board",
    "find_chip",
    "matrix_cycles",
]
