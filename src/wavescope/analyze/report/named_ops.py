"""The ops of a trace by the name that people know them by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wavescope.analyze.names.kernel_meaning import COPY_FILL, KernelMeaning, meaning_of
from wavescope.analyze.names.kernel_names import short_name
from wavescope.analyze.op_labels import op_labels
from wavescope.analyze.scopes import index_type
from wavescope.model.op_kinds import OpKind, kind_of_type
from wavescope.model.source import Array
from wavescope.model.trace import Trace


class NamedOps(NamedTuple):
    """Short names in alphabetical order, what each is, and the name of each op."""

    names: list[str]
    meanings: list[KernelMeaning]
    of_op: Array


def named_ops(trace: Trace) -> NamedOps:
    """All ops; copies and fills without a name are called by their type."""
    labels = op_labels(trace, trace.ops)
    short = [short_name(text) for text in labels.texts]
    names = sorted(set(short))
    number = {name: index for index, name in enumerate(names)}
    meaning_by_name = {
        name: _meaning(text)
        for name, text in zip(reversed(short), reversed(labels.texts), strict=True)
    }
    of_label = np.array([number[name] for name in short], index_type(len(names)))
    return NamedOps(names, [meaning_by_name[name] for name in names], labels.for_each_op(of_label))


def _meaning(label: str) -> KernelMeaning:
    if kind_of_type(label) in {OpKind.COPY, OpKind.FILL} and label.isalpha():
        return KernelMeaning(COPY_FILL, "", "")
    return meaning_of(label)
