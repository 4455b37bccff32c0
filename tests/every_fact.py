"""A small trace in which every column of every table is known, and facts of traces to compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.builders import TraceMaker, a_trace
from wavescope.model.columns import (
    AGENTS,
    CALLS,
    COPIES,
    COUNTERS,
    COVERAGE,
    KERNELS,
    LAUNCHES,
    LINKS,
    MARKER_INSTANT,
    MARKER_UNCLOSED,
    MARKERS,
    METADATA,
    MONITORS,
    OPS,
    PROCESSES,
    QUEUES,
    SLICES,
    TABLES,
    THREADS,
    ColumnType,
    Table,
)
from wavescope.model.source import missing_value
from wavescope.model.trace import Trace

FIRST_NS = 1_700_000_000_000_000_000
Facts = dict[tuple[Any, ...], dict[str, Any]]

_KEYS: Mapping[Table, tuple[str, ...]] = {
    OPS: ("start_ns",),
    MARKERS: ("start_ns",),
    CALLS: ("start_ns",),
    LINKS: ("call", "op"),
    LAUNCHES: ("call",),
    COPIES: ("call",),
    PROCESSES: ("pid",),
    THREADS: ("thread",),
    AGENTS: ("gpu",),
    QUEUES: ("gpu", "queue"),
    KERNELS: ("name",),
    COUNTERS: ("op", "name"),
    MONITORS: ("start_ns",),
    COVERAGE: ("seen",),
    SLICES: ("process", "start_ns"),
    METADATA: ("tag",),
}
_REFERENCES = {
    ("ops", "kernel"): (KERNELS, "name"),
    ("ops", "marker"): (MARKERS, "start_ns"),
    ("links", "call"): (CALLS, "start_ns"),
    ("links", "op"): (OPS, "start_ns"),
    ("launches", "call"): (CALLS, "start_ns"),
    ("copies", "call"): (CALLS, "start_ns"),
    ("counters", "op"): (OPS, "start_ns"),
}
"""Columns that hold the id of a row: formats number rows as they like."""


def every_fact() -> TraceMaker:
    """Two processes with three ops each, recorded in slices, nothing of them unknown."""
    maker = a_trace()
    builder = maker.builder
    for process in (0, 1):
        maker.with_process(
            4100 + process, parent_pid=40, rank=process, world_size=2, host="node", name="serve",
            command="python3 serve.py", start_ns=FIRST_NS, end_ns=FIRST_NS + 10_000, origin="a.db",
        )  # fmt: skip
        maker.with_agent(
            process, process=process, local_index=0, host="node", uuid=f"GPU-{process}",
            chip="gfx942", model="MI300X", cu_count=304, clock_mhz=2100, wave_size=64,
            memory_bytes=1 << 37,
        )  # fmt: skip
        builder.add_row(THREADS, process=process, thread=4200 + process, name=f"worker {process}")
        builder.add_row(QUEUES, gpu=process, queue=process + 1, name=f"compute {process}")
        builder.add_row(
            KERNELS, process=process, name=f"gemm<float, {process}>(float*)", mangled=f"_Zg{process}",
            vgprs=64, agprs=32, sgprs=48, lds_bytes=1024, scratch_bytes=16, kernarg_bytes=56,
            code_object=f"file://lib{process}.so",
        )  # fmt: skip
        maker.with_coverage(
            40 + process, 36, process=process, gpu=process, queue=process + 1, mode="lite",
            skipped=3, lost=1 + process, reason="outside the slices",
        )  # fmt: skip
        for number in (0, 1):
            begin = FIRST_NS + 4_000 * number + 2 * process
            maker.with_slice(begin, begin + 2_000, process)
        _add_rows(maker, process)
    builder.add_row(
        MONITORS, device_type="gpu", device=1, quantity="power", start_ns=FIRST_NS,
        end_ns=FIRST_NS + 500, value="512.5",
    )  # fmt: skip
    return maker.with_metadata("command", "python3 serve.py")


def _add_rows(maker: TraceMaker, process: int) -> None:
    first = FIRST_NS + 100 * process
    place = {"process": process, "thread": 4200 + process}
    maker.with_marker(
        "decode <b>", first, first + 5_000, **place, category="nvtx", domain="engine",
        subcategory="loop", flags=MARKER_UNCLOSED,
    )  # fmt: skip
    maker.builder.add_row(
        MARKERS, name="token", start_ns=first + 50, end_ns=first + 50, type="UserMarker", **place,
        category="cpu_op", domain="engine", subcategory="7", flags=MARKER_INSTANT, payload=2.5,
    )  # fmt: skip
    types = ("KernelExecution", "CopyDeviceToHost", "FillMemory")
    for number, type_name in enumerate(types):
        start = first + 1_000 * (number + 1)
        call = maker.builder.row_count(CALLS) + 1
        maker.with_call(
            ("hipLaunchKernel", "hipMemcpyAsync", "hipMemsetAsync")[number], start - 90, start - 50,
            args='{"n":1}', pid=4100 + process, **place, category="hip_api", domain="HIP",
            correlation=call, stream=5, return_code=3,
        )  # fmt: skip
        launched = {
            "lds_bytes": 4096, "scratch_bytes": 32, "kernel": process + 1,
            **{f"{size}_{axis}": 8 for size in ("grid", "workgroup") for axis in "xyz"},
        }  # fmt: skip
        copied = {"size_bytes": 4096, "source_device": process, "target_device": process}
        maker.with_op(
            f"gemm<float, {process}>(float*)" if number == 0 else "", start, start + 700,
            gpu=process, queue=process + 1, sequence=call, type=type_name, **place, stream=5,
            hardware_queue=77, correlation=call, graph=3, graph_node=4, marker=2 * process + 1,
            **(launched if number == 0 else copied),
        )  # fmt: skip
        maker.with_link(call, call)
    call = 3 * process + 1
    maker.builder.add_row(
        LAUNCHES, call=call, stream=5, lds_bytes=4096, scratch_bytes=32, name="gemm",
        **{f"{size}_{axis}": 8 for size in ("grid", "workgroup") for axis in "xyz"},
    )  # fmt: skip
    maker.builder.add_row(
        COPIES, call=call + 1, stream=5, size_bytes=4096, width=64, height=64, kind=2, target=0x10,
        source=0x20, target_device=0, source_device=process, synchronous=1, pinned=1,
    )  # fmt: skip
    maker.with_counter(call, "SQ_WAVES", 128.0)


def facts(trace: Trace, table: Table) -> Facts:
    """The rows of a table by what tells them apart; references as what they refer to."""
    held = trace.table(table)
    held.load(*table.column_names)  # at once: one by one takes several times as long
    columns = {name: _values(trace, table, name) for name in table.column_names if name != "id"}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    found = {tuple(row[name] for name in _KEYS[table]): row for row in rows}
    assert len(found) == len(held)
    return found


def _values(trace: Trace, table: Table, name: str) -> list[Any]:
    held = trace.table(table)
    if (table.name, name) in _REFERENCES:
        target, told_by = _REFERENCES[table.name, name]
        ids = trace.table(target)["id"].tolist()
        meanings = dict(zip(ids, _values(trace, target, told_by), strict=True))
        return [meanings.get(each) for each in held[name].tolist()]
    kind = table.column(name).type
    if kind in (ColumnType.STRING, ColumnType.TEXT):
        return list(held.strings(name))
    if kind is ColumnType.REAL:
        return [None if np.isnan(value) else value for value in held[name].tolist()]
    return list(held[name].tolist())


def unknown(table: Table, name: str) -> Any:
    """What `facts` has where nothing is known."""
    column = table.column(name)
    if (table.name, name) in _REFERENCES or column.type is ColumnType.REAL:
        return None
    return "" if column.type in (ColumnType.STRING, ColumnType.TEXT) else missing_value(column)


def filled_columns() -> set[tuple[str, str]]:
    """Columns in which the trace has known values; all of them, or a test says so."""
    trace = every_fact().build()
    return {
        (table.name, name)
        for table in TABLES
        for row in facts(trace, table).values()
        for name, value in row.items()
        if value != unknown(table, name)
    }
