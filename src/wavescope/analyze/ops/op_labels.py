"""What ops are called: by name, or by type where they have none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.categories import meaning_of_label
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import distinct, index_type, looked_up
from wavescope.model.op_kinds import OpKind, kind_of_type
from wavescope.model.trace import Trace, TraceTable
from wavescope.names.kernel_names import KernelMeaning, short_name

NO_NAME = "(no name)"


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
