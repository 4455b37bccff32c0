"""Which operator call each kernel serves: the innermost one with a formula around its launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.calls.call_tree import nearest_marked, parent_calls
from wavescope.analyze.calls.outermost import NO_OPERATOR
from wavescope.analyze.operators import Described, OpLaunches, attributed
from wavescope.analyze.work.call_kinds import CallKind, call_kinds
from wavescope.analyze.work.formulas import FORMULAS, MATRIX_OPERATORS
from wavescope.arrays.coded_columns import different_rows, different_values
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace

Rows = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]

NOTHING = -1


@dataclass(frozen=True)
class ServedCalls:
    """Kernels that an operator with a formula launched, and what each of them serves."""

    op_rows: Rows
    call: Rows
    """A number for each call; each replay of a captured call is one of its own."""
    kind: Rows
    """The place of the call's kind in `kinds`."""
    kinds: Sequence[CallKind]


def served_calls(trace: Trace, launches: OpLaunches) -> ServedCalls:
    """Kernels and the calls that they serve.

    A call around another one that does its work, as `vllm::unified_attention` is around a
    library's attention, would count that work again: it serves for nothing, and so do the kernels
    that it launched itself. What a graph replays is what was asked for when it was captured, where
    that is known, and never what the calls around the replay ask for.
    """
    is_known = launches.is_linked & (~launches.is_replayed | launches.is_joined)
    op_rows = np.flatnonzero(is_known & (trace.op_kind == OpKind.KERNEL))
    found = attributed(launches.of_ops(op_rows), _served_kinds, NO_OPERATOR)
    kinds = [label for label in found.labels if isinstance(label, CallKind)]
    number_of_kind: dict[object, int] = {kind: number for number, kind in enumerate(kinds)}
    number = np.array([number_of_kind.get(label, NOTHING) for label in found.labels], np.int64)
    kind = number[found.code]
    kept = kind >= 0
    return ServedCalls(op_rows[kept], found.call[kept], kind[kept], kinds)


def _served_kinds(trace: Trace, rows: Rows) -> Described[CallKind]:
    """For launches the innermost call with a formula around each, and of which kind it is."""
    has_formula = _calls_with_formula(trace)
    if not has_formula.any():
        return Described.nothing(len(rows))
    parent = parent_calls(trace)
    launches = different_rows(rows, len(parent))
    served = nearest_marked(parent, has_formula, launches)
    calls = different_rows(served[served >= 0], len(parent))
    calls = calls[~np.isin(calls, _calls_around_others(trace, parent, has_formula, calls))]
    kinds, kind_of_call = call_kinds(trace, calls)
    kind = np.full(len(parent), NOTHING, np.int64)
    kind[calls] = kind_of_call
    serving = np.full(len(parent), NOTHING, np.int64)
    serving[launches] = np.where((served >= 0) & (kind[served] >= 0), served, NOTHING)
    call = serving[rows]
    return Described(kinds, np.where(call >= 0, kind[call], NOTHING), call)


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
    return different_values(np.concatenate(around)) if around else calls[:0]


def _matrix_codes(trace: Trace) -> list[int]:
    return [
        code
        for code in trace.calls.code_counts("name").codes.tolist()
        if code >= 0 and trace.strings[code] in MATRIX_OPERATORS
    ]
