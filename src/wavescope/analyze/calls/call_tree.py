"""Which call lies in which on its thread, and which operator a launch lies in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.calls.outermost import call_lanes
from wavescope.arrays import Array
from wavescope.arrays.nesting import nest
from wavescope.model.trace import Trace

Rows = npt.NDArray[np.int64]

NO_CALL = -1


def parent_calls(trace: Trace) -> Rows:
    """For each call the row of the call that directly encloses it on its thread, -1 for none."""
    return trace.derived(_parent_calls)


def nearest_calls(trace: Trace, rows: Rows, name: str) -> Rows:
    """For each call (-1: none) the row of the innermost call of that name around it, -1 for none.

    A call of that name is its own.
    """
    code = trace.strings.find(name)
    if code < 0 or not len(trace.calls):
        return np.full(len(rows), NO_CALL, np.int64)
    return nearest_marked(parent_calls(trace), trace.calls["name"] == code, rows)


def _parent_calls(trace: Trace) -> Rows:
    calls = trace.calls
    calls.load("start_ns", "end_ns", "process", "thread")
    return nest(calls["start_ns"], calls["end_ns"], call_lanes(calls)).parent


def nearest_marked(parent: Rows, is_marked: Array, rows: Rows) -> Rows:
    """For each row itself or its closest ancestor that is marked, -1 where none is."""
    found = rows.astype(np.int64)
    open_ = np.flatnonzero(found >= 0)
    while len(open_):
        open_ = open_[~is_marked[found[open_]]]
        found[open_] = parent[found[open_]]
        open_ = open_[found[open_] >= 0]
    return found
