"""Rows of rocprofv3 output, CSV or JSON, gathered into one trace.

Both spellings share how processes, GPUs and queues are numbered, how names become op types, which
rows are repaired or left out, how correlation ids become links, and to which op a counter belongs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.formats.rocprofv3.kinds import MARKER_CATEGORY
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import (
    AGENTS,
    CALLS,
    COUNTERS,
    KERNELS,
    LINKS,
    MARKER_INSTANT,
    MARKERS,
    OPS,
    PROCESSES,
    QUEUES,
    UNKNOWN,
    Table,
)
from wavescope.model.op_kinds import MARKER_TYPE

_NO_COUNTER_VALUE = "counter values that are not numbers, left out"


@dataclass
class ProcessFacts:
    """What is known of one process; filled while its rows are read."""

    pid: int = UNKNOWN
    rank: int = UNKNOWN
    host: str = ""
    name: str = ""
    command: str = ""
    start_ns: int = UNKNOWN
    end_ns: int = UNKNOWN
    origin: str = ""


@dataclass(frozen=True)
class GpuFacts:
    """What is known of one GPU; `identity` tells it from others of its host."""

    host: str
    identity: int | str
    number: int
    chip: str = ""
    model: str = ""
    uuid: str = ""
    cu_count: int = UNKNOWN
    clock_mhz: int = UNKNOWN
    wave_size: int = UNKNOWN
    memory_bytes: int = UNKNOWN


class Rocprofv3Rows:
    """Takes blocks of rows; `finished` writes what only the whole input tells, such as links."""

    def __init__(self, builder: TraceBuilder) -> None:
        self.builder = builder
        self.processes: list[ProcessFacts] = []
        self._gpus: dict[tuple[str, int | str], int] = {}
        self._queues: dict[tuple[int, int], dict[int, int]] = {}
        self._calls: dict[int, list[tuple[Array, Array]]] = {}
        self._ops: dict[int, list[tuple[Array, Array]]] = {}

    def add_process(self, facts: ProcessFacts) -> int:
        """The number of a new process, whose facts may still grow."""
        self.processes.append(facts)
        return len(self.processes) - 1

    def gpu(self, facts: GpuFacts) -> int:
        """The trace's number of a GPU: its own where that is free, else the next one."""
        key = (facts.host, facts.identity)
        if key not in self._gpus:
            taken = set(self._gpus.values())
            number = facts.number if facts.number not in taken else max(taken) + 1
            self._gpus[key] = number
            self.builder.add_row(
                AGENTS,
                gpu=number,
                local_index=facts.number,
                host=facts.host,
                uuid=facts.uuid,
                chip=facts.chip,
                model=facts.model,
                cu_count=facts.cu_count,
                clock_mhz=facts.clock_mhz,
                wave_size=facts.wave_size,
                memory_bytes=facts.memory_bytes,
            )
        return self._gpus[key]

    def queues(self, process: int, gpus: Array, queues: Array) -> Array:
        """Queue numbers that are unique within each GPU, though processes number their own."""
        numbers = queues.copy()
        pairs, inverse = np.unique(np.stack((gpus, queues)), axis=1, return_inverse=True)
        for index, (gpu, queue) in enumerate(pairs.T.tolist()):
            number = self._queue(process, gpu, queue)
            if number != queue:
                numbers[inverse.reshape(-1) == index] = number
        return numbers

    def _queue(self, process: int, gpu: int, queue: int) -> int:
        owners = self._queues.setdefault((gpu, queue), {})
        if process not in owners:
            if owners and queue >= 0:
                used = {n for (g, _), o in self._queues.items() if g == gpu for n in o.values()}
                owners[process] = max(used) + 1
                pid = self.processes[process].pid
                self.builder.add_row(
                    QUEUES,
                    gpu=gpu,
                    queue=owners[process],
                    name=f"queue {queue} of process {pid if pid >= 0 else process}",
                )
            else:
                owners[process] = queue
        return owners[process]

    def add_ops(self, process: int, columns: Mapping[str, Array]) -> tuple[Array, Array]:
        """Append ops; their ids and which of the given rows they are."""
        ids, kept = self._add_timed(OPS, "ops", process, columns)
        self._remember(self._ops, process, columns, ids, kept)
        return ids, kept

    def add_calls(
        self, process: int, columns: Mapping[str, Array], *, causes_ops: bool = True
    ) -> None:
        """Append host calls; those that cause ops are found again by their correlation id."""
        pid = self.processes[process].pid
        given = {"pid": np.full(len(columns["start_ns"]), pid), **columns}
        ids, kept = self._add_timed(CALLS, "calls", process, given)
        if causes_ops:
            self._remember(self._calls, process, columns, ids, kept)

    def add_markers(self, process: int, columns: Mapping[str, Array], is_mark: Array) -> None:
        """Append markers; `is_mark` tells marks from ranges, as do equal times."""
        strings = self.builder.strings
        rows = len(is_mark)
        instant = is_mark | (columns["start_ns"] == columns["end_ns"])
        shared = {
            "type": np.full(rows, strings.code(MARKER_TYPE)),
            "category": np.full(rows, strings.code(MARKER_CATEGORY)),
            "flags": np.where(instant, MARKER_INSTANT, 0),
            **columns,
        }
        self._add_timed(MARKERS, "markers", process, shared)

    def add_kernels(self, process: int, columns: Mapping[str, Array]) -> Array:
        """Append kernel symbols; their ids."""
        rows = len(columns["name"])
        given = {"process": np.full(rows, process), **columns}
        return np.array(self.builder.add(KERNELS, given), np.int64)

    def finished(self) -> TraceBuilder:
        """The trace, after its processes and links were written."""
        for facts in self.processes:
            self.builder.add_row(
                PROCESSES,
                pid=facts.pid,
                rank=facts.rank,
                host=facts.host,
                name=facts.name,
                command=facts.command,
                start_ns=facts.start_ns,
                end_ns=facts.end_ns,
                origin=facts.origin,
            )
        for process, ops in self._ops.items():
            self._link(self._calls.get(process, []), ops)
        return self.builder

    def _add_timed(
        self, table: Table, what: str, process: int, columns: Mapping[str, Array]
    ) -> tuple[Array, Array]:
        start, end = columns["start_ns"], columns["end_ns"]
        timed = (start >= 0) & (end >= 0) & ((start > 0) | (end > 0))
        kept = np.flatnonzero(timed)
        notes = self.builder.notes
        notes.add(f"{what} without times, left out", len(start) - len(kept))
        rows = {name: column[kept] for name, column in columns.items()}
        backwards = rows["end_ns"] < rows["start_ns"]
        notes.add(f"{what} that end before they start, given a length of zero", backwards.sum())
        rows["end_ns"] = np.maximum(rows["start_ns"], rows["end_ns"])
        rows.setdefault("process", np.full(len(kept), process))
        ids = self.builder.add(table, rows)
        return np.arange(ids.start, ids.stop), kept

    def _remember(
        self,
        index: dict[int, list[tuple[Array, Array]]],
        process: int,
        columns: Mapping[str, Array],
        ids: Array,
        kept: Array,
    ) -> None:
        correlation = columns.get("correlation")
        if correlation is not None:
            known = correlation[kept] > 0
            index.setdefault(process, []).append((correlation[kept][known], ids[known]))

    def _link(self, calls: list[tuple[Array, Array]], ops: list[tuple[Array, Array]]) -> None:
        if not calls:
            return
        correlations = np.concatenate([correlation for correlation, _ in calls])
        ids = np.concatenate([ids for _, ids in calls])
        order = np.argsort(correlations, kind="stable")
        correlations, ids = correlations[order], ids[order]
        if not len(ids):
            return
        for wanted, op_ids in ops:
            places = np.searchsorted(correlations, wanted)
            places[places == len(correlations)] = 0
            found = correlations[places] == wanted
            self.builder.add(LINKS, {"call": ids[places[found]], "op": op_ids[found]})


