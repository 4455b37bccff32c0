"""Calls of a kernel that do the same work: same name, same launch size where it is recorded."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.findings.context import FindingContext
from wavescope.arrays.distinct_rows import DistinctRows

Rows = npt.NDArray[np.int64]

_GRID = ("grid_x", "grid_y", "grid_z")


def calls_of(context: FindingContext, label: int) -> Rows:
    """The rows of all ops with a label."""
    return np.flatnonzero(context.label_of_op == label)


def by_launch_size(context: FindingContext, rows: Rows) -> list[Rows]:
    """`rows` divided by launch size, the most frequent first."""
    ops = context.trace.ops
    ops.load(*_GRID)
    numbers, _ = DistinctRows(len(_GRID)).number([ops[name][rows] for name in _GRID])
    counts = np.bincount(numbers)
    return [rows[numbers == number] for number in np.argsort(-counts, kind="stable").tolist()]


def nearest_rank_median(values: npt.NDArray[np.integer]) -> int:
    """The smallest value that half of the values do not exceed."""
    middle = (len(values) + 1) // 2 - 1
    return int(np.partition(values, middle)[middle])
