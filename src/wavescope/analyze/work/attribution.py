"""Which operator call each kernel serves: the innermost one with a formula around its launch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.operators import launching_operators, nearest_marked, parent_calls
from wavescope.analyze.ops.op_links import op_links
from wavescope.analyze.work.formulas import FORMULAS, MATRIX_OPERATORS
from wavescope.arrays.coded_columns import different_rows
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace

Rows = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]

_GRAPH_LAUNCH = "GraphLaunch"
_NO_CALL = -1


@dataclass(frozen=True)
class ServedCalls:
    """The rows of the kernels that an operator with a formula launched, and of its call."""

    op_rows: Rows
    call_rows: Rows


def served_calls(trace: Trace) -> ServedCalls:
    """Kernels and the calls that they serve.

    A call around another one that does its work, as `vllm::unified_attention` is around a
    library's attention, would count that work again: it serves for nothing, and so do the kernels
    that it launched itself. What a graph replays is not what the calls around the replay ask for.
    """
    launched_by = launching_operators(trace)
    is_served = (launched_by >= 0) & (trace.op_kind == OpKind.KERNEL) & ~_replayed(trace)
    op_rows = np.flatnonzero(is_served)
    has_formula = _calls_with_formula(trace)
    if not len(op_rows) or not has_formula.any():
        return ServedCalls(op_rows[:0], op_rows[:0])
    parent = parent_calls(trace)
    call_rows = nearest_marked(parent, has_formula, launched_by[op_rows])
    found = call_rows >= 0
    op_rows, call_rows = op_rows[found], call_rows[found]
    around = _calls_around_others(
        trace, parent, has_formula, different_rows(call_rows, len(parent))
    )
    kept = ~np.isin(call_rows, around)
    return ServedCalls(op_rows[kept], call_rows[kept])


def _replayed(trace: Trace) -> Marks:
    """For each op whether it was launched with a whole graph."""
    links = trace.derived(op_links)
    calls = trace.calls
    codes = [
        code
        for code in calls.code_counts("name").codes.tolist()
        if code >= 0 and _GRAPH_LAUNCH in trace.strings[code]
    ]
    replayed = np.zeros(len(trace.ops), np.bool_)
    replayed[links.op_rows] = np.isin(calls["name"][links.call_rows], codes)
    return replayed


def _calls_with_formula(trace: Trace) -> Marks:
    names = trace.calls.code_counts("name").codes.tolist()
    codes = [code for code in names if code >= 0 and trace.strings[code] in FORMULAS]
    return np.isin(trace.calls["name"], codes)


def _calls_around_others(trace: Trace, parent: Rows, has_formula: Marks, calls: Rows) -> Rows:
    """Those of the calls around another one of them; a matrix operator within any counts."""
    is_matrix = np.isin(trace.calls["name"], _matrix_codes(trace))
    around: list[Rows] = []
    inner = calls
    outer = nearest_marked(parent, has_formula, parent[inner])
    while (outer >= 0).any():
        inner, outer = inner[outer >= 0], outer[outer >= 0]
        same_name = trace.calls["name"][inner] == trace.calls["name"][outer]
        around.append(outer[same_name | (is_matrix[inner] & is_matrix[outer])])
        outer = nearest_marked(parent, has_formula, parent[outer])
    return np.unique(np.concatenate(around)) if around else calls[:0]


def _matrix_codes(trace: Trace) -> list[int]:
    return [
        code
        for code in trace.calls.code_counts("name").codes.tolist()
        if code >= 0 and trace.strings[code] in MATRIX_OPERATORS
    ]
