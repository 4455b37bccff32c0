"""Collects what a Perfetto file holds into the tables of a trace.

A flow id that a call and an op share says that the call launched the op.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.formats.carried_tables import CarriedTables
from wavescope.formats.numbered_markers import NumberedMarkers
from wavescope.formats.perfetto.rocprofv3_arguments import CORRELATION
from wavescope.formats.perfetto.rows import Rows, Slices
from wavescope.formats.perfetto.tracks import Tracks
from wavescope.formats.sniff import Deferred
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import (
    CALLS,
    LINKS,
    MARKER_INSTANT,
    MARKER_UNCLOSED,
    MARKERS,
    OPS,
    PROCESSES,
    THREADS,
    UNKNOWN,
    Table,
)

Int64s = npt.NDArray[np.int64]

_rocprofv3_slices = Deferred("rocprofv3.perfetto_slices:Rocprofv3Slices")
_ALWAYS_DENSE = 1 << 20
_LARGEST_INT32 = (1 << 31) - 1


class FlowLinks:
    """Adds links to a trace as soon as both of their ends are known."""

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        self._ops = _OpsByFlow()
        self._waiting: list[tuple[Int64s, Int64s]] = []

    def add_ops(self, flows: Int64s, op_ids: Int64s) -> None:
        """Ops at which flows arrive."""
        self._ops.add(flows, op_ids)

    def add_calls(self, flows: Int64s, call_ids: Int64s) -> None:
        """Calls at which flows start; our own files have them behind the ops."""
        missing = self._link(flows, call_ids)
        if len(missing):
            self._waiting.append((flows[missing], call_ids[missing]))

    def finish(self) -> None:
        """Link calls whose ops came later; flows that lead to no op are no links."""
        for flows, call_ids in self._waiting:
            self._link(flows, call_ids)

    def _link(self, flows: Int64s, call_ids: Int64s) -> npt.NDArray[np.intp]:
        op_ids = self._ops.find(flows)
        found = np.flatnonzero(op_ids)
        if len(found):
            self._builder.add(LINKS, {"call": call_ids[found], "op": op_ids[found]})
        return np.flatnonzero(op_ids == 0)


class _OpsByFlow:
    """Op ids by flow id: an array where flow ids are nearly consecutive, else a sorted list."""

    def __init__(self) -> None:
        self._count = 0
        self._dense = np.zeros(0, np.int32)
        self._sparse: list[tuple[Int64s, Int64s]] = []

    def add(self, flows: Int64s, op_ids: Int64s) -> None:
        if not len(flows):
            return
        self._count += len(flows)
        largest = int(flows.max())
        limit = min(4 * self._count + _ALWAYS_DENSE, _LARGEST_INT32)
        if int(flows.min()) < 0 or largest > limit or int(op_ids[-1]) > _LARGEST_INT32:
            self._sparse.append((flows, op_ids))
            return
        if largest >= len(self._dense):
            grown = np.zeros(max(largest + 1, len(self._dense) * 5 // 4), np.int32)
            grown[: len(self._dense)] = self._dense
            self._dense = grown
        self._dense[flows] = op_ids

    def find(self, flows: Int64s) -> Int64s:
        """The op of each flow, 0 where none is known."""
        op_ids = np.zeros(len(flows), np.int64)
        inside = np.flatnonzero((flows >= 0) & (flows < len(self._dense)))
        op_ids[inside] = self._dense[flows[inside]]
        if self._sparse:
            known, ops = self._sorted()
            at = np.minimum(np.searchsorted(known, flows), len(known) - 1)
            op_ids = np.where((op_ids == 0) & (known[at] == flows), ops[at], op_ids)
        return op_ids

    def _sorted(self) -> tuple[Int64s, Int64s]:
        if len(self._sparse) > 1:
            flows, ops = (np.concatenate(parts) for parts in zip(*self._sparse, strict=True))
            order = np.argsort(flows, kind="stable")
            self._sparse = [(flows[order], ops[order])]
        return self._sparse[0]


class PerfettoTrace:
    """The tables that grow while a file is read; `finish` adds what is known only at its end."""

    def __init__(self, builder: TraceBuilder, tracks: Tracks) -> None:
        self.builder = builder
        self.is_ours = False
        """Whether wavescope wrote the file: its tracks and categories then say what slices are."""
        self.host_slices = 0
        """Slices of other producers, of which nothing tells more than that a host was busy."""
        self._base_ns = 0
        self._tracks = tracks
        self._rocprofv3: Any = None
        """What gathers slices of rocprofv3, once there are any."""
        self._process_ids: dict[int, int] = {}
        """Processes of other producers, by pid."""
        self._carried = CarriedTables(builder)
        self._markers = NumberedMarkers(builder)
        self._links = FlowLinks(builder)
        self._marker_code = builder.strings.code("marker")

    def take_details(self, details: dict[str, Any]) -> None:
        """Take in what our own exporter says of the whole trace."""
        if not self.is_ours and isinstance(details.get("wavescope"), int):
            self.is_ours = True
            base_ns = details.get("base_ns")
            if isinstance(base_ns, int) and abs(base_ns) < 1 << 63:
                self._base_ns = base_ns
        if self.is_ours and "tables" in details:
            self._carried.take(details["tables"])

    def add(self, slices: Slices) -> None:
        """Append slices as ops, calls and markers."""
        rows = slices.rows
        if not len(rows["start_ns"]):
            return
        for column in ("start_ns", "end_ns"):
            rows[column] = rows[column] + np.int64(self._base_ns)
        backwards = rows["end_ns"] < rows["start_ns"]
        self.builder.notes.add("slices ended before they began: taken as empty", backwards.sum())
        rows["end_ns"] = np.where(backwards, rows["start_ns"], rows["end_ns"])
        if not self.is_ours:
            others = self._add_rocprofv3(rows)
            self.host_slices += len(others)
            self._add_calls(slices, others, category="category")
            return
        is_op = rows["is_queue"] != 0
        is_marker = ~is_op & (rows["category"] == self._marker_code)
        self._add_ops(slices, np.flatnonzero(is_op))
        self._add_markers(rows, np.flatnonzero(is_marker))
        self._add_calls(slices, np.flatnonzero(~is_op & ~is_marker), category="second_category")

    def finish(self) -> None:
        """Add links, markers, and the processes and threads of other producers' files."""
        self._links.finish()
        self._markers.finish()
        if self.is_ours:
            return
        code = self.builder.strings.code
        names = self._tracks.process_names
        if self._rocprofv3 is not None:
            self._rocprofv3.finish(tuple(self._process_ids))
        else:
            for pid in self._process_ids:
                self.builder.add_row(PROCESSES, pid=pid, name=names.get(pid, ""))
        for (pid, thread), name in self._tracks.thread_names.items():
            if pid in self._process_ids and name:
                process = self._process_ids[pid]
                self.builder.add_row(THREADS, process=process, thread=thread, name=code(name))

    def _add_rocprofv3(self, rows: Rows) -> npt.NDArray[np.intp]:
        """Take the slices of rocprofv3, which have a correlation id; the rest is given back."""
        if CORRELATION not in rows:
            return np.arange(len(rows["start_ns"]))
        is_theirs = rows[CORRELATION] != UNKNOWN
        if self._rocprofv3 is None and is_theirs.any():
            self._rocprofv3 = _rocprofv3_slices(self.builder, self._tracks.process_names)
        if self._rocprofv3 is not None:
            self._rocprofv3.add(rows, np.flatnonzero(is_theirs))
        return np.flatnonzero(~is_theirs)

    def _add_ops(self, slices: Slices, chosen: npt.NDArray[np.intp]) -> None:
        if not len(chosen):
            return
        rows = slices.rows
        columns = _chosen(rows, OPS, chosen)
        columns["type"] = rows["second_category"][chosen]
        columns["process"] = self._carried.processes(columns["process"])
        if "kernel" in columns:
            columns["kernel"] = self._carried.kernels(columns["kernel"])
        name = columns["name"]
        name = np.where(name == columns["type"], self.builder.strings.code(""), name)
        full_name = _argument(rows, "full_name", chosen)
        columns["name"] = np.where(full_name != UNKNOWN, full_name, name)
        columns["sequence"] = np.maximum(_argument(rows, "sequence", chosen), 0)
        ids = self.builder.add(OPS, columns)
        self._links.add_ops(*_flows(slices, chosen, ids))

    def _add_markers(self, rows: Rows, chosen: npt.NDArray[np.intp]) -> None:
        if not len(chosen):
            return
        columns = _chosen(rows, MARKERS, chosen)
        columns["process"] = self._carried.processes(columns["process"])
        columns["category"] = rows["second_category"][chosen]
        unclosed = _argument(rows, "unclosed", chosen) > 0
        columns["flags"] = rows["is_instant"][chosen] * MARKER_INSTANT + unclosed * MARKER_UNCLOSED
        if "payload_bits" in rows:
            columns["payload"] = rows["payload_bits"][chosen].view(np.float64)
        self._markers.add(columns, _argument(rows, "marker", chosen))

    def _add_calls(self, slices: Slices, chosen: npt.NDArray[np.intp], category: str) -> None:
        if not len(chosen):
            return
        rows = slices.rows
        columns = _chosen(rows, CALLS, chosen)
        columns["category"] = rows[category][chosen]
        if self.is_ours:
            processes = self._carried.processes(columns["process"])
            columns["process"] = processes
            known = np.array([UNKNOWN, *self._carried.pids], np.int64)
            columns["pid"] = np.where(processes >= 0, known[processes + 1], columns["pid"])
        else:
            columns["process"] = self._processes_by_pid(columns["pid"])
        ids = self.builder.add(CALLS, columns)
        self._links.add_calls(*_flows(slices, chosen, ids))

    def _processes_by_pid(self, pids: Array) -> Int64s:
        numbers, which = np.unique(pids, return_inverse=True)
        ids = [
            self._process_ids.setdefault(pid, len(self._process_ids)) if pid >= 0 else UNKNOWN
            for pid in numbers.tolist()
        ]
        return np.array(ids, np.int64)[which]


def _chosen(rows: Rows, table: Table, chosen: npt.NDArray[np.intp]) -> dict[str, Array]:
    return {name: rows[name][chosen] for name in table.column_names if name in rows}


def _argument(rows: Rows, name: str, chosen: npt.NDArray[np.intp]) -> Int64s:
    if name not in rows:
        return np.full(len(chosen), UNKNOWN, np.int64)
    column: Int64s = rows[name][chosen]
    return column


def _flows(slices: Slices, chosen: npt.NDArray[np.intp], ids: range) -> tuple[Int64s, Int64s]:
    """Flow ids of the chosen rows, and the row id each belongs to."""
    new_row = np.full(len(slices.rows["start_ns"]), UNKNOWN, np.int64)
    new_row[chosen] = np.arange(ids.start, ids.stop)
    row_ids = new_row[slices.flow_row]
    known = row_ids >= 0
    return slices.flow_id[known], row_ids[known]
