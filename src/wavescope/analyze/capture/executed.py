"""The instructions that waves executed, in order, for the counter model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavescope.model.capture import Instructions, Integers, Measure, Rows, Waves

_PIECE = 1 << 18


@dataclass(frozen=True, eq=False)
class Executed:
    """Events in order: rows with their stalls; `is_measured` is False for an estimate."""

    row: Rows
    stall: Rows | Integers
    offsets: Integers
    is_measured: bool


def executed_by_waves(waves: Waves) -> Executed:
    """What the wave files say."""
    return Executed(waves.row, waves.stall, waves.event_offsets, is_measured=True)


def in_program_order(instructions: Instructions) -> Executed:
    """Every executed row once, as if one wave ran down the code: an estimate without wave files.

    Each row carries the stall that all waves together had there. Loops are not followed, so an
    operation that an earlier round of a loop issued is not seen.
    """
    is_executed = ~instructions.is_label
    if instructions.measure is Measure.CYCLES:  # samples miss much of what ran
        is_executed &= (instructions.hits > 0) | (instructions.latency > 0)
    rows = np.flatnonzero(is_executed).astype(np.int32)
    offsets = np.array([0, len(rows)], np.int64)
    return Executed(rows, instructions.stall[rows], offsets, is_measured=False)


def sums_by_row(row: Rows, values: Rows | None, row_count: int) -> Integers:
    """For each row the exact sum of `values` over its events, their number where it is None.

    A piece at a time, because NumPy widens what it counts and adds; rows out of range do not count.
    """
    sums = np.zeros(row_count, np.int64)
    for first in range(0, len(row), _PIECE):
        piece = slice(first, first + _PIECE)
        rows = row[piece]
        known = (rows >= 0) & (rows < row_count)
        added = None if values is None else values[piece][known]
        # Less than 2^18 values of 31 bits: a double holds their sum exactly.
        sums += np.bincount(rows[known], added, row_count).astype(np.int64)
    return sums
