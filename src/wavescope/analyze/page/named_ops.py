"""The ops of a trace by the name that people know them by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wavescope.analyze.ops.categories import meaning_of_label
from wavescope.analyze.ops.op_labels import op_labels
from wavescope.analyze.ops.scopes import index_type
from wavescope.arrays import Array
from wavescope.model.trace import Trace
from wavescope.names.kernel_meaning import KernelMeaning
from wavescope.names.kernel_names import short_name


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
        name: meaning_of_label(text)
        for name, text in zip(reversed(short), reversed(labels.texts), strict=True)
    }
    of_label = np.array([number[name] for name in short], index_type(len(names)))
    return NamedOps(names, [meaning_by_name[name] for name in names], labels.for_each_op(of_label))
