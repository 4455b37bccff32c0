"""Kernels in the order in which their queues ran them, with what each is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_labels import op_categories
from wavescope.arrays import Array
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
    lane: Rows
    """A number that changes from queue to queue."""
    time_ns: Rows

    def is_category(self, *names: str) -> Marks:
        """Which ops are of one of these categories."""
        wanted = [place for place, name in enumerate(self.categories) if name in names]
        return np.isin(self.category, wanted)


def kernel_order(trace: Trace) -> KernelOrder:
    """The order of `trace`; kept by `trace.derived`."""
    ops = trace.ops
    ops.load("gpu", "queue", "start_ns")
    working = np.flatnonzero(trace.op_kind != OpKind.BARRIER)
    order = np.lexsort((ops["start_ns"][working], ops["queue"][working], ops["gpu"][working]))
    rows = working[order]
    gpus, queues = ops["gpu"][rows], ops["queue"][rows]
    changes = np.ones(len(rows), np.bool_)
    changes[1:] = (gpus[1:] != gpus[:-1]) | (queues[1:] != queues[:-1])
    found = trace.derived(op_categories)
    return KernelOrder(
        rows,
        found.codes[rows],
        found.labels,
        np.cumsum(changes),
        trace.op_length_ns[rows].astype(np.int64),
    )
