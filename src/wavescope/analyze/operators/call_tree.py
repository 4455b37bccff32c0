"""Which call lies in which on its thread, and which operator a launch lies in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_links import op_links
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import distinct
from wavescope.arrays.nesting import nest
from wavescope.model.trace import Trace, TraceTable

Rows = npt.NDArray[np.int64]

NO_CALL = -1
OPERATOR_CATEGORIES = ("cpu_op", "Operator")
"""How PyTorch's profiler calls operators: since 1.13, and before."""


def parent_calls(trace: Trace) -> Rows:
    """For each call the row of the call that directly encloses it on its thread, -1 for none."""
    return trace.derived(_parent_calls)


def launching_operators(trace: Trace) -> Rows:
    """For each op the row of the innermost operator around its launch, -1 where there is none.

    The launch is the call that the trace links the op to; when that is an operator, it counts.
    """
    return trace.derived(_launching_operators)


def operator_rows(trace: Trace) -> Rows:
    """The rows of the calls that are operators."""
    return trace.derived(_operator_rows)


def calls_of_categories(trace: Trace, categories: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    """For each call whether its category is one of these."""
    calls = trace.calls
    wanted = [
        code
        for code in calls.code_counts("category").codes.tolist()
        if code >= 0 and trace.strings[code] in categories
    ]
    return np.isin(calls["category"], wanted)


def call_lanes(calls: TraceTable) -> Rows:
    """A number for each process and thread."""
    threads, thread_of_row = distinct(calls["thread"])
    return calls["process"].astype(np.int64) * len(threads) + thread_of_row


def _parent_calls(trace: Trace) -> Rows:
    calls = trace.calls
    calls.load("start_ns", "end_ns", "process", "thread")
    return nest(calls["start_ns"], calls["end_ns"], call_lanes(calls)).parent


def _operator_rows(trace: Trace) -> Rows:
    return np.flatnonzero(calls_of_categories(trace, OPERATOR_CATEGORIES))


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
    rows = np.union1d(operators, launches)
    lanes = call_lanes(calls)[rows]
    parent = nest(calls["start_ns"][rows], calls["end_ns"][rows], lanes).parent
    is_operator = np.isin(rows, operators, assume_unique=True)
    place = nearest_marked(parent, is_operator, np.searchsorted(rows, launches))
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
