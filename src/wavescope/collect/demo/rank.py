"""One rank of the demo: its host thread, its GPU, and the rows both leave in the trace."""

from __future__ import annotations

import json

import numpy as np

from wavescope.collect.demo.kernels import DemoKernel
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import (
    AGENTS,
    CALLS,
    COPIES,
    COVERAGE,
    KERNELS,
    LAUNCHES,
    LINKS,
    MARKERS,
    MONITORS,
    OPS,
    PROCESSES,
    QUEUES,
    THREADS,
    Table,
)
from wavescope.model.op_kinds import KERNEL_TYPE, MARKER_TYPE

_LAUNCH_NS = 3_500
_GRAPH_LAUNCH_NS = 28_000
_LAUNCH_LATENCY_NS = 5_200
_GAP_IN_GRAPH_NS = 2_600
_GAP_NS = 1_600
_COPY_BYTES_PER_NS = 24
_STREAM = 0x7F00_0000_1000
_COPY_QUEUE = 1
_COPY_KINDS = {"CopyHostToDevice": 1, "CopyDeviceToHost": 2}
_MONITOR_STEP_NS = 10_000_000


class _Rows:
    """Rows of one table, collected as Python values and added to the builder at the end."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._rows: list[dict[str, int | str]] = []

    def add(self, **values: int | str) -> int:
        """Append a row; its position from 0."""
        self._rows.append(values)
        return len(self._rows) - 1

    def columns(self, builder: TraceBuilder) -> dict[str, np.ndarray]:
        """The collected rows as columns; absent values are unknown."""
        names = sorted({name for row in self._rows for name in row})
        return {
            name: np.array(
                [
                    builder.strings.code(value) if isinstance(value, str) else value
                    for value in (row.get(name, -1) for row in self._rows)
                ],
                np.int64,
            )
            for name in names
        }

    def __len__(self) -> int:
        return len(self._rows)


class DemoRank:
    """Moves a host clock and a GPU clock forward and writes down what happens."""

    def __init__(self, builder: TraceBuilder, rank: int, first_ns: int) -> None:
        self._builder = builder
        self._rank = rank
        self._first_ns = first_ns
        self._host_ns = first_ns
        self._gpu_ns = first_ns
        self._graph_start_ns = 0
        self._thread = 41_000 + rank
        self._ops, self._calls, self._markers = _Rows(OPS), _Rows(CALLS), _Rows(MARKERS)
        self._launches, self._copies = _Rows(LAUNCHES), _Rows(COPIES)
        self._links: list[tuple[int, int]] = []
        self._open: list[tuple[str, int]] = []
        self._symbols: dict[str, int] = {}
        self._kernels = _Rows(KERNELS)
        self._args: list[bytes] = []
        self._call = -1
        self._graph = -1
        self._node = 0

    def open_range(self, name: str) -> None:
        """Open a marker range on the host thread."""
        self._open.append((name, self._host_ns))

    def close_range(self) -> None:
        """Close the innermost open range."""
        name, start_ns = self._open.pop()
        self._markers.add(
            name=name,
            type=MARKER_TYPE,
            start_ns=start_ns,
            end_ns=self._host_ns,
            process=self._rank,
            thread=self._thread,
            category="roctx",
            flags=0,
        )

    def host_work(self, duration_ns: int) -> None:
        """Let the host compute for a while."""
        self._host_ns += duration_ns

    def launch_kernel(self, kernel: DemoKernel) -> None:
        """The host call of one launch outside graphs."""
        self._graph = -1
        self._call = self._add_call("hipModuleLaunchKernel", _LAUNCH_NS, {"stream": hex(_STREAM)})
        self._launches.add(
            call=self._call, name=kernel.name, **_launch_size(kernel), stream=_STREAM
        )

    def launch_graph(self) -> int:
        """The host call that replays the decode graph; its position among the calls."""
        self._call = self._add_call("hipGraphLaunch", _GRAPH_LAUNCH_NS, {"graphExec": "0x51a0"})
        self._graph_start_ns = self._host_ns + _LAUNCH_LATENCY_NS
        self._node = 0
        return self._call

    def use_graph(self, call: int) -> None:
        """The next kernel is a node of the graph that `call` launched."""
        self._call, self._graph = call, 1
        self._node += 1

    def next_start_ns(self, *, in_graph: bool) -> int:
        """When the next kernel can start: after the one before and after its launch."""
        if in_graph:
            return max(self._gpu_ns + _GAP_IN_GRAPH_NS, self._graph_start_ns)
        return max(self._gpu_ns + _GAP_NS, self._host_ns + _LAUNCH_LATENCY_NS)

    def run_kernel(self, kernel: DemoKernel, start_ns: int, end_ns: int) -> None:
        """One kernel on the compute queue, caused by the last launch."""
        graph = {"graph": self._graph, "graph_node": self._node} if self._graph >= 0 else {}
        self._add_op(
            name=kernel.name,
            type=KERNEL_TYPE,
            queue=0,
            start_ns=start_ns,
            end_ns=end_ns,
            kernel=self._symbol(kernel),
            lds_bytes=kernel.lds_bytes,
            **_launch_size(kernel),
            **graph,
        )
        self._gpu_ns = end_ns

    def copy(self, op_type: str, size_bytes: int) -> None:
        """An asynchronous copy on the copy queue, in stream order with the kernels."""
        self._graph = -1
        self._call = self._add_call("hipMemcpyAsync", 4_800, {"sizeBytes": str(size_bytes)})
        self._copies.add(
            call=self._call,
            stream=_STREAM,
            size_bytes=size_bytes,
            kind=_COPY_KINDS[op_type],
            synchronous=0,
            pinned=1,
        )
        start_ns = max(self._gpu_ns + _GAP_NS, self._host_ns + _LAUNCH_LATENCY_NS)
        end_ns = start_ns + 2_000 + size_bytes // _COPY_BYTES_PER_NS
        self._add_op(
            name="",
            type=op_type,
            queue=_COPY_QUEUE,
            start_ns=start_ns,
            end_ns=end_ns,
            size_bytes=size_bytes,
        )
        self._gpu_ns = end_ns

    def synchronize(self) -> None:
        """The host waits until the GPU has done everything."""
        start_ns = self._host_ns
        duration_ns = max(self._gpu_ns - start_ns, 0) + 6_000
        self._call = self._add_call("hipStreamSynchronize", duration_ns, {"stream": hex(_STREAM)})

    def finish(self) -> None:
        """Add all rows to the builder."""
        builder = self._builder
        first_call = builder.row_count(CALLS) + 1
        first_op = builder.row_count(OPS) + 1
        first_kernel = builder.row_count(KERNELS) + 1
        calls = self._calls.columns(builder)
        calls["args"] = builder.add_texts(self._args)
        ops = self._ops.columns(builder)
        ops["kernel"] = np.where(ops["kernel"] >= 0, ops["kernel"] + first_kernel, -1)
        builder.add(CALLS, calls)
        builder.add(OPS, ops)
        links = np.array(self._links, np.int64)
        builder.add(LINKS, {"call": links[:, 0] + first_call, "op": links[:, 1] + first_op})
        for rows in (self._launches, self._copies):
            columns = rows.columns(builder)
            builder.add(rows.table, {**columns, "call": columns["call"] + first_call})
        for rows in (self._kernels, self._markers):
            builder.add(rows.table, rows.columns(builder))
        self._describe()

    def _describe(self) -> None:
        builder, rank = self._builder, self._rank
        end_ns = max(self._host_ns, self._gpu_ns)
        builder.add_row(
            PROCESSES,
            pid=41_000 + rank,
            parent_pid=40_999,
            rank=rank,
            world_size=2,
            host="demo-host",
            name="serve.py (generated)",
            start_ns=self._first_ns,
            end_ns=end_ns,
        )
        builder.add_row(THREADS, process=rank, thread=self._thread, name="model runner")
        builder.add_row(
            AGENTS,
            gpu=rank,
            process=rank,
            local_index=rank,
            host="demo-host",
            uuid=f"GPU-demo-{rank}",
            chip="gfx942",
            model="AMD Instinct MI300X (generated)",
            cu_count=304,
            clock_mhz=2_100,
            wave_size=64,
            memory_bytes=192 << 30,
        )
        for queue, name in ((0, "compute"), (_COPY_QUEUE, "copies")):
            builder.add_row(QUEUES, gpu=rank, queue=queue, name=name)
        builder.add_row(
            COVERAGE,
            process=rank,
            gpu=rank,
            mode="full",
            seen=len(self._ops) + 24,
            timed=len(self._ops),
            skipped=24,
            lost=0,
            reason="launched before recording began",
        )
        for index, start_ns in enumerate(range(self._first_ns, end_ns, _MONITOR_STEP_NS)):
            builder.add_row(
                MONITORS,
                device_type="gpu",
                device=rank,
                quantity="power",
                start_ns=start_ns,
                end_ns=min(start_ns + _MONITOR_STEP_NS, end_ns),
                value=str(520 + 15 * (index % 5) + 10 * rank),
            )

    def _add_call(self, name: str, duration_ns: int, args: dict[str, str]) -> int:
        start_ns = self._host_ns
        self._host_ns += duration_ns
        self._args.append(json.dumps(args).encode())
        return self._calls.add(
            name=name,
            category="hip_runtime",
            domain="HIP",
            pid=41_000 + self._rank,
            process=self._rank,
            thread=self._thread,
            start_ns=start_ns,
            end_ns=self._host_ns,
            correlation=len(self._calls) + 1,
            stream=_STREAM,
            return_code=0,
        )

    def _add_op(self, **values: int | str) -> None:
        op = self._ops.add(
            gpu=self._rank,
            process=self._rank,
            thread=self._thread,
            stream=_STREAM,
            sequence=len(self._ops) + 1,
            correlation=self._call + 1,
            **values,
        )
        self._links.append((self._call, op))

    def _symbol(self, kernel: DemoKernel) -> int:
        known = self._symbols.get(kernel.name)
        if known is None:
            known = self._symbols[kernel.name] = self._kernels.add(
                name=kernel.name,
                process=self._rank,
                vgprs=kernel.vgprs,
                agprs=kernel.agprs,
                sgprs=96,
                lds_bytes=kernel.lds_bytes,
                scratch_bytes=0,
            )
        return known


def _launch_size(kernel: DemoKernel) -> dict[str, int]:
    """Grid and workgroup, one-dimensional."""
    return {
        "grid_x": kernel.workgroup * kernel.workgroups,
        "grid_y": 1,
        "grid_z": 1,
        "workgroup_x": kernel.workgroup,
        "workgroup_y": 1,
        "workgroup_z": 1,
    }
