"""Chips as data: what limits occupancy, published peaks, and how long matrix instructions take."""

from wavescope.model.chips.catalogue import chip_named, chips, find_chip, matrix_cycles
from wavescope.model.chips.chip import Accumulators, Chip, RegisterFile

__all__ = [
    "Accumulators",
    "Chip",
    "RegisterFile",
    "chip_named",
    "chips",
    "find_chip",
    "matrix_cycles",
]
