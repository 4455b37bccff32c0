"""Chips as data: what limits occupancy, published peaks, and how long matrix instructions take."""

from wavescope.model.chips.chip_table import (
    Accumulators,
    Chip,
    Product,
    RegisterFile,
    chip_named,
    chips,
    find_chip,
    matrix_cycles,
)

__all__ = [
    "Accumulators",
    "Chip",
    "Product",
    "RegisterFile",
    "chip_named",
    "chips",
    "find_chip",
    "matrix_cycles",
]
