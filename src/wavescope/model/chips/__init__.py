"""Chips as data: what limits occupancy, published peaks, and how long matrix instructions take."""

from wavescope.model.chips.board_table import Board, boards, find_board
from wavescope.model.chips.chip_table import (
    Accumulators,
    Chip,
    Product,
    RegisterFile,
    chip_named,
    chips,
    find_chip,
)
from wavescope.model.chips.matrix_table import (
    MatrixInstruction,
    OperandWait,
    ResultWaits,
    matrix_cycles,
    matrix_instructions,
    operand_waits,
    result_waits,
)

__all__ = [
    "Accumulators",
    "Board",
    "Chip",
    "MatrixInstruction",
    "OperandWait",
    "Product",
    "RegisterFile",
    "ResultWaits",
    "boards",
    "chip_named",
    "chips",
    "find_board",
    "find_chip",
    "matrix_cycles",
    "matrix_instructions",
    "operand_waits",
    "result_waits",
]
