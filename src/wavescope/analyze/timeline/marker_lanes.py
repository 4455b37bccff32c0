"""Marker ranges as a timeline draws them: for each thread, nested ranges one below the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays.nesting import nest
from wavescope.model.trace import Trace

Numbers = npt.NDArray[np.int64]

DEEPEST = 6
"""Rows of a lane; ranges that are nested deeper are not drawn."""
MOST_LANES = 32


class MarkerLane(NamedTuple):
    """One thread that set markers."""

    process: int
    thread: int
    depth: int


class MarkerLanes(NamedTuple):
    """The ranges by lane and start; times count from the timeline's first nanosecond."""

    lanes: list[MarkerLane]
    lane: npt.NDArray[np.uint16]
    depth: npt.NDArray[np.uint8]
    start_ns: Numbers
    duration_ns: Numbers
    name: npt.NDArray[np.int32]
    """Codes in the trace's strings."""
    left_out_count: int


def marker_lanes(trace: Trace, first_ns: int, last_ns: int, most: int) -> MarkerLanes:
    """The longest `most` ranges that touch [first_ns, last_ns), cut to it."""
    markers = trace.markers
    markers.load("start_ns", "end_ns", "process", "thread", "name")
    starts, ends = markers["start_ns"], markers["end_ns"]
    inside = np.flatnonzero((starts < last_ns) & (ends > first_ns) & (starts < ends))
    keys = np.stack((markers["process"][inside].astype(np.int64), markers["thread"][inside]))
    threads, lane = np.unique(keys, axis=1, return_inverse=True)
    lane = lane.reshape(-1)
    depth = nest(starts[inside], ends[inside], lane).depth
    order = np.argsort(starts[inside] - ends[inside], kind="stable")
    drawn = order[(depth[order] < DEEPEST) & (lane[order] < MOST_LANES)][:most]
    drawn = drawn[np.lexsort((depth[drawn], starts[inside][drawn], lane[drawn]))]
    rows = inside[drawn]
    begin = np.maximum(starts[rows], first_ns)
    lanes = [
        MarkerLane(int(process), int(thread), _deepest(depth, lane, number))
        for number, (process, thread) in enumerate(threads[:, :MOST_LANES].T.tolist())
    ]
    return MarkerLanes(
        lanes,
        lane[drawn].astype(np.uint16),
        depth[drawn].astype(np.uint8),
        begin - first_ns,
        np.minimum(ends[rows], last_ns) - begin,
        markers["name"][rows],
        len(inside) - len(rows),
    )


def _deepest(depth: Numbers, lane: Numbers, number: int) -> int:
    return min(DEEPEST, int(depth[lane == number].max(initial=-1)) + 1)
