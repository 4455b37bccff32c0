"""The union of several runs of intervals, each run sorted: without sorting them together; and how
much time the rows of each of many groups cover.

A run is a pair of columns (starts, ends) of which neither ever decreases and no start lies behind
the end beside it. Starts and ends of any rows, each sorted on its own, are such a run, and cover
the same time as the rows do (see `arrays.intervals`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from wavescope.arrays.groups import grouped_rows
from wavescope.arrays.intervals import Times, elapsed_ns, sorted_times
from wavescope.native import IntervalRun, columns_library, pointer

Run = tuple[Times, Times]
Groups = npt.NDArray[np.integer]
Bounds = npt.NDArray[np.int64]

_RUNS_AT_ONCE = 16
_FEW_GROUPS = 10_000


def stretches_of_runs(runs: Sequence[Run]) -> Run:
    """Where gapless stretches of all runs together begin and end; itself a run.

    A row without length that touches no other makes a stretch without length.
    """
    filled = [run for run in runs if run[0].size]
    # Each step of the native walk looks at all its runs: many are joined in several rounds.
    while len(filled) > _RUNS_AT_ONCE:
        filled = [
            _joined(filled[first : first + _RUNS_AT_ONCE])
            for first in range(0, len(filled), _RUNS_AT_ONCE)
        ]
    return _joined(filled)


def covered_ns(run: Run) -> int:
    """How much time the intervals of one run cover together."""
    starts, ends = (np.ascontiguousarray(column) for column in run)
    if not starts.size:
        return 0
    uncovered = columns_library().wavescope_uncovered_ns(starts, ends, starts.size)
    return int(ends[-1]) - int(starts[0]) - int(uncovered)


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


def _joined(runs: Sequence[Run]) -> Run:
    if len(runs) == 1 and bool(np.all(runs[0][0][1:] > runs[0][1][:-1])):
        return runs[0]  # not even copied: it may be all ops of a GPU
    columns = [(np.ascontiguousarray(starts), np.ascontiguousarray(ends)) for starts, ends in runs]
    described = [
        IntervalRun(pointer(starts, np.int64), pointer(ends, np.int64), starts.size)
        for starts, ends in columns
    ]
    room = sum(starts.size for starts, _ in runs)
    firsts, lasts = np.empty(room, np.int64), np.empty(room, np.int64)
    count = columns_library().wavescope_union_of_runs(
        (IntervalRun * len(described))(*described), len(described), firsts, lasts
    )
    if count < 0:
        raise MemoryError
    if 2 * count > room:
        return firsts[:count], lasts[:count]
    # Copied, since there are usually few: a view would keep all the room.
    return firsts[:count].copy(), lasts[:count].copy()
