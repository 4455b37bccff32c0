"""What ops are called, what kind of work each does, and GPU time by such categories; which kernels
have names that say nothing.

An op is called by its name, or by its type where it has none. The category of a kernel follows
from its name (`names/kernel_meaning`), communication from the class of the op, copies and fills
from its kind. docs/categories.md defines the categories.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.coverage import recorded
from wavescope.analyze.ops.gpu_timelines import doubled_runs
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import code_counts, distinct, index_type, looked_up
from wavescope.arrays.groups import group_sums
from wavescope.model.op_kinds import KERNEL_TYPE, OpKind, kind_of_type
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.model.trace import Trace, TraceTable
from wavescope.names.demangle import why_unresolved
from wavescope.names.kernel_names import (
    CATEGORIES,
    COPY_FILL,
    OTHER,
    CategoryRules,
    KernelMeaning,
    meaning_of,
    short_name,
)
from wavescope.units import percent_of

if TYPE_CHECKING:
    from wavescope.analyze.ops.recorded import Recorded


NO_NAME = "(no name)"
GRAPH = "graph"
"""The category of runs of whole graphs, of which the kernels are not known."""
GRAPH_RUN_NAME = re.compile(r"graph \d+|GraphExecution")
"""What runs of whole graphs are called."""


@dataclass(frozen=True)
class OpLabels:
    """The different labels of some ops, and which of them each op has."""

    texts: list[str]
    _codes: Array
    _label_of_code: npt.NDArray[np.intp]

    def for_each_op(self, value_of_label: Array) -> Array:
        """For each op the value that belongs to its label; one value for each of `texts` is given.

        The step from labels to values is made once for each label, not for each op.
        """
        return looked_up(value_of_label[self._label_of_code], self._codes)


def op_labels(trace: Trace, ops: TraceTable | None = None) -> OpLabels:
    """The labels of all ops of `trace`, or of some of them.

    Copies and fills are called by their type, such as `CopyHostToDevice`.
    """
    ops = trace.ops if ops is None else ops
    ops.load("name", "type")
    used = ops.code_counts("name").codes
    texts = [trace.strings[code] for code in used.tolist()]
    if not all(texts):
        return _labels_by_type_too(trace, ops)
    label_of_code = np.zeros(int(used.max(initial=-1)) + 1, np.intp)
    label_of_code[used] = np.arange(len(used))
    return OpLabels(texts, ops["name"], label_of_code)


def _labels_by_type_too(trace: Trace, ops: TraceTable) -> OpLabels:
    """The labels of ops of which some have no name."""
    used = ops.code_counts("name").codes.tolist()
    named = [code for code in used if trace.strings[code]]
    # The last entry answers for code -1, an unknown name.
    is_unnamed = np.ones(max(used) + 2, np.bool_)
    is_unnamed[named] = False
    rows = np.flatnonzero(looked_up(is_unnamed, ops["name"]))
    type_codes, type_of_row = distinct(ops["type"][rows])
    texts = [
        *(trace.strings[code] for code in named),
        *(_label_of_type(trace.strings[code]) for code in type_codes),
    ]
    label_of_name = np.zeros(len(is_unnamed), index_type(len(texts)))
    label_of_name[named] = np.arange(len(named))
    label_of_row = looked_up(label_of_name, ops["name"])
    label_of_row[rows] = type_of_row + len(named)
    return OpLabels(texts, label_of_row, np.arange(len(texts)))


def _label_of_type(op_type: str) -> str:
    return NO_NAME if not op_type or kind_of_type(op_type) is OpKind.KERNEL else op_type


def label_of_drawn(name: str) -> str:
    """The label of ops that are drawn under `name`: their own, or their type where they have none.

    It is one of `op_labels(...).texts`.
    """
    return NO_NAME if name in ("", KERNEL_TYPE) else name


def short_op_name(trace: Trace, row: int) -> str:
    """What people call the op in a row of the trace's `ops`."""
    name = trace.strings[int(trace.ops["name"][row])]
    return short_name(name) if name else _label_of_type(trace.strings[int(trace.ops["type"][row])])


class NamedOps(NamedTuple):
    """Short names in alphabetical order, what each is, and the name of each op."""

    names: list[str]
    meanings: list[KernelMeaning]
    of_op: Array


