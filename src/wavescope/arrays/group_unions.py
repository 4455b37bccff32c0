"""How much time the rows of each group cover together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from wavescope.arrays.interval_union import covered_ns
from wavescope.arrays.intervals import Times, elapsed_ns, sorted_times
from wavescope.arrays.row_groups import grouped_rows

Groups = npt.NDArray[np.integer]
Bounds = npt.NDArray[np.int64]

_FEW_GROUPS = 10_000


def group_unions_ns(
    outer: Groups, inner: Groups, starts: Times, ends: Times, outer_count: int
) -> list[int]:
    """For each outer group the lengths of the unions of its inner groups, added up.

    With the GPU as the inner group that is the busy time of a set of ops. Outer groups are numbers
    from 0 to `outer_count` - 1, inner ones any.
    """
    lengths = [0] * outer_count
    if not len(starts):
        return lengths
    grouped = grouped_rows(outer, inner, (starts, ends))
    grouped_starts, grouped_ends = grouped.columns
    bounds = grouped.bounds
    width = int(grouped_ends.max()) - int(grouped_starts.min()) + 1
    if len(bounds) <= _FEW_GROUPS or width * len(bounds) >= 1 << 63:
        unions_ns = _unions_one_by_one_ns(grouped_starts, grouped_ends, bounds)
    else:
        unions_ns = _unions_at_once_ns(grouped_starts, grouped_ends, bounds)
    for place, length_ns in zip(grouped.majors.tolist(), unions_ns, strict=True):
        lengths[place] += length_ns
    return lengths


def _unions_one_by_one_ns(starts: Times, ends: Times, bounds: Bounds) -> list[int]:
    """The length of each group's union; group i are the rows from bounds[i] to bounds[i + 1]."""
    return [
        covered_ns((sorted_times(starts[first:stop]), sorted_times(ends[first:stop])))
        for first, stop in pairwise(bounds.tolist())
    ]


def _unions_at_once_ns(starts: Times, ends: Times, bounds: Bounds) -> list[int]:
    """The same for very many groups, laid one behind another on one long time axis.

    Rows of different groups cannot meet there, so that two sorts do for all of them.
    """
    origin = int(starts.min())
    width = int(ends.max()) - origin + 1
    shift = np.repeat(np.arange(len(bounds) - 1) * width - origin, np.diff(bounds))
    opened = sorted_times(starts + shift)
    closed = sorted_times(ends + shift)
    # Where a row starts behind all earlier ends nothing ran; between groups that is no gap.
    uncovered = np.zeros(len(opened), np.int64)
    uncovered[1:] = elapsed_ns(closed[:-1], np.maximum(opened[1:], closed[:-1]))
    firsts = bounds[:-1]
    uncovered[firsts] = 0
    spans = closed[bounds[1:] - 1] - opened[firsts]
    lengths: list[int] = (spans - np.add.reduceat(uncovered, firsts)).tolist()
    return lengths
