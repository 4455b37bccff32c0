"""Colours by kernel: those that take most time, and all others together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wavescope.analyze.ops.op_labels import label_of_drawn
from wavescope.arrays.coded_columns import distinct
from wavescope.arrays.groups import group_sums
from wavescope.names.kernel_names import short_name
from wavescope.view.colouring.code_classes import Classes, CodeClasses
from wavescope.view.colouring.host_classes import HOST
from wavescope.view.lanes import Lane
from wavescope.view.opening import TraceView
from wavescope.view.rows import Row

MOST_KERNELS = 12
"""As many as there are colours that can be told apart."""
REST = "other kernels"


class _Kernels(NamedTuple):
    labels: tuple[str, ...]
    of_code: CodeClasses


class KernelColouring:
    """Kernels by their short names, as in the table of a summary."""

    id = "kernel"
    title = "Kernel"

    def labels(self, view: TraceView) -> tuple[str, ...]:
        """The kernels with most time, largest first, the others, and what the host did."""
        view.require_whole()
        return view.derived(_kernels).labels

    def classes(self, view: TraceView, row: Row, lane: Lane) -> Classes:
        """By the names of the lane."""
        view.require_whole()
        found = view.derived(_kernels)
        if row.table != "ops":
            return np.full(len(lane), len(found.labels) - 1, np.uint8)
        return found.of_code.of(lane.names)


def _kernels(view: TraceView) -> _Kernels:
    strings = view.trace.strings
    totals: dict[str, int] = {}
    for code, total_ns in time_by_name(view).items():
        name = kernel_name(strings[code])
        totals[name] = totals.get(name, 0) + total_ns
    largest = sorted(totals, key=lambda name: (-totals[name], name))[:MOST_KERNELS]
    number = {name: place for place, name in enumerate(largest)}
    return _Kernels(
        (*largest, REST, HOST),
        CodeClasses(lambda code: number.get(kernel_name(strings[code]), len(largest))),
    )


def kernel_name(name: str) -> str:
    """The short name of ops that lanes call `name`."""
    return short_name(label_of_drawn(name))


def time_by_name(view: TraceView) -> dict[int, int]:
    """The time of all ops that are drawn, by the code of their name."""
    totals: dict[int, int] = {}
    for row in view.loaded.rows:
        for lane in row.lanes if row.table == "ops" else ():
            codes, sums = _sums(lane)
            for code, total_ns in zip(codes, sums, strict=True):
                totals[code] = totals.get(code, 0) + total_ns
    return totals


def _sums(lane: Lane) -> tuple[list[int], list[int]]:
    codes, of_range = distinct(lane.names)
    return codes, group_sums(of_range, lane.lengths, len(codes))
