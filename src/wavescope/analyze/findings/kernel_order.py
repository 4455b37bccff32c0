"""Kernels in the order in which their queues ran them, with what each is."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_labels import op_categories
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import looked_up
from wavescope.arrays.groups import grouped_rows
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace

Rows = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class KernelOrder:
    """All ops but barriers by GPU, queue and time; each column has one value per op."""

    rows: Rows
    category: Array
    """A position in `categories`."""
    categories: list[str]
    lane: Array
    """A number that changes from queue to queue."""
    time_ns: Array

    def is_category(self, *names: str) -> Marks:
        """Which ops are of one of these categories."""
        wanted = np.array([name in names for name in self.categories])
        return looked_up(wanted, self.category)


def kernel_order(trace: Trace) -> KernelOrder:
    """The order of `trace`; kept by `trace.derived`."""
    rows, bounds = _rows_in_order(trace)
    lane = np.repeat(np.arange(len(bounds) - 1, dtype=np.int32), np.diff(bounds))
    if np.any(trace.op_kind == OpKind.BARRIER):
        working = trace.op_kind[rows] != OpKind.BARRIER
        rows, lane = rows[working], lane[working]
    found = trace.derived(op_categories)
    return KernelOrder(rows, found.codes[rows], found.labels, lane, trace.op_length_ns[rows])


def _rows_in_order(trace: Trace) -> tuple[Rows, Rows]:
    """The ops of each queue in order of time, and where each queue's begin."""
    ops = trace.ops
    ops.load("gpu", "queue", "start_ns")
    numbers = np.arange(len(ops), dtype=np.int64)
    grouped = grouped_rows(ops["gpu"], ops["queue"], (numbers, ops["start_ns"]))
    rows, starts = grouped.columns
    for first, stop in pairwise(grouped.bounds.tolist()):
        mine = starts[first:stop]
        if np.any(mine[1:] < mine[:-1]):
            rows[first:stop] = rows[first:stop][np.argsort(mine, kind="stable")]
    return rows, grouped.bounds
