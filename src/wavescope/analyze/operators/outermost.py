"""Which operator of the framework launched each op, such as `aten::linear`.

The operator of an op is the outermost `cpu_op` call around the call that launched it, because that
is what the model asked for: which kernels and inner operators serve it differs between vendors and
versions. Ops whose launch is not in the trace get the operator that launched the same kernel
between the same neighbours elsewhere, if it was always one; docs/compare.md has the details.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.operators.call_tree import call_lanes, operator_rows
from wavescope.analyze.ops.op_links import op_links
from wavescope.analyze.ops.op_sequence import OpSequence
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import distinct
from wavescope.model.trace import Trace, TraceTable

Numbers = npt.NDArray[np.int64]

NOT_RECORDED = "(launch not recorded)"
NO_OPERATOR = "(outside any operator)"
_UNKNOWN = -1
_WRAPPER = re.compile(
    r"^(Torch-Compiled Region|## Call CompiledFxGraph|CompiledFunction|ProfilerStep|"
    r"PyTorch Profiler|autograd::engine::|Optimizer\.)"
)
"""Calls that only hold other operators."""


@dataclass(frozen=True)
class OpOperators:
    """For each op the number of its operator among `names`."""

    names: list[str]
    of_op: Numbers
    linked_count: int
    inferred_count: int


def op_operators(
    trace: Trace, sequence: Callable[[], OpSequence], rows: Array | None
) -> OpOperators | None:
    """The operators of the ops at `rows` (None: all), or None when the trace has no operators.

    `sequence` gives the neighbours of these ops; it is asked only when launches are missing.
    """
    outer = _outermost_operators(trace)
    if outer is None:
        return None
    links = trace.derived(op_links)
    calls = trace.calls
    found = outer.at(calls, links.call_rows)
    names = [trace.strings[code] for code in outer.codes] + [NO_OPERATOR, NOT_RECORDED]
    no_operator, not_recorded = len(names) - 2, len(names) - 1
    of_op = np.full(len(trace.ops), not_recorded, np.int64)
    of_op[links.op_rows] = np.where(found < 0, no_operator, found)
    if rows is not None:
        of_op = of_op[rows]
    unlinked_count = int(np.count_nonzero(of_op == not_recorded))
    if unlinked_count:
        neighbours = sequence()
        for key in (neighbours.triples(), neighbours.label):
            of_op = _inferred(of_op, key, not_recorded)
    left = int(np.count_nonzero(of_op == not_recorded))
    return OpOperators(names, of_op, len(of_op) - unlinked_count, unlinked_count - left)


@dataclass(frozen=True)
class _OuterCalls:
    """The outermost operators of each thread, in order of thread and time."""

    codes: list[int]
    operator: Numbers
    lanes: Numbers
    starts: Numbers
    ends: Numbers

    def at(self, calls: TraceTable, rows: Numbers) -> Numbers:
        """The number of the operator around each call, -1 where there is none."""
        lanes = call_lanes(calls)[rows]
        times = calls["start_ns"][rows]
        found = np.full(len(rows), _UNKNOWN, np.int64)
        for lane in np.unique(lanes).tolist():
            mine = lanes == lane
            first, stop = np.searchsorted(self.lanes, [lane, lane + 1])
            if first == stop:
                continue
            place = first + np.searchsorted(self.starts[first:stop], times[mine], "right") - 1
            inside = (place >= first) & (times[mine] < self.ends[np.maximum(place, first)])
            found[mine] = np.where(inside, self.operator[np.maximum(place, first)], _UNKNOWN)
        return found


def _outermost_operators(trace: Trace) -> _OuterCalls | None:
    calls = trace.calls
    calls.load("start_ns", "end_ns", "name", "category", "process", "thread", "id")
    if not len(calls):
        return None
    wrappers = [
        code
        for code in calls.code_counts("name").codes.tolist()
        if _WRAPPER.match(trace.strings[code])
    ]
    rows = operator_rows(trace)
    rows = rows[~np.isin(calls["name"][rows], wrappers)]
    if not len(rows):
        return None
    lanes = call_lanes(calls)[rows]
    starts, ends = calls["start_ns"][rows], calls["end_ns"][rows]
    order = np.lexsort((~ends, starts, lanes))
    lanes, starts, ends, rows = lanes[order], starts[order], ends[order], rows[order]
    outer = starts >= _ends_before(lanes, ends)
    codes, operator = distinct(calls["name"][rows[outer]])
    return _OuterCalls(codes, operator.astype(np.int64), lanes[outer], starts[outer], ends[outer])


def _ends_before(lanes: Numbers, ends: Numbers) -> Numbers:
    """For each range the latest end among the ranges before it in its lane."""
    latest = np.empty(len(ends), np.int64)
    firsts = np.flatnonzero(np.concatenate(([True], lanes[1:] != lanes[:-1])))
    for first, stop in zip(firsts.tolist(), [*firsts[1:].tolist(), len(lanes)], strict=True):
        latest[first] = np.iinfo(np.int64).min
        latest[first + 1 : stop] = np.maximum.accumulate(ends[first : stop - 1])
    return latest


def _inferred(of_op: Numbers, keys: Numbers, unknown: int) -> Numbers:
    """`of_op` with the unknown ones set where all known ops of the same key agree."""
    known = of_op != unknown
    if not known.any() or known.all():
        return of_op
    order = np.lexsort((of_op[known], keys[known]))
    sorted_keys, sorted_values = keys[known][order], of_op[known][order]
    firsts = np.flatnonzero(np.concatenate(([True], sorted_keys[1:] != sorted_keys[:-1])))
    lasts = np.append(firsts[1:], len(sorted_keys)) - 1
    agreed = sorted_values[firsts] == sorted_values[lasts]
    table_keys, table_values = sorted_keys[firsts][agreed], sorted_values[firsts][agreed]
    if not len(table_keys):
        return of_op
    wanted = keys[~known]
    place = np.minimum(np.searchsorted(table_keys, wanted), len(table_keys) - 1)
    filled = of_op.copy()
    filled[~known] = np.where(table_keys[place] == wanted, table_values[place], unknown)
    return filled
