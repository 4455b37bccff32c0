"""Small traces for tests, built row by row with the values that matter beside the expectation.

trace = a_trace().with_kernel("gemm", 0, 10).with_kernel("add", 15, 20).build()
"""

from __future__ import annotations

import numpy as np

from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import (
    AGENTS,
    CALLS,
    COUNTERS,
    COVERAGE,
    LINKS,
    MARKERS,
    METADATA,
    OPS,
    PROCESSES,
    SLICES,
    Table,
)
from wavescope.model.op_kinds import KERNEL_TYPE, MARKER_TYPE
from wavescope.model.trace import Trace


class TraceMaker:
    """Collects rows; every method returns the maker so that calls chain."""

    def __init__(self) -> None:
        self.builder = TraceBuilder("test.db", "test")

    def with_op(self, name: str, start_ns: int, end_ns: int, **values: int | str) -> TraceMaker:
        """An op on GPU 0, queue 0 unless said otherwise."""
        row: dict[str, int | str] = {"gpu": 0, "queue": 0, "type": KERNEL_TYPE, "process": 0}
        return self._row(
            OPS, {**row, "name": name, "start_ns": start_ns, "end_ns": end_ns, **values}
        )

    def with_kernel(self, name: str, start_ns: int, end_ns: int, **values: int | str) -> TraceMaker:
        return self.with_op(name, start_ns, end_ns, **values)

    def with_copy(self, start_ns: int, end_ns: int, **values: int | str) -> TraceMaker:
        """A host-to-device copy unless `type` says otherwise."""
        return self.with_op("", start_ns, end_ns, **{"type": "CopyHostToDevice", **values})

    def with_marker(self, name: str, start_ns: int, end_ns: int, **values: int | str) -> TraceMaker:
        row: dict[str, int | str] = {"type": MARKER_TYPE, "process": 0, "thread": 1, "flags": 0}
        return self._row(
            MARKERS, {**row, "name": name, "start_ns": start_ns, "end_ns": end_ns, **values}
        )

    def with_call(
        self, name: str, start_ns: int, end_ns: int, *, args: str = "", **values: int | str
    ) -> TraceMaker:
        row: dict[str, int | str] = {"pid": 1, "thread": 1, "process": 0, "category": "hip"}
        handle = int(self.builder.add_texts([args.encode()])[0])
        return self._row(
            CALLS,
            {**row, "name": name, "start_ns": start_ns, "end_ns": end_ns, "args": handle, **values},
        )

    def with_link(self, call: int, op: int) -> TraceMaker:
        """A link by row id; the first call and the first op have id 1."""
        return self._row(LINKS, {"call": call, "op": op})

    def with_process(self, pid: int, **values: int | str) -> TraceMaker:
        return self._row(PROCESSES, {"pid": pid, **values})

    def with_agent(self, gpu: int, **values: int | str) -> TraceMaker:
        return self._row(AGENTS, {"gpu": gpu, **values})

    def with_coverage(self, seen: int, timed: int, **values: int | str) -> TraceMaker:
        return self._row(COVERAGE, {"seen": seen, "timed": timed, **values})

    def with_slice(self, start_ns: int, end_ns: int, process: int = 0) -> TraceMaker:
        return self._row(SLICES, {"process": process, "start_ns": start_ns, "end_ns": end_ns})

    def with_counter(self, op: int, name: str, value: float) -> TraceMaker:
        self.builder.add_row(COUNTERS, op=op, name=name, value=value)
        return self

    def with_metadata(self, tag: str, value: str) -> TraceMaker:
        return self._row(METADATA, {"tag": tag, "value": value})

    def _row(self, table: Table, values: dict[str, int | str]) -> TraceMaker:
        self.builder.add_row(table, **values)
        return self

    def build(self) -> Trace:
        return Trace(self.builder)


def a_trace() -> TraceMaker:
    """An empty trace to add rows to."""
    return TraceMaker()


def random_ops(
    rows: int, *, gpus: int = 4, queues: int = 4, names: int = 150, seed: int = 1
) -> TraceMaker:
    """Kernels back to back on every queue, in completion order, with some gaps."""
    rng = np.random.default_rng(seed)
    maker = a_trace()
    lane = rng.integers(0, gpus * queues, rows)
    duration = rng.integers(1_000, 50_000, rows)
    start = np.zeros(rows, np.int64)
    for index in range(gpus * queues):
        mask = lane == index
        ends = np.cumsum(duration[mask] + rng.integers(0, 2_000, int(mask.sum())))
        start[mask] = 1_000_000 + ends - duration[mask]
    order = np.argsort(start + duration, kind="stable")
    codes = maker.builder.strings.codes([f"kernel_{i}" for i in range(names)])
    kernel_type = maker.builder.strings.code(KERNEL_TYPE)
    maker.builder.add(
        OPS,
        {
            "gpu": (lane // queues)[order],
            "queue": (lane % queues)[order],
            "start_ns": start[order],
            "end_ns": (start + duration)[order],
            "name": codes[rng.integers(0, names, rows)],
            "type": np.full(rows, kernel_type),
            "process": np.zeros(rows),
        },
    )
    return maker
