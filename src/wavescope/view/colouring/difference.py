"""Colours by how a kernel differs from the same kernel of the other trace."""

from __future__ import annotations

from contextlib import ExitStack
from typing import NamedTuple

import numpy as np

from wavescope.analyze.compare import KernelChange, KernelChanges, kernel_changes
from wavescope.analyze.ops.coverage import recorded
from wavescope.analyze.ops.op_labels import label_of_drawn
from wavescope.errors import UsageError
from wavescope.view.colouring.code_classes import Classes, CodeClasses
from wavescope.view.colouring.host_classes import HOST
from wavescope.view.lanes import Lane
from wavescope.view.opening import TraceView
from wavescope.view.rows import Row

_LABELS = (*(change.value for change in KernelChange), HOST)
_NUMBER = {change: number for number, change in enumerate(KernelChange)}


class _Pair(NamedTuple):
    base: TraceView
    new: TraceView


class DifferenceColouring:
    """Only here, slower, faster or the same, as `wavescope compare` puts kernels together."""

    id = "difference"
    title = "Difference"

    def labels(self, view: TraceView) -> tuple[str, ...]:
        """The four ways to differ, and what the host did."""
        changes_of(view)
        return _LABELS

    def classes(self, view: TraceView, row: Row, lane: Lane) -> Classes:
        """By the names of the lane."""
        changes_of(view)
        if row.table != "ops":
            return np.full(len(lane), len(_LABELS) - 1, np.uint8)
        return view.derived(_of_code).of(lane.names)


def changes_of(view: TraceView) -> KernelChanges:
    """Of a trace and the one that it is compared with; found once for both."""
    pair = _pair(view)
    if pair.new.has_derived(_changes):
        return pair.new.derived(_changes)
    for each in pair:
        each.require_whole()
    with ExitStack() as stack:
        for each in pair:  # always the base first, so that two who ask do not wait for each other
            stack.enter_context(each.turn)
        return pair.new.derived(_changes)


def _pair(view: TraceView) -> _Pair:
    other = view.compared_with
    if other is None:
        raise UsageError(
            "there is no other trace to compare with", hint="wavescope view OLD.db NEW.db"
        )
    return _Pair(view, other) if view.number < other.number else _Pair(other, view)


def _changes(view: TraceView) -> KernelChanges:
    pair = _pair(view)
    if any(recorded(each.trace) is not None for each in pair):
        raise UsageError(
            "kernels of sampled traces cannot be told apart one by one",
            hint="`wavescope compare` tells which shares differ",
        )
    return kernel_changes(pair.base.trace, pair.new.trace)


def _of_code(view: TraceView) -> CodeClasses:
    changes, strings = changes_of(view), view.trace.strings
    known = changes.of_base if view is _pair(view).base else changes.of_new

    def class_of(code: int) -> int:
        name = changes.listed(label_of_drawn(strings[code]))
        return _NUMBER[known.get(name, KernelChange.SAME)]

    return CodeClasses(class_of)
