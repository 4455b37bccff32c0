"""What is read, put on its rows batch by batch: ops on queues and copies, the host's on threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.coded_columns import DistinctRows, looked_up
from wavescope.formats.timeline import ProcessKeys
from wavescope.model.columns import UNKNOWN
from wavescope.model.op_kinds import OpKind, kind_of_type
from wavescope.model.source import Batch
from wavescope.model.strings import StringTable
from wavescope.view.lanes import Packing, Ranges
from wavescope.view.opening.graph_runs import GraphRuns
from wavescope.view.opening.growing_rows import GrowingRows, some_ranges
from wavescope.view.rows import HostPlace, OpPlace

OP_COLUMNS = ("gpu", "queue", "start_ns", "end_ns", "name", "type")
MARKER_COLUMNS = ("process", "thread", "start_ns", "end_ns", "name")
CALL_COLUMNS = (*MARKER_COLUMNS, "pid", "category")
_COPIES = -(2**63)
"""In place of a queue's number."""
_UNSEEN = -1


class GatheredOps:
    """The ops read so far, each on one row; barriers, which do no work, on none."""

    def __init__(self, strings: StringTable) -> None:
        self._strings = strings
        self._types = _OpTypes(strings)
        self._users = DistinctRows(2)
        self.rows = GrowingRows(Packing.FIRST_FREE, _place)
        self.row_count = 0
        self.graph_runs = GraphRuns()
        """Put aside: those whose kernels are in the trace, too, are not shown."""
        self.processes_of_gpu: dict[int, set[int]] = {}
        """Where the batches have a column `process`."""

    def add(self, batch: Batch) -> None:
        """Take in the next ops."""
        count = len(batch["start_ns"])
        rows = np.arange(self.row_count, self.row_count + count, dtype=np.uint32)
        self.row_count += count
        if not count:
            return
        self._note_processes(batch)
        kinds = self._types.kinds(batch["type"])
        names = self._names(batch["name"], batch["type"])
        queues = batch["queue"]
        ranges = Ranges(batch["start_ns"], batch["end_ns"], names, rows)
        if kinds is None:
            self.rows.add(batch["gpu"], queues, ranges)
            return
        queues = np.where((kinds == OpKind.COPY) | (kinds == OpKind.FILL), _COPIES, queues)
        is_run = kinds == OpKind.GRAPH_RUN
        if is_run.any():
            self.graph_runs.add(batch["gpu"][is_run], queues[is_run], some_ranges(ranges, is_run))
        shown = ~is_run & (kinds != OpKind.BARRIER)
        self.rows.add(batch["gpu"][shown], queues[shown], some_ranges(ranges, shown))

    def add_graph_runs(self, batches: Callable[[tuple[str, ...]], Iterator[Batch]]) -> None:
        """Show the runs of graphs whose kernels are not in the trace; `batches` are its ops."""
        if len(self.graph_runs):
            self.rows.add(*self.graph_runs.alone(batches, self._types.kinds))

    def _names(self, names: Array, types: Array) -> Array:
        """The name of each op, or its type where it has none; a kernel then has neither."""
        empty = self._strings.find("")
        is_unnamed = names < 0
        if empty >= 0:
            is_unnamed |= names == empty
        if not is_unnamed.any():
            return names
        return np.where(is_unnamed, self._types.labels(types), names)

    def _note_processes(self, batch: Batch) -> None:
        if "process" not in batch:
            return
        gpus, processes = batch["gpu"], batch["process"]
        _, firsts = self._users.number((gpus, processes))
        for gpu, process in zip(gpus[firsts].tolist(), processes[firsts].tolist(), strict=True):
            self.processes_of_gpu.setdefault(gpu, set()).add(process)


def _place(gpu: int, queue: int) -> OpPlace:
    return OpPlace(gpu, None if queue == _COPIES else queue)


class _OpTypes:
    """What the types of ops mean, each looked at once."""

    def __init__(self, strings: StringTable) -> None:
        self._strings = strings
        # The last entry answers for code -1, an unknown type.
        self._kinds = np.full(1, _UNSEEN, np.int8)
        self._labels = np.full(1, UNKNOWN, np.int32)

    def kinds(self, types: Array) -> npt.NDArray[np.int8] | None:
        """The `OpKind` of each op; None when all are kernels."""
        first = int(types[0])
        if (types == first).all():
            self._look_at([first])
            kind = self._kinds[first]
            return None if kind == OpKind.KERNEL else np.full(len(types), kind, np.int8)
        self._make_room(int(types.max()))
        kinds: npt.NDArray[np.int8] = looked_up(self._kinds, types)
        unseen = kinds == _UNSEEN
        if unseen.any():
            self._look_at(np.unique(types[unseen]).tolist())
            kinds = looked_up(self._kinds, types)
        return kinds if kinds.any() else None

    def labels(self, types: Array) -> Array:
        """The code of each type, -1 where it says nothing; `kinds` was asked before."""
        return looked_up(self._labels, types)

    def _look_at(self, codes: list[int]) -> None:
        self._make_room(max(codes))
        for code in codes:
            text = self._strings[code]
            kind = kind_of_type(text)
            self._kinds[code] = kind
            self._labels[code] = code if text and kind is not OpKind.KERNEL else UNKNOWN

    def _make_room(self, code: int) -> None:
        missing = code + 2 - len(self._kinds)
        if missing > 0:
            for name, fill in (("_kinds", _UNSEEN), ("_labels", UNKNOWN)):
                table = getattr(self, name)
                room = np.full(missing, fill, table.dtype)
                setattr(self, name, np.concatenate((table[:-1], room, table[-1:])))


class GatheredHost:
    """The rows read so far of `markers` or of `calls`."""

    def __init__(self, table: str, keys: ProcessKeys, strings: StringTable) -> None:
        self._keys = keys
        self._strings = strings
        self.rows = GrowingRows(
            Packing.BELOW_OPEN, lambda process, thread: HostPlace(process, thread, table)
        )
        self.row_count = 0

    def add(self, batch: Batch) -> None:
        """Take in the next rows."""
        count = len(batch["start_ns"])
        rows = np.arange(self.row_count, self.row_count + count, dtype=np.uint32)
        self.row_count += count
        names, empty = batch["name"], self._strings.find("")
        if empty >= 0:
            names = np.where(names == empty, np.int32(-1), names)
        ranges = Ranges(batch["start_ns"], batch["end_ns"], names, rows)
        self.rows.add(self._keys.of(batch), batch["thread"], ranges)
