"""Exact sums of integer values in groups, without sorting them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.arrays.array_types import Array
from wavescope.arrays.coded_columns import BLOCK_ROWS, blocks

_LOW_BITS = 32
_LOW_MASK = (1 << _LOW_BITS) - 1
_MOST_ROWS = 1 << 20
"""2**20 values of 32 bits add up to less than 2**53, which a double holds exactly."""


def group_sums(groups: npt.NDArray[np.integer], values: Array, group_count: int) -> list[int]:
    """The sum of the values (not negative; int64 or uint32) of each group from 0 on."""
    low = np.zeros(group_count, np.int64)
    high = np.zeros(group_count, np.int64)
    is_short = values.dtype == np.uint32
    for rows in blocks(len(values), min(_MOST_ROWS, max(BLOCK_ROWS, 8 * group_count))):
        part = values[rows]
        if is_short or part.max() <= _LOW_MASK:
            low += _sums(groups[rows], part, group_count)
        else:
            low += _sums(groups[rows], part & _LOW_MASK, group_count)
            high += _sums(groups[rows], part >> _LOW_BITS, group_count)
    return [
        (above << _LOW_BITS) + below
        for above, below in zip(high.tolist(), low.tolist(), strict=True)
    ]


def _sums(
    groups: npt.NDArray[np.integer], values: Array, group_count: int
) -> npt.NDArray[np.int64]:
    return np.bincount(groups, weights=values, minlength=group_count).astype(np.int64)
