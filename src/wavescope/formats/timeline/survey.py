"""A first look at a trace before its timeline is written: its tracks and its time span."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wavescope.arrays.coded_columns import DistinctRows
from wavescope.formats.timeline.counter_series import Span
from wavescope.model.columns import CALLS, MARKERS, OPS, PROCESSES
from wavescope.model.source import Batch, TraceSource, missing_value, read_columns

Int64s = npt.NDArray[np.int64]

OP_VALUES = (
    "process",
    "thread",
    "stream",
    "hardware_queue",
    "grid_x",
    "grid_y",
    "grid_z",
    "workgroup_x",
    "workgroup_y",
    "workgroup_z",
    "lds_bytes",
    "scratch_bytes",
    "source_device",
    "target_device",
    "graph",
    "kernel",
)
"""Columns of `ops` that become arguments, with values that repeat."""
OP_VALUES_PER_ROW = ("sequence", "correlation", "size_bytes", "graph_node", "marker")
"""Columns of `ops` that become arguments, with values that hardly repeat."""
_OP_ARGUMENTS = (*OP_VALUES, *OP_VALUES_PER_ROW)
MOST_PLACES = 1 << 16
_LARGEST_PID = 1 << 62


class ProcessKeys:
    """One number for the process of a host event, whichever way its row names it.

    That is the process's id in `processes`, or -1 when nothing is known, or -2 - pid when only a
    pid is known that no process of the table has (or several have).
    """

    def __init__(self, source: TraceSource) -> None:
        rows = read_columns(source, PROCESSES, ("id", "pid"))
        pids, firsts, counts = np.unique(rows["pid"], return_index=True, return_counts=True)
        single = (counts == 1) & (pids >= 0)
        self._pids = pids[single]
        self._ids = rows["id"][firsts[single]].astype(np.int64)

    def of(self, batch: Batch) -> Int64s:
        """The key of each row of a batch of calls or markers."""
        keys = batch["process"].astype(np.int64)
        if "pid" not in batch or not np.any(keys < 0):
            return keys
        pids = batch["pid"]
        unlisted = np.where((pids >= 0) & (pids < _LARGEST_PID), -2 - pids, -1)
        if len(self._pids):
            at = np.minimum(np.searchsorted(self._pids, pids), len(self._pids) - 1)
            unlisted = np.where(self._pids[at] == pids, self._ids[at], unlisted)
        return np.where(keys >= 0, keys, unlisted)


def pid_of_key(key: int) -> int:
    """The pid inside a process key that holds one, else -1."""
    return -2 - key if key <= -2 else -1


@dataclass
class Places:
    """The different places (columns taken together) at which rows lie, numbered as they appear.

    What lies at more than MOST_PLACES places is taken to lie at the last of them.
    """

    distinct: DistinctRows
    keys: list[tuple[int, ...]] = field(default_factory=list)

    def numbers(self, columns: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int32]:
        """The number of each row's place; new places are added to `keys`."""
        numbers, firsts = self.distinct.number(columns)
        firsts = firsts[: MOST_PLACES - len(self.keys)]
        if len(firsts):
            self.keys.extend(zip(*(column[firsts].tolist() for column in columns), strict=True))
        return np.minimum(numbers, np.int32(MOST_PLACES - 1))


class Survey:
    """Queues, threads, time span and number of rows of a trace."""

    def __init__(self, source: TraceSource) -> None:
        self.queues = Places(DistinctRows(2))
        """Places are (gpu, queue)."""
        self.threads = Places(DistinctRows(2))
        """Places are (process key, thread)."""
        self.process_keys = ProcessKeys(source)
        self._times: list[int] = []
        self.row_count = 0
        """Ops, calls and markers."""
        self.op_columns: set[str] = set()
        """Those of OP_VALUES and OP_VALUES_PER_ROW in which at least one op has a known value."""
        self._note_columns(next(iter(source.batches(OPS, _OP_ARGUMENTS)), {}))
        # What the first ops have is known, and need not be read from the others.
        unseen = tuple(name for name in _OP_ARGUMENTS if name not in self.op_columns)
        for batch in source.batches(OPS, ("gpu", "queue", "start_ns", "end_ns", *unseen)):
            self.queue_numbers(batch)
            self._note_rows(batch)
            self._note_columns({name: batch[name] for name in unseen})
        for table, pid in ((CALLS, ("pid",)), (MARKERS, ())):
            for batch in source.batches(table, ("process", "thread", "start_ns", "end_ns", *pid)):
                self.thread_numbers(batch)
                self._note_rows(batch)

    @property
    def span(self) -> Span:
        """From the first start to the last end; [0, 0) for an empty trace."""
        return Span(min(self._times, default=0), max(self._times, default=0))

    def queue_numbers(self, batch: Batch) -> npt.NDArray[np.int32]:
        """The number of each op's queue among `queues.keys`."""
        return self.queues.numbers([batch["gpu"].astype(np.int64), batch["queue"]])

    def thread_numbers(self, batch: Batch) -> npt.NDArray[np.int32]:
        """The number of each call's or marker's thread among `threads.keys`."""
        return self.threads.numbers([self.process_keys.of(batch), batch["thread"]])

    def _note_rows(self, batch: Batch) -> None:
        self.row_count += len(batch["start_ns"])
        if len(batch["start_ns"]):
            times = (*self._times, int(batch["start_ns"].min()), int(batch["end_ns"].max()))
            self._times = [min(times), max(times)]

    def _note_columns(self, batch: Batch) -> None:
        for name, values in batch.items():
            if name not in self.op_columns and np.any(values != missing_value(OPS.column(name))):
                self.op_columns.add(name)
