"""GPU time by category: GEMM, attention, communication and so on.

The category of a kernel follows from its name (`names/kernel_meaning`), communication from the
class of the op, copies and fills from its kind. docs/categories.md defines the categories.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays.coded_columns import code_counts, looked_up
from wavescope.arrays.groups import group_sums
from wavescope.model.op_kinds import OpKind, kind_of_type
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import (
    CATEGORIES,
    COPY_FILL,
    OTHER,
    CategoryRules,
    KernelMeaning,
    meaning_of,
)


def meaning_of_label(label: str, rules: CategoryRules | None = None) -> KernelMeaning:
    """What ops with that label are; copies and fills without a name are called by their type."""
    found = rules.meaning_of(label) if rules is not None else meaning_of(label)
    if found.category == OTHER and kind_of_type(label) in (OpKind.COPY, OpKind.FILL):
        return found._replace(category=COPY_FILL)
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
    number = {label: index for index, label in enumerate(labels)}
    # With a last entry for code -1, a kernel without a name.
    table = np.full(int(used.max(initial=-1)) + 2, number[OTHER], np.int16)
    table[used] = [number[category] for category in category_of_name]
    codes: npt.NDArray[np.int16] = looked_up(table, trace.ops["name"])
    kinds = trace.op_kind
    if np.any(kinds != OpKind.KERNEL):
        codes[(kinds == OpKind.COPY) | (kinds == OpKind.FILL)] = number[COPY_FILL]
        codes[kinds == OpKind.BARRIER] = number[OTHER]
    return OpCategories(codes, labels)


_COLUMNS = (
    ResultColumn("category", "Category", Unit.NAME, "kind of work, see docs/categories.md"),
    ResultColumn("calls", "Calls", Unit.COUNT, "ops of the category; barriers are no work"),
    ResultColumn("total_ns", "Total", Unit.NS, "sum of durations"),
    ResultColumn("percent", "%", Unit.PERCENT, "share of the summed durations of all ops"),
    ResultColumn("mean_ns", "Mean", Unit.NS, "total / calls"),
)


def categories(trace: Trace, rules: CategoryRules | None = None) -> Result:
    """Table `categories`, largest total first; the share of "other" as a fact."""
    found = trace.derived(op_categories) if rules is None else op_categories(trace, rules)
    codes, durations = found.codes, trace.op_length_ns
    working = trace.op_kind != OpKind.BARRIER
    if not working.all():
        codes, durations = codes[working], durations[working]
    counts = code_counts(codes, len(found.labels)).tolist()
    totals = group_sums(codes, durations, len(found.labels))
    whole = sum(totals)
    rows: list[tuple[Value, ...]] = [
        (label, count, total, 100 * total / whole if whole else None, total / count)
        for label, count, total in zip(found.labels, counts, totals, strict=True)
        if count
    ]
    order = sorted(range(len(rows)), key=lambda index: -int(rows[index][2] or 0))
    other = totals[found.labels.index(OTHER)]
    return Result(
        "Categories",
        [ResultTable("categories", "Categories", _COLUMNS, [rows[index] for index in order])],
        facts={"other_percent": 100 * other / whole if whole else None},
    )
