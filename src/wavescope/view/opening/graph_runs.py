"""Runs of whole graphs: where the kernels of one were recorded, too, it is not shown beside them.

The same as `analyze.ops.gpu_timelines.doubled_runs`, with memory for the runs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.model.op_kinds import OpKind
from wavescope.model.source import Batch
from wavescope.view.lanes import Ranges
from wavescope.view.opening.growing_rows import some_ranges

_COLUMNS = ("type", "process", "graph", "start_ns")
Kinds = Callable[[Array], npt.NDArray[np.int8] | None]


class GraphRuns:
    """Runs as they come, with GPU and queue; their rows count up."""

    def __init__(self) -> None:
        self._gpus: list[Array] = []
        self._queues: list[Array] = []
        self._ranges: list[Ranges] = []

    def __len__(self) -> int:
        return sum(len(gpus) for gpus in self._gpus)

    def add(self, gpus: Array, queues: Array, ranges: Ranges) -> None:
        self._gpus.append(gpus)
        self._queues.append(queues)
        self._ranges.append(ranges)

    def alone(
        self, batches: Callable[[tuple[str, ...]], Iterator[Batch]], kinds: Kinds
    ) -> tuple[Array, Array, Ranges]:
        """Those during which no kernel of their graph began, given all ops of the trace twice."""
        ranges = Ranges(*(np.concatenate(parts) for parts in zip(*self._ranges, strict=True)))
        keys = np.full((2, len(self)), -1, np.int64)
        first = 0
        for batch in batches(("process", "graph")):
            rows = len(batch["graph"])
            here = slice(*np.searchsorted(ranges.rows, (first, first + rows)).tolist())
            places = ranges.rows[here].astype(np.int64) - first
            keys[0, here], keys[1, here] = batch["process"][places], batch["graph"][places]
            first += rows
        runs = [
            (key, np.flatnonzero((keys[0] == key[0]) & (keys[1] == key[1])))
            for key in map(tuple, np.unique(keys, axis=1).T.tolist())
        ]
        is_doubled = np.zeros(len(self), np.bool_)
        for batch in batches(_COLUMNS):
            for (process, graph), members in runs:
                begun = _starts(batch, kinds, process, graph)
                if len(begun):
                    before = np.searchsorted(begun, ranges.starts[members])
                    is_doubled[members] |= before < np.searchsorted(begun, ranges.ends[members])
        kept = ~is_doubled
        shown = some_ranges(ranges, kept)
        return np.concatenate(self._gpus)[kept], np.concatenate(self._queues)[kept], shown


def _starts(batch: Batch, kinds: Kinds, process: int, graph: int) -> npt.NDArray[np.int64]:
    """When the kernels of a graph in this batch began, in order."""
    is_node = (batch["process"] == process) & (batch["graph"] == graph) & (batch["graph"] >= 0)
    found = kinds(batch["type"]) if is_node.any() else None
    if found is not None:
        is_node &= found == OpKind.KERNEL
    starts: npt.NDArray[np.int64] = np.sort(batch["start_ns"][is_node])
    return starts
