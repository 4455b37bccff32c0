"""Colours by category: what kind of work an op is, what kind of call, what kind of marker.

Ops are what `analyze/ops/op_labels` says of their names; copies and fills have a row of their own.
"""

from __future__ import annotations

import threading
import weakref
from typing import NamedTuple

import numpy as np

from wavescope.analyze.ops.op_labels import GRAPH, GRAPH_RUN_NAME
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import CATEGORIES, COPY_FILL, OTHER, meaning_of
from wavescope.view.colouring.code_classes import Classes, CodeClasses
from wavescope.view.colouring.host_classes import HOST_LABELS, call_label, marker_label
from wavescope.view.lanes import Lane
from wavescope.view.opening import TraceView
from wavescope.view.rows import Row, RowKind

_LABELS = (*CATEGORIES, GRAPH, *HOST_LABELS)
_NUMBER = {label: number for number, label in enumerate(_LABELS)}


class _Tables(NamedTuple):
    """The classes of names that were met so far in one trace."""

    ops: CodeClasses
    calls: CodeClasses
    markers: CodeClasses


def category_of_name(name: str) -> str:
    """The category of ops of that name which are neither copies nor fills."""
    if GRAPH_RUN_NAME.fullmatch(name):
        return GRAPH
    category = meaning_of(name).category
    return category if category in _NUMBER else OTHER


class CategoryColouring:
    """Known from the first op on: nothing of the trace but names is asked."""

    id = "category"
    title = "Category"

    def __init__(self) -> None:
        self._of_trace: weakref.WeakKeyDictionary[Trace, _Tables] = weakref.WeakKeyDictionary()
        self._adding = threading.Lock()

    def labels(self, view: TraceView) -> tuple[str, ...]:  # noqa: ARG002  the same for all
        """All categories, whether they occur or not: names come while the trace is read."""
        return _LABELS

    def classes(self, view: TraceView, row: Row, lane: Lane) -> Classes:
        """By the names of the lane."""
        if row.kind is RowKind.COPIES:
            return np.full(len(lane), _NUMBER[COPY_FILL], np.uint8)
        tables = self._tables(view)
        if row.table == "calls":
            return tables.calls.of(lane.names)
        return (tables.markers if row.table == "markers" else tables.ops).of(lane.names)

    def _tables(self, view: TraceView) -> _Tables:
        with self._adding:
            found = self._of_trace.get(view.trace)
            if found is None:
                found = self._of_trace[view.trace] = _new_tables(view)
            return found


def _new_tables(view: TraceView) -> _Tables:
    # Tables must not hold the trace: they would keep it, which keeps them, for ever.
    strings, categories = view.trace.strings, view.call_categories

    def of_call(code: int) -> int:
        return _NUMBER[call_label(strings[code], strings[categories.of(code)])]

    return _Tables(
        CodeClasses(lambda code: _NUMBER[category_of_name(strings[code])]),
        CodeClasses(of_call),
        CodeClasses(lambda code: _NUMBER[marker_label(strings[code])]),
    )
