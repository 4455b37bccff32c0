"""Which operator of the framework launched each op, such as `aten::linear`.

The operator of an op is the outermost `cpu_op` call around the call that launched it, because that
is what the model asked for: which kernels and inner operators serve it differs between vendors and
versions. Ops whose launch is not in the trace get the operator that launched the same kernel
between the same neighbours elsewhere, if it was always one; docs/compare.md has the details.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.coded_columns import DistinctRows, different_values
from wavescope.model.trace import Trace, TraceTable

Numbers = npt.NDArray[np.int64]

NO_OPERATOR = "(outside any operator)"
_UNKNOWN = -1
_WRAPPER = re.compile(
    r"^(Torch-Compiled Region|## Call CompiledFxGraph|CompiledFunction|ProfilerStep|"
    r"PyTorch Profiler|autograd::engine::|Optimizer\.)"
)
"""Calls that only hold other operators."""


OPERATOR_CATEGORIES = ("cpu_op", "Operator")
"""How PyTorch's profiler calls operators: since 1.13, and before."""
PYTHON_CATEGORY = "python_function"
"""How it calls functions of Python, modules among them."""


@dataclass(frozen=True)
class OpSequence:
    """The label of each op, and of the ops that ran before and after it on its queue (-1: none)."""

    label: Numbers
    before: Numbers
    after: Numbers
    label_count: int

    def triples(self) -> Numbers:
        """One number for each op that tells its label and both its neighbours'."""
        base = self.label_count + 1
        return ((self.before + 1) * base + self.label + 1) * base + self.after + 1


def op_sequence(ops: TraceTable, label: Array, label_count: int) -> OpSequence:
    """The neighbours of each op in order of time on the same GPU and queue."""
    order = np.lexsort((ops["start_ns"], ops["queue"], ops["gpu"]))
    gpus, queues = ops["gpu"][order], ops["queue"][order]
    follows = (gpus[1:] == gpus[:-1]) & (queues[1:] == queues[:-1])
    labels = label[order].astype(np.int64)
    before, after = np.full((2, len(order)), _UNKNOWN, np.int64)
    before[order[1:]] = np.where(follows, labels[:-1], _UNKNOWN)
    after[order[:-1]] = np.where(follows, labels[1:], _UNKNOWN)
    return OpSequence(label.astype(np.int64), before, after, label_count)


def inferred(of_op: Numbers, sequence: OpSequence, unknown: int) -> Numbers:
    """`of_op` with unknown ones set to what launched the same kernel elsewhere, if always one.

    Between the same neighbours first, then anywhere.
    """
    for key in (sequence.triples(), sequence.label):
        of_op = _agreed(of_op, key, unknown)
    return of_op


@dataclass(frozen=True)
class OuterOperators:
    """The outermost operators of each thread, in order of thread and time."""

    rows: Numbers
    """Their rows among the calls."""
    lanes: Numbers
    starts: Numbers
    ends: Numbers

    def around(self, calls: TraceTable, rows: Numbers) -> Numbers:
        """The place among these of the operator around each call, -1 where there is none."""
        lanes = call_lanes(calls)[rows]
        times = calls["start_ns"][rows]
        found = np.full(len(rows), _UNKNOWN, np.int64)
        for lane in different_values(lanes).tolist():
            mine = lanes == lane
            first, stop = np.searchsorted(self.lanes, [lane, lane + 1])
            if first == stop:
                continue
            place = first + np.searchsorted(self.starts[first:stop], times[mine], "right") - 1
            inside = (place >= first) & (times[mine] < self.ends[np.maximum(place, first)])
            found[mine] = np.where(inside, place, _UNKNOWN)
        return found


def outermost_operators(trace: Trace) -> OuterOperators | None:
    """The operators that lie in no other; None when the trace has none."""
    return trace.derived(_outermost_operators)


def working_operators(trace: Trace) -> Numbers:
    """The rows of the operators that do not only hold others."""
    calls = trace.calls
    if not len(calls):
        return np.empty(0, np.int64)
    wrappers = [
        code
        for code in calls.code_counts("name").codes.tolist()
        if _WRAPPER.match(trace.strings[code])
    ]
    rows = operator_rows(trace)
    return rows[~np.isin(calls["name"][rows], wrappers)]


def operator_rows(trace: Trace) -> Numbers:
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


def with_all_calls(trace: Trace) -> Trace:
    """The ops of `trace` with all calls of the trace it is a part of.

    What encloses a launch may have begun long before the part that was chosen.
    """
    return trace if trace.whole is trace else trace.derived(_with_all_calls)


def _with_all_calls(part: Trace) -> Trace:
    return part.whole.with_tables((part.ops,), part.part_of)


def call_lanes(calls: TraceTable) -> Numbers:
    """A number for each process and thread."""
    numbers, _ = DistinctRows(2).number((calls["process"], calls["thread"]))
    return numbers.astype(np.int64)


def _operator_rows(trace: Trace) -> Numbers:
    return np.flatnonzero(calls_of_categories(trace, OPERATOR_CATEGORIES))


def _outermost_operators(trace: Trace) -> OuterOperators | None:
    calls = trace.calls
    calls.load("start_ns", "end_ns", "name", "category", "process", "thread", "id")
    rows = working_operators(trace)
    if not len(rows):
        return None
    lanes = call_lanes(calls)[rows]
    starts, ends = calls["start_ns"][rows], calls["end_ns"][rows]
    order = np.lexsort((~ends, starts, lanes))
    lanes, starts, ends, rows = lanes[order], starts[order], ends[order], rows[order]
    outer = starts >= _ends_before(lanes, ends)
    return OuterOperators(rows[outer], lanes[outer], starts[outer], ends[outer])


def _ends_before(lanes: Numbers, ends: Numbers) -> Numbers:
    """For each range the latest end among the ranges before it in its lane."""
    latest = np.empty(len(ends), np.int64)
    firsts = np.flatnonzero(np.concatenate(([True], lanes[1:] != lanes[:-1])))
    for first, stop in zip(firsts.tolist(), [*firsts[1:].tolist(), len(lanes)], strict=True):
        latest[first] = np.iinfo(np.int64).min
        latest[first + 1 : stop] = np.maximum.accumulate(ends[first : stop - 1])
    return latest


def _agreed(of_op: Numbers, keys: Numbers, unknown: int) -> Numbers:
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