def named_ops(trace: Trace) -> NamedOps:
    """All ops; copies and fills without a name are called by their type."""
    labels = trace.derived(op_labels)
    short = [short_name(text) for text in labels.texts]
    names = sorted(set(short))
    number = {name: index for index, name in enumerate(names)}
    meaning_by_name = {
        name: meaning_of_label(text)
        for name, text in zip(reversed(short), reversed(labels.texts), strict=True)
    }
    of_label = np.array([number[name] for name in short], index_type(len(names)))
    return NamedOps(names, [meaning_by_name[name] for name in names], labels.for_each_op(of_label))


def meaning_of_label(label: str, rules: CategoryRules | None = None) -> KernelMeaning:
    """What ops with that label are; copies and fills without a name are called by their type."""
    found = rules.meaning_of(label) if rules is not None else meaning_of(label)
    if found.category == OTHER and kind_of_type(label) in (OpKind.COPY, OpKind.FILL):
        return found._replace(category=COPY_FILL)
    if GRAPH_RUN_NAME.fullmatch(label):
        return found._replace(category=GRAPH)
    return found


class OpCategories(NamedTuple):
    """For each op a position in `labels`: the built-in categories, then those of a user's rules."""

    codes: npt.NDArray[np.int16]
    labels: list[str]


def op_categories(trace: Trace, rules: CategoryRules | None = None) -> OpCategories:
    """The category of every op of `trace`; barriers, which do no work, are "other"."""
    meaning = rules.meaning_of if rules is not None else meaning_of
    trace.ops.load("name", "type")
    used = trace.ops.code_counts("name").codes
    category_of_name = [meaning(trace.strings[code]).category for code in used.tolist()]
    labels = list(CATEGORIES)
    labels += sorted(set(category_of_name) - set(labels))
    graph_runs = np.equal(trace.op_kind, OpKind.GRAPH_RUN)
    if GRAPH not in labels and graph_runs.any():
        labels.append(GRAPH)
    number = {label: index for index, label in enumerate(labels)}
    # With a last entry for code -1, a kernel without a name.
    table = np.full(int(used.max(initial=-1)) + 2, number[OTHER], np.int16)
    table[used] = [number[category] for category in category_of_name]
    codes: npt.NDArray[np.int16] = looked_up(table, trace.ops["name"])
    kinds = trace.op_kind
    if np.any(kinds != OpKind.KERNEL):
        codes[(kinds == OpKind.COPY) | (kinds == OpKind.FILL)] = number[COPY_FILL]
        if graph_runs.any():
            codes[graph_runs] = number[GRAPH]
        codes[kinds == OpKind.BARRIER] = number[OTHER]
    return OpCategories(codes, labels)


_COLUMNS = (
    ResultColumn("category", "Category", Unit.NAME, "kind of work, see docs/categories.md"),
    ResultColumn("calls", "Calls", Unit.COUNT, "ops of the category; barriers are not work"),
    ResultColumn("total_ns", "Total", Unit.NS, "sum of durations"),
    ResultColumn("percent", "%", Unit.PERCENT, "share of the summed durations of all ops"),
    ResultColumn("mean_ns", "Mean", Unit.NS, "total / calls"),
)


def categories(trace: Trace, rules: CategoryRules | None = None) -> Result:
    """Table `categories`, largest total first; the share of "other" as a fact."""
    found = trace.derived(op_categories) if rules is None else op_categories(trace, rules)
    sampled = recorded(trace)
    if sampled is not None:
        return _estimated_categories(trace, sampled, found)
    codes, durations = found.codes, trace.op_length_ns
    working = trace.op_kind != OpKind.BARRIER
    doubled = doubled_runs(trace)
    if doubled is not None:
        working &= ~doubled
    if not working.all():
        codes, durations = codes[working], durations[working]
    counts = code_counts(codes, len(found.labels)).tolist()
    totals = group_sums(codes, durations, len(found.labels))
    whole = sum(totals)
    rows: list[tuple[Value, ...]] = [
        (label, count, total, percent_of(total, whole), total / count)
        for label, count, total in zip(found.labels, counts, totals, strict=True)
        if count
    ]
    order = sorted(range(len(rows)), key=lambda index: -int(rows[index][2] or 0))
    other = totals[found.labels.index(OTHER)]
    return Result(
        "Categories",
        [ResultTable("categories", "Categories", _COLUMNS, [rows[index] for index in order])],
        facts={"other_percent": percent_of(other, whole)},
    )


