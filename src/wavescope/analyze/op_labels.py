"""What an op is called: its kernel's name, or what kind of work it is where it has none."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.scopes import distinct
from wavescope.model.op_kinds import OpKind, kind_of_type
from wavescope.model.trace import Trace, TraceTable

NO_NAME = "(no name)"


def op_labels(trace: Trace, ops: TraceTable) -> tuple[npt.NDArray[np.integer], list[str]]:
    """For each of the ops, which are of `trace`, an index into the list of labels.

    Copies and fills are called by their type, such as `CopyHostToDevice`.
    """
    ops.load("name", "type")
    codes, label = distinct(ops["name"])
    texts = [trace.strings[code] for code in codes]
    unnamed = [index for index, text in enumerate(texts) if not text]
    if not unnamed:
        return label, texts
    label = label.astype(np.int64)
    rows = np.flatnonzero(np.isin(label, unnamed))
    type_codes, type_of_row = distinct(ops["type"][rows])
    label[rows] = type_of_row.astype(np.int64) + len(texts)
    texts += [_label_of_type(trace.strings[code]) for code in type_codes]
    kept, label = distinct(label)
    return label, [texts[index] for index in kept]


def _label_of_type(op_type: str) -> str:
    return NO_NAME if not op_type or kind_of_type(op_type) is OpKind.KERNEL else op_type
