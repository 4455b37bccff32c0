"""Which call lies in which on its thread, and which operator a launch lies in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.calls.outermost import call_lanes, operator_rows
from wavescope.analyze.ops.op_links import op_links
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import different_rows
from wavescope.arrays.nesting import nest
from wavescope.model.trace import Trace, TraceTable

Rows = npt.NDArray[np.int64]

NO_CALL = -1


def parent_calls(trace: Trace) -> Rows:
    """For each call the row of the call that directly encloses it on its thread, -1 for none."""
    return trace.derived(_parent_calls)


def launching_operators(trace: Trace) -> Rows:
    """For each op the row of the innermost operator around its launch, -1 where there is none.

    The launch is the call that the trace links the op to; when that is an operator, it counts.
    """
    return trace.derived(_launching_operators)


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


def _launching_operators(trace: Trace) -> Rows:
    calls = trace.calls
    calls.load("id", "start_ns", "end_ns", "category", "process", "thread")
    operators = operator_rows(trace)
    links = trace.derived(op_links)
    found = np.full(len(trace.ops), NO_CALL, np.int64)
    if len(operators) and len(links.op_rows):
        found[links.op_rows] = _nearest(calls, operators, links.call_rows)
    return found


def _nearest(calls: TraceTable, operators: Rows, launches: Rows) -> Rows:
    """The innermost of `operators` around each launch; a launch that is one is its own."""
    # Python functions, which are most calls of a trace with stacks, need not be walked through.
    is_operator = np.zeros(len(calls), np.bool_)
    is_operator[operators] = True
    rows = different_rows(np.concatenate((operators, launches)), len(calls))
    lanes = call_lanes(calls)[rows]
    parent = nest(calls["start_ns"][rows], calls["end_ns"][rows], lanes).parent
    place = nearest_marked(parent, is_operator[rows], np.searchsorted(rows, launches))
    return np.where(place < 0, NO_CALL, rows[np.maximum(place, 0)])


def nearest_marked(parent: Rows, is_marked: Array, rows: Rows) -> Rows:
    """For each row itself or its closest ancestor that is marked, -1 where none is."""
    found = rows.astype(np.int64)
    open_ = np.flatnonzero(found >= 0)
    while len(open_):
        open_ = open_[~is_marked[found[open_]]]
        found[open_] = parent[found[open_]]
        open_ = open_[found[open_] >= 0]
    return found
