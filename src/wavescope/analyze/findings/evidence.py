"""Where in a trace the evidence of a finding is best seen: what a timeline can be moved to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.calls.call_tree import nearest_calls
from wavescope.analyze.ops.op_labels import op_categories, op_labels
from wavescope.analyze.ops.op_links import op_links, rows_of_ids
from wavescope.analyze.phases import phases_of
from wavescope.arrays.coded_columns import index_type, looked_up
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Finding, Value
from wavescope.model.trace import Trace

_OP_IDS = ("longest_op", "first_op")
_RUN_IDS = ("first_op", "last_op")
"""Of ops that follow each other on a queue."""
_LABELS = ("name", "example")
_SHOWN_OPS = 100
"""So many ops of a phase show how it goes on."""


class Evidence(NamedTuple):
    """A part of a trace, in its own times, and the op or the GPU that it is about."""

    start_ns: int
    end_ns: int
    op: int | None = None
    """Row of an op, where one is meant."""
    gpu: int | None = None


def evidence_of(trace: Trace, finding: Finding) -> Evidence | None:
    """The place that the numbers of `finding` name, the most precise first; None for none."""
    numbers = finding.numbers
    if not len(trace.ops):
        return None
    trace.ops.load("id", "gpu", "start_ns", "end_ns")
    if isinstance(numbers.get("op_after_longest_gap"), int):
        return _gap_before(trace, _op_row(trace, numbers["op_after_longest_gap"]))
    ends = [_op_row(trace, numbers.get(name)) for name in _RUN_IDS]
    if ends[0] is not None and ends[1] is not None:
        return _from_to(trace, ends[0], ends[1])
    for name in _OP_IDS:
        row = _op_row(trace, numbers.get(name))
        if row is not None:
            return _one_op(trace, row)
    for name in _LABELS:
        if isinstance(numbers.get(name), str):
            return _longest(trace, _with_label(trace, str(numbers[name])))
    if isinstance(numbers.get("category"), str):
        return _longest(trace, _of_category(trace, str(numbers["category"])))
    if isinstance(numbers.get("operator"), str):
        return _longest(trace, _inside_operator(trace, str(numbers["operator"])))
    if "phase" in numbers:
        return _beginning(trace, _of_phase(trace, numbers["phase"]))
    if isinstance(numbers.get("gpu"), int):
        return _whole_gpu(trace, int(numbers["gpu"] or 0))
    return None


def _op_row(trace: Trace, op_id: Value) -> int | None:
    if not isinstance(op_id, int):
        return None
    rows, is_there = rows_of_ids(trace.ops["id"], np.array([op_id]))
    return int(rows[0]) if is_there[0] else None


def _one_op(trace: Trace, row: int) -> Evidence:
    ops = trace.ops
    return Evidence(int(ops["start_ns"][row]), int(ops["end_ns"][row]), row, int(ops["gpu"][row]))


def _from_to(trace: Trace, first: int, last: int) -> Evidence:
    ops = trace.ops
    return Evidence(
        int(ops["start_ns"][first]), int(ops["end_ns"][last]), gpu=int(ops["gpu"][first])
    )


def _gap_before(trace: Trace, row: int | None) -> Evidence | None:
    """From the last end of any op of the GPU before the op to its start."""
    if row is None:
        return None
    ops, start_ns, gpu = trace.ops, int(trace.ops["start_ns"][row]), int(trace.ops["gpu"][row])
    works = trace.op_kind != OpKind.BARRIER
    before = ops["end_ns"][(ops["gpu"] == gpu) & (ops["start_ns"] < start_ns) & works]
    begin_ns = min(int(before.max(initial=np.iinfo(np.int64).min)), start_ns)
    return Evidence(begin_ns if len(before) else start_ns, start_ns, row, gpu)


def _with_label(trace: Trace, label: str) -> npt.NDArray[np.intp]:
    labels = trace.derived(op_labels)
    if label not in labels.texts:
        return np.empty(0, np.intp)
    count = len(labels.texts)
    of_op = labels.for_each_op(np.arange(count, dtype=index_type(count)))
    return np.flatnonzero(of_op == labels.texts.index(label))


def _of_category(trace: Trace, category: str) -> npt.NDArray[np.intp]:
    found = trace.derived(op_categories)
    if category not in found.labels:
        return np.empty(0, np.intp)
    return np.flatnonzero(found.codes == found.labels.index(category))


def _inside_operator(trace: Trace, operator: str) -> npt.NDArray[np.intp]:
    """The ops that were launched in calls of that name."""
    links = trace.derived(op_links)
    return links.op_rows[nearest_calls(trace, links.call_rows, operator) >= 0]


def _of_phase(trace: Trace, name: Value) -> npt.NDArray[np.intp]:
    """The ops of a phase; without a name those that are in none."""
    phases = trace.derived(phases_of)
    if name is None:
        return np.flatnonzero((phases.path_of_op < 0) & (trace.op_kind != OpKind.BARRIER))
    texts = [phases.tree.text(path) for path in range(len(phases.tree.paths))]
    if name not in texts:
        return np.empty(0, np.intp)
    path = texts.index(name)
    ancestors = phases.tree.ancestors_at(phases.tree.paths[path].depth)
    return np.flatnonzero(looked_up(ancestors, phases.path_of_op) == path)


def _longest(trace: Trace, rows: npt.NDArray[np.intp]) -> Evidence | None:
    if not len(rows):
        return None
    return _one_op(trace, int(rows[np.argmax(trace.op_length_ns[rows])]))


def _beginning(trace: Trace, rows: npt.NDArray[np.intp]) -> Evidence | None:
    """The first ops, in order of time, on the GPU that has most of them."""
    if not len(rows):
        return None
    gpus, counts = np.unique(trace.ops["gpu"][rows], return_counts=True)
    gpu = int(gpus[np.argmax(counts)])
    rows = rows[trace.ops["gpu"][rows] == gpu]
    starts = trace.ops["start_ns"][rows]
    first = rows[np.argsort(starts, kind="stable")[:_SHOWN_OPS]]
    end_ns = int(trace.ops["end_ns"][first].max())
    return Evidence(int(starts.min()), end_ns, gpu=gpu)


def _whole_gpu(trace: Trace, gpu: int) -> Evidence | None:
    rows = np.flatnonzero(trace.ops["gpu"] == gpu)
    if not len(rows):
        return None
    start_ns, end_ns = trace.ops["start_ns"][rows].min(), trace.ops["end_ns"][rows].max()
    return Evidence(int(start_ns), int(end_ns), gpu=gpu)