def _estimated_categories(trace: Trace, sampled: Recorded, found: OpCategories) -> Result:
    """The categories of a sampled trace by what slices say of the run; graph runs apart."""
    from wavescope.analyze.ops.slice_estimates import (  # noqa: PLC0415  of sampled traces only
        ESTIMATE_COLUMNS,
        GroupedOps,
        estimated_groups,
    )

    seen = np.flatnonzero(sampled.is_seen)
    durations = trace.op_length_ns
    labels = found.labels
    estimates = estimated_groups(
        sampled, GroupedOps(seen, found.codes[seen], durations[seen], len(labels))
    )
    runs = np.flatnonzero(trace.op_kind == OpKind.GRAPH_RUN)
    rows: list[tuple[Value, ...]] = []
    for rows_of, is_estimate in ((seen, True), (runs, False)):
        counts = code_counts(found.codes[rows_of], len(labels)).tolist()
        totals = group_sums(found.codes[rows_of], durations[rows_of], len(labels))
        nothing = (None,) * len(ESTIMATE_COLUMNS)
        part: list[tuple[Value, ...]] = [
            (label, *(estimates.row(code) if is_estimate else nothing), count, total, total / count)
            for code, (label, count, total) in enumerate(zip(labels, counts, totals, strict=True))
            if count
        ]
        rows += sorted(part, key=lambda row: -(row[1] if isinstance(row[1], float) else 0.0))
    kept = {column.name: column for column in _COLUMNS}
    columns = (
        kept["category"],
        *ESTIMATE_COLUMNS,
        *(kept[name] for name in ("calls", "total_ns", "mean_ns")),
    )
    other = estimates.shares[labels.index(OTHER)]
    return Result(
        "Categories",
        [ResultTable("categories", "Categories (estimates from slices)", columns, rows)],
        facts={"other_percent": None if other is None else other.value},
    )


_UNRESOLVED_COLUMNS = (
    ResultColumn("symbol", "Symbol", Unit.NAME, "the kernel's name as recorded"),
    ResultColumn("reason", "Reason", Unit.NAME, "no name, address, number, unknown or mangled"),
    ResultColumn("launches", "Launches", Unit.COUNT, "kernels of that name"),
    ResultColumn("total_ns", "Total", Unit.NS, "sum of durations"),
)


def unresolved_symbols(trace: Trace) -> Result:
    """How many kernel names stayed unresolved or mangled, as a fact, and which, as a table."""
    trace.ops.load("name", "type")
    used = trace.ops.code_counts("name").codes
    reasons = {code: why_unresolved(trace.strings[code]) for code in used.tolist()}
    # With a last entry for code -1; copies have no name either.
    is_suspect = np.ones(int(used.max(initial=-1)) + 2, np.bool_)
    is_suspect[used] = [bool(reason) for reason in reasons.values()]
    is_unresolved = looked_up(is_suspect, trace.ops["name"])
    rows = np.flatnonzero(is_unresolved & (trace.op_kind == OpKind.KERNEL))
    codes, of_row = distinct(trace.ops["name"][rows])
    totals = group_sums(of_row, trace.op_length_ns[rows], len(codes))
    counts = np.bincount(of_row, minlength=len(codes)).tolist()
    found: list[tuple[Value, ...]] = [
        (trace.strings[code] or NO_NAME, reasons.get(code, "no name"), count, total)
        if code >= 0
        else (NO_NAME, "no name", count, total)
        for code, count, total in zip(codes, counts, totals, strict=True)
    ]
    found.sort(key=lambda row: -int(row[3] or 0))
    table = ResultTable("unresolved_symbols", "Unresolved symbols", _UNRESOLVED_COLUMNS, found)
    return Result(
        "Symbols",
        [table] if found else [],
        facts={"unresolved_symbol_count": len(found)},
    )
