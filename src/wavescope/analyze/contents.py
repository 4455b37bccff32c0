"""What a trace holds: counts, span, GPUs, processes, queues, markers and kernel names."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.coverage import sampled_facts
from wavescope.analyze.ops.op_labels import NO_NAME
from wavescope.arrays.coded_columns import (
    BLOCK_ROWS,
    DistinctRows,
    blocks,
    code_counts,
    different_values,
)
from wavescope.model.columns import MARKER_INSTANT, MARKER_UNCLOSED, QUEUES, TABLES
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.model.selection import trace_span
from wavescope.model.trace import Trace, TraceTable

Rows = list[tuple[Value, ...]]


def overview(trace: Trace) -> Result:
    """Counts and lists of all there is; markers and kernels only as counts."""
    trace.ops.load("start_ns", "end_ns", "type", "gpu", "queue", "name")
    first_ns, last_ns = trace_span(trace)
    kinds = np.bincount(trace.op_kind, minlength=len(OpKind))
    is_kernel = trace.op_kind == OpKind.KERNEL
    graph_runs = int(kinds[OpKind.GRAPH_RUN])
    tables = (
        _gpus(trace),
        _queues(trace),
        _processes(trace),
        _table_counts(trace),
        _metadata(trace),
        _notes(trace),
    )
    return Result(
        "Trace",
        [table for table in tables if table.rows],
        facts={
            **sampled_facts(trace),
            "span_ns": last_ns - first_ns,
            "first_timestamp_ns": first_ns,
            "last_timestamp_ns": last_ns,
            "op_count": len(trace.ops),
            "kernel_count": int(kinds[OpKind.KERNEL]),
            "kernel_name_count": len(different_values(trace.ops["name"][is_kernel])),
            "copy_count": int(kinds[OpKind.COPY]),
            "fill_count": int(kinds[OpKind.FILL]),
            **({"graph_run_count": graph_runs} if graph_runs else {}),
            "marker_count": len(trace.markers),
            "call_count": len(trace.calls),
        },
    )


def marker_list(trace: Trace) -> ResultTable:
    """Markers by text: how often, how long in all; the longest first."""
    columns = (
        ResultColumn("marker", "Marker", Unit.NAME, "the marker's text"),
        ResultColumn("occurrences", "Occurrences", Unit.COUNT, "ranges and marks of that text"),
        ResultColumn("total_ns", "Total", Unit.NS, "sum of the ranges' durations"),
        ResultColumn("mean_ns", "Mean", Unit.NS, "mean duration"),
        ResultColumn("longest_ns", "Longest", Unit.NS, "longest duration"),
        ResultColumn("marks", "Marks", Unit.COUNT, "of these, instant marks"),
        ResultColumn("unclosed", "Unclosed", Unit.COUNT, "of these, open when recording ended"),
    )
    markers = trace.markers
    markers.load("name", "start_ns", "end_ns", "flags")
    groups = _Groups(markers["name"])
    durations = markers.duration_ns
    totals, counts = groups.sum(durations), groups.counts
    longest = groups.largest(durations)
    flags = markers["flags"]
    marks = groups.sum((flags & MARKER_INSTANT != 0).astype(np.int64))
    unclosed = groups.sum((flags & MARKER_UNCLOSED != 0).astype(np.int64))
    rows: Rows = [
        (
            trace.strings[int(groups.codes[i])] or NO_NAME,
            int(counts[i]),
            int(totals[i]),
            int(totals[i]) / int(counts[i]),
            int(longest[i]),
            int(marks[i]),
            int(unclosed[i]),
        )
        for i in np.lexsort((-counts, -totals)).tolist()
    ]
    return ResultTable("markers", "Markers", columns, rows)


def kernel_list(trace: Trace) -> ResultTable:
    """Kernel names as recorded, with launches, total time and what the loader knew of them."""
    columns = (
        ResultColumn("kernel", "Kernel", Unit.NAME, "whole demangled name"),
        ResultColumn("launches", "Launches", Unit.COUNT, "ops of that name"),
        ResultColumn("total_ns", "Total", Unit.NS, "sum of durations"),
        ResultColumn("vgprs", "VGPRs", meaning="vector registers per work-item"),
        ResultColumn("agprs", "AGPRs", meaning="accumulation registers per work-item"),
        ResultColumn("sgprs", "SGPRs", meaning="scalar registers per wave"),
        ResultColumn("lds_bytes", "LDS", Unit.BYTES, "static LDS"),
        ResultColumn("scratch_bytes", "Scratch", Unit.BYTES, "scratch per work-item"),
    )
    is_kernel = trace.op_kind == OpKind.KERNEL
    groups = _Groups(trace.ops["name"][is_kernel])
    totals = groups.sum(trace.ops.duration_ns[is_kernel])
    symbols = _symbols(trace)
    rows: Rows = []
    for index in np.argsort(-totals, kind="stable").tolist():
        code = int(groups.codes[index])
        known = symbols.get(code, (None,) * 5)
        name = trace.strings[code] or NO_NAME
        rows.append((name, int(groups.counts[index]), int(totals[index]), *known))
    return ResultTable("kernels", "Kernels", columns, rows)


class _Groups:
    """Rows put together by their string code."""

    def __init__(self, codes: npt.NDArray[np.int32]) -> None:
        self.codes, self._place = np.unique(codes, return_inverse=True)
        self.counts = np.bincount(self._place, minlength=len(self.codes))

    def sum(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Exact integer sums per group."""
        totals = np.zeros(len(self.codes), np.int64)
        np.add.at(totals, self._place, values)
        return totals

    def largest(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The largest value per group."""
        found = np.full(len(self.codes), np.iinfo(np.int64).min)
        np.maximum.at(found, self._place, values)
        return found


def _symbols(trace: Trace) -> dict[int, tuple[Value, ...]]:
    names = ("vgprs", "agprs", "sgprs", "lds_bytes", "scratch_bytes")
    table = trace.kernels
    table.load("name", *names)
    values = zip(*(_known(table, name) for name in names), strict=True)
    return dict(zip(table["name"].tolist(), values, strict=True))


def _known(table: TraceTable, name: str) -> list[Value]:
    return [value if value >= 0 else None for value in table[name].tolist()]


def _texts(table: TraceTable, name: str) -> list[Value]:
    return [text or None for text in table.strings(name)]


def _gpus(trace: Trace) -> ResultTable:
    columns = (
        ResultColumn("gpu", "GPU", meaning="number used in this trace"),
        ResultColumn("ops", "Ops", Unit.COUNT, "ops that ran on it"),
        ResultColumn("chip", "Chip", Unit.NAME, "gfx942, sm_90, ..."),
        ResultColumn("model", "Model", Unit.NAME, "product name"),
        ResultColumn("compute_units", "CUs", meaning="compute units or multiprocessors"),
        ResultColumn("memory_bytes", "Memory", Unit.BYTES, "device memory"),
        ResultColumn("host", "Host", Unit.NAME, "host name"),
        ResultColumn("local_index", "Local", meaning="number in its own process or file"),
    )
    numbers, counts = np.unique(trace.ops["gpu"], return_counts=True)
    ops = dict(zip(numbers.tolist(), counts.tolist(), strict=True))
    agents = trace.agents
    details: dict[int, tuple[Value, ...]] = {}
    if len(agents):
        agents.load(*agents.column_names)
        described = zip(
            _texts(agents, "chip"),
            _texts(agents, "model"),
            _known(agents, "cu_count"),
            _known(agents, "memory_bytes"),
            _texts(agents, "host"),
            _known(agents, "local_index"),
            strict=True,
        )
        details = dict(zip(agents["gpu"].tolist(), described, strict=True))
    rows: Rows = [
        (gpu, ops.get(gpu, 0), *details.get(gpu, (None,) * 6))
        for gpu in sorted(ops.keys() | details.keys())
    ]
    return ResultTable("gpus", "GPUs", columns, rows)


def _queues(trace: Trace) -> ResultTable:
    columns = (
        ResultColumn("gpu", "GPU", meaning="GPU of the queue"),
        ResultColumn("queue", "Queue", meaning="number used in this trace"),
        ResultColumn("name", "Name", Unit.NAME, "name of the queue"),
        ResultColumn("ops", "Ops", Unit.COUNT, "ops that ran on it"),
    )
    table = trace.table(QUEUES)
    names: dict[tuple[int, int], str] = {}
    if len(table):
        pairs = zip(table["gpu"].tolist(), table["queue"].tolist(), strict=True)
        names = dict(zip(pairs, table.strings("name"), strict=True))
    rows: Rows = [
        (gpu, queue, names.get((gpu, queue)) or None, count)
        for (gpu, queue), count in sorted(_op_counts(trace).items())
    ]
    return ResultTable("queues", "Queues", columns, rows)


def _op_counts(trace: Trace) -> dict[tuple[int, int], int]:
    """How many ops ran on each queue, which is told by GPU and queue number."""
    gpus, queues = trace.ops["gpu"], trace.ops["queue"]
    numbered = DistinctRows(2)
    counts: dict[tuple[int, int], int] = {}
    places: list[tuple[int, int]] = []
    for rows in blocks(len(gpus), BLOCK_ROWS):
        numbers, firsts = numbered.number((gpus[rows], queues[rows]))
        new = zip(gpus[rows][firsts].tolist(), queues[rows][firsts].tolist(), strict=True)
        places += new
        for place, count in zip(places, code_counts(numbers, len(places)).tolist(), strict=True):
            counts[place] = counts.get(place, 0) + count
    return counts


def _processes(trace: Trace) -> ResultTable:
    columns = (
        ResultColumn("process", "Process", meaning="row id, from 0"),
        ResultColumn("pid", "Pid", meaning="operating system's process id"),
        ResultColumn("rank", "Rank", meaning="rank in the parallel job"),
        ResultColumn("host", "Host", Unit.NAME, "host name"),
        ResultColumn("name", "Name", Unit.NAME, "program or label"),
        ResultColumn("command", "Command", Unit.NAME, "command line"),
        ResultColumn("origin", "Origin", Unit.NAME, "trace file it came from"),
    )
    table = trace.processes
    if not len(table):
        return ResultTable("processes", "Processes", columns)
    table.load(*table.column_names)
    numbers = [_known(table, name) for name in ("id", "pid", "rank")]
    texts = [_texts(table, name) for name in ("host", "name", "command", "origin")]
    return ResultTable("processes", "Processes", columns, list(zip(*numbers, *texts, strict=True)))


def _table_counts(trace: Trace) -> ResultTable:
    columns = (
        ResultColumn("table", "Table", Unit.NAME, "table of the trace"),
        ResultColumn("rows", "Rows", Unit.COUNT, "rows it holds"),
        ResultColumn("meaning", "Meaning", Unit.NAME, "what a row is"),
    )
    rows: Rows = [(spec.name, len(trace.table(spec)), spec.meaning) for spec in TABLES]
    return ResultTable("tables", "Tables", columns, [row for row in rows if row[1]])


def _metadata(trace: Trace) -> ResultTable:
    columns = (
        ResultColumn("tag", "Fact", Unit.NAME, "name of the fact"),
        ResultColumn("value", "Value", Unit.NAME, "the fact as text"),
    )
    rows: Rows = sorted(trace.metadata.items())
    return ResultTable("metadata", "Metadata", columns, rows)


def _notes(trace: Trace) -> ResultTable:
    columns = (
        ResultColumn("note", "Skipped or repaired while reading", Unit.NAME, "what was done"),
        ResultColumn("rows", "Rows", Unit.COUNT, "rows it was done to"),
    )
    return ResultTable("notes", "Notes", columns, list(trace.notes))
