"""Session folders for tests, written byte by byte as native/format/chunk_format.h says.

process = a_process(tmp_path, pid=7).with_agent(0).with_op(start=10, end=20, kernel=0x100)
process.write()
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

OP = struct.Struct("<BBHIQQQQ3I3HHI")
CALL = struct.Struct("<BBHIQQQQiI6Q")
MARKER = struct.Struct("<BBHIQQIIQQ")
COUNTER = struct.Struct("<BBHIQQQ6Q6Q")
HEADER = struct.Struct("<8sIIIIQ")
TEXT = struct.Struct("<QQ")
PAGE = 4096
HOST = 0xFFFFFFFF
RAW_TICKS, TIMES_LOST = 1, 4


class ProcessMaker:
    """Collects the records of one process; every method returns the maker."""

    def __init__(self, folder: Path, pid: int, start_ns: int) -> None:
        self.folder = folder
        self.pid = pid
        self.start_ns = start_ns
        self.base = f"{pid}-{start_ns}"
        self.records: dict[str, list[bytes]] = {}
        self.facts: list[dict[str, Any] | bytes] = []
        self.texts: list[bytes] = []
        self.record_bytes = dict(RECORD_BYTES)

    def with_records(self, stream: str, record_bytes: int) -> ProcessMaker:
        """Records of `stream` take so many bytes: 80 for the ops of CUDA programs."""
        self.record_bytes[stream] = record_bytes
        return self

    def with_fact(self, fact: str, **members: Any) -> ProcessMaker:
        self.facts.append({"fact": fact, **members})
        return self

    def with_agent(self, gpu: int, **members: Any) -> ProcessMaker:
        return self.with_fact("agent", gpu=gpu, **{"name": "gfx90a", **members})

    def with_op(
        self,
        *,
        start: int,
        end: int,
        kind: int = 1,
        flags: int = 0,
        gpu: int = 0,
        thread: int = 5,
        correlation: int = 0,
        kernel: int = 0,
        grid: tuple[int, int, int] = (64, 1, 1),
        workgroup: tuple[int, int, int] = (64, 1, 1),
        queue: int = 0,
        marker: int = 0,
        graph_node: int = 0,
        graph: int = 0,
    ) -> ProcessMaker:
        """`graph` and its node are only in records that have room for them."""
        values = (kind, flags, gpu, thread, start, end, correlation, kernel)
        op = OP.pack(*values, *grid, *workgroup, queue, marker)
        return self._record("ops", op + struct.pack("<QQ", graph_node, graph))

    def with_copy(
        self, start: int, end: int, size: int, source: int, target: int, **values: Any
    ) -> ProcessMaker:
        engine = values.pop("engine", 0)
        return self.with_op(
            start=start,
            end=end,
            kind=2,
            kernel=size,
            grid=(source, target, engine),
            **{"queue": 0xFFFF, **values},
        )

    def with_call(
        self,
        function: int,
        start: int,
        end: int,
        *,
        kind: int = 1,
        flags: int = 0,
        thread: int = 5,
        correlation: int = 0,
        stream: int = 0,
        result: int = 0,
        marker: int = 0,
        arguments: tuple[int, ...] = (),
    ) -> ProcessMaker:
        six = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
        values = (kind, flags, function, thread, start, end, correlation, stream, result, marker)
        return self._record("calls", CALL.pack(*values, *six))

    def with_marker(
        self,
        name: str,
        start: int,
        end: int,
        *,
        id: int,  # noqa: A002
        kind: int = 1,
        flags: int = 0,
        depth: int = 0,
        thread: int = 5,
        parent: int = 0,
        domain: str = "",
        payload: bytes = b"",
        payload_kind: int = 0,
        category: int = 0,
    ) -> ProcessMaker:
        """What of NVTX follows `parent` is only in records that have room for it."""
        text = self.text_id(name)
        values = (kind, flags, depth, thread, start, end, id, parent, text, 0)
        of_nvtx = (self.text_id(domain) if domain else 0, payload_kind, category)
        appended = struct.pack("<IBxH8s", *of_nvtx, payload.ljust(8, b"\xff"))
        return self._record("markers", MARKER.pack(*values) + appended)

    def with_counter(
        self,
        *,
        seen: int,
        timed: int,
        gpu: int = 0,
        queue: int = 0,
        skipped: tuple[int, ...] = (),
        lost: tuple[int, ...] = (),
        kind: int = 1,
    ) -> ProcessMaker:
        six = (0,) * 6
        values = (kind, 0, gpu, queue, seen, seen, timed)
        return self._record(
            "counters", COUNTER.pack(*values, *(*skipped, *six)[:6], *(*lost, *six)[:6])
        )

    def with_empty(self, stream: str, count: int = 1) -> ProcessMaker:
        """Records that were never completed."""
        for _ in range(count):
            self._record(stream, b"")
        return self

    def with_slice(self, start_ns: object, end_ns: object) -> ProcessMaker:
        return self.with_fact("slice", start_ns=start_ns, end_ns=end_ns)

    def text_id(self, text: str) -> int:
        encoded = text.encode()
        if encoded not in self.texts:
            self.texts.append(encoded)
        return self.texts.index(encoded) + 1

    def _record(self, stream: str, record: bytes) -> ProcessMaker:
        size = self.record_bytes[stream]
        self.records.setdefault(stream, []).append(record[:size].ljust(size, b"\0"))
        return self

    def path(self, suffix: str) -> Path:
        return self.folder / f"{self.base}.{suffix}"

    def stream_bytes(self, stream: str) -> bytes:
        number = STREAM_NUMBERS[stream]
        size = self.record_bytes[stream]
        header = HEADER.pack(b"WAVESCP1", 1, number, size, self.pid, self.start_ns)
        return header.ljust(PAGE, b"\0") + b"".join(self.records[stream])

    def write(self, *, ended: bool = True) -> Path:
        """Write all files; the session folder."""
        self.folder.mkdir(exist_ok=True)
        for stream in self.records:
            self.path(stream).write_bytes(self.stream_bytes(stream))
        lines = [{"fact": "process", "pid": self.pid, "hostname": "node1", "mode": "standard"}]
        facts = [*lines, *self.facts]
        if ended:
            facts.append({"fact": "end", "ns": self.start_ns + 1_000_000, "reason": "exit"})
        self.path("facts").write_bytes(
            b"".join(
                fact if isinstance(fact, bytes) else json.dumps(fact).encode() + b"\n"
                for fact in facts
            )
        )
        self.path("text").write_bytes(
            b"".join(
                TEXT.pack(index, len(text)) + text + bytes(-len(text) % 8)
                for index, text in enumerate(self.texts, 1)
            )
        )
        return self.folder


STREAM_NUMBERS = {"ops": 1, "calls": 2, "markers": 3, "counters": 4}
RECORD_BYTES = {
    "ops": OP.size,
    "calls": CALL.size,
    "markers": MARKER.size,
    "counters": COUNTER.size,
}


def a_process(folder: Path, pid: int = 7, start_ns: int = 1000) -> ProcessMaker:
    """A process without records."""
    return ProcessMaker(folder, pid, start_ns)


def a_cuda_process(folder: Path, op_bytes: int = 80, **values: int) -> ProcessMaker:
    """A process on one GPU of NVIDIA with two streams and one kernel."""
    return (
        a_process(folder, **values)
        .with_records("ops", op_bytes)
        .with_agent(0, name="sm_90", product="NVIDIA H200", uuid="GPU-1", cu_count=132)
        .with_fact("queue", queue=0, gpu=0, stream=7, context=1, name="stream 7")
        .with_fact("queue", queue=1, gpu=0, stream=13, context=1, name="stream 13")
        .with_fact(
            "kernel", object=1, name="_Z4gemmPfi", vgprs=128, lds_bytes=49152, scratch_bytes=16
        )
    )


def with_cuda_calls(process: ProcessMaker) -> ProcessMaker:
    """Launches of three epochs, each of which counts anew, and an op of a fourth."""
    launch: dict[str, Any] = {"kind": "launch", "arguments": []}
    return (
        process.with_fact(
            "function",
            function=0,
            name="cudaLaunchKernel",
            domain="CUDA",
            category="cuda_runtime",
            **launch,
        )
        .with_fact(
            "function",
            function=2,
            name="cuLaunchKernel",
            domain="CUDA",
            category="cuda_driver",
            **launch,
        )
        .with_fact("function", function=3, name="hipLaunchKernel", **launch)
        .with_call(0, 10, 20, correlation=5, stream=0x50)
        .with_call(2, 30, 40, correlation=1 << 32 | 5, stream=0x60)
        .with_call(3, 50, 60, correlation=2 << 32 | 1, stream=0x70)
        .with_call(1, 70, 80)
        .with_op(start=100, end=110, kernel=1, correlation=5)
        .with_op(start=200, end=210, kernel=1, correlation=1 << 32 | 5)
        .with_op(start=300, end=310, kernel=1, correlation=2 << 32 | 1)
        .with_op(start=400, end=410, kernel=1, correlation=3 << 32 | 5)
    )