def looked_up(
    keys: npt.NDArray[np.int64], values: Mapping[int, int], missing: int = UNKNOWN
) -> npt.NDArray[np.int64]:
    """`values[key]` for each key, `missing` where there is none; quick when keys repeat."""
    distinct, inverse = np.unique(keys, return_inverse=True)
    found = np.array([values.get(key, missing) for key in distinct.tolist()], np.int64)
    return found[inverse.reshape(-1)] if len(distinct) else np.empty(0, np.int64)


def finite_number(value: object) -> float | None:
    """A finite number that a file gives as JSON or as a cell, else None."""
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:  # JSON has integers of any size
        return None
    return number if math.isfinite(number) else None


class CounterRows:
    """Waiting counter values and dispatches of one process, matched by dispatch id.

    Counters may come before, after or without the kernel trace: values wait, and a dispatch that no
    kernel trace has becomes an op with the times that the counter rows state.
    """

    def __init__(self, rows: Rocprofv3Rows, process: int) -> None:
        self._rows = rows
        self._process = process
        self._known: list[tuple[Array, Array]] = []
        self._waiting_ops: list[dict[str, Array]] = []
        self._dispatches: list[int] = []
        self._names: list[int] = []
        self._values: list[float] = []

    def add_dispatches(self, dispatches: Array, ops: Array) -> None:
        """State which op each dispatch id is."""
        self._known.append((dispatches, ops))

    def add_ops(self, columns: Mapping[str, Array]) -> None:
        """Dispatches as counter records describe them; `sequence` is the dispatch id."""
        _, first = np.unique(columns["sequence"], return_index=True)
        rows = np.sort(first)
        self._waiting_ops.append({name: column[rows] for name, column in columns.items()})

    def add_values(self, dispatch: int, names: Sequence[str], values: Sequence[Any]) -> None:
        """Counter values of one dispatch."""
        strings = self._rows.builder.strings
        for name, value in zip(names, values, strict=True):
            number = finite_number(value)
            if number is None:
                self._rows.builder.notes.add(_NO_COUNTER_VALUE)
                continue
            self._dispatches.append(dispatch)
            self._names.append(strings.code(name))
            self._values.append(number)

    def finish(self) -> None:
        """Write the ops that only counters know, then the values."""
        for columns in self._waiting_ops:
            unseen = self._op_of(columns["sequence"]) < 0
            if unseen.any():
                rows = {name: column[unseen] for name, column in columns.items()}
                ids, kept = self._rows.add_ops(self._process, rows)
                self.add_dispatches(rows["sequence"][kept], ids)
        if not self._dispatches:
            return
        ops = self._op_of(np.array(self._dispatches, np.int64))
        found = ops >= 0
        builder = self._rows.builder
        builder.notes.add("counter values of ops without times, left out", int((~found).sum()))
        builder.add(
            COUNTERS,
            {
                "op": ops[found],
                "name": np.array(self._names, np.int32)[found],
                "value": np.array(self._values, np.float64)[found],
            },
        )

    def _op_of(self, dispatches: Array) -> Array:
        if not self._known:
            return np.full(len(dispatches), -1, np.int64)
        if len(self._known) > 1:
            self._known = [
                (
                    np.concatenate([keys for keys, _ in self._known]),
                    np.concatenate([ops for _, ops in self._known]),
                )
            ]
        keys, ops = self._known[0]
        if len(keys) > 1 and (np.diff(keys) < 0).any():
            order = np.argsort(keys, kind="stable")
            self._known = [(keys[order], ops[order])]
            keys, ops = self._known[0]
        if not len(keys):
            return np.full(len(dispatches), -1, np.int64)
        places = np.searchsorted(keys, dispatches)
        places[places == len(keys)] = 0
        return np.where(keys[places] == dispatches, ops[places], -1)
