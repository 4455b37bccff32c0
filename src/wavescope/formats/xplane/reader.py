"""Reads xplane.pb, which the profilers of JAX and TensorFlow write.

`/device:GPU:N` are GPUs, their lines streams; lines that repeat the same work by module, operator
or step are left out. `/host:CPU`, `/host:CUPTI`, `/host:ROCTRACER` and `/host:python-tracer` are
threads. A host event with a step number is a marker. A call and the work it caused share a
correlation id.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson

from wavescope.arrays import Array
from wavescope.errors import UnreadableInputError
from wavescope.files import ByteStream
from wavescope.formats.protobuf_wire import DamagedMessageError
from wavescope.formats.xla_streams import (
    CORRELATION,
    GPU_NAME,
    OP_NUMBERS,
    REPEATED_LINES,
    STEP,
    STREAM_NAME,
    StatValue,
    launch_numbers,
    op_type,
)
from wavescope.formats.xplane.space import (
    EventMetadata,
    Line,
    Plane,
    event_of,
    line_of,
    plane_of,
    space_of,
)
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import (
    AGENTS,
    CALLS,
    LINKS,
    MARKERS,
    METADATA,
    OPS,
    PROCESSES,
    THREADS,
    UNKNOWN,
)
from wavescope.model.op_kinds import MARKER_TYPE
from wavescope.model.source import TraceSource
from wavescope.names.demangle import demangle

FORMAT = "xplane"
_BLOCK_BYTES = 16 << 20
_MOST_BYTES = 2 << 30
"""One message of protobuf is no longer than that."""
_HOST_PLANES = {
    "/host:CPU": "host",
    "/host:CUPTI": "cuda_driver",
    "/host:ROCTRACER": "hip_runtime",
    "/host:python-tracer": "python_function",
}
"""Planes of threads, and the category of their calls."""
_PS_PER_NS = 1000
_LATEST_NS = 1 << 62


def open_xplane(path: Path) -> TraceSource:
    """The trace in an xplane.pb."""
    content, was_cut = _content(path)
    space = space_of(content)
    if not space.planes:
        raise UnreadableInputError(
            path, "it holds no whole plane", hint="was it copied completely?"
        )
    reader = _Reader(path)
    notes = reader.builder.notes
    notes.add("the file ends within a plane: read up to there", int(space.is_cut or was_cut))
    for message in space.planes:
        reader.add(message)
    host = space.hostnames[0] if space.hostnames else ""
    return reader.finished(host)


def _content(path: Path) -> tuple[bytes, bool]:
    """The whole file, since it is one message, and whether its gzip data ended early."""
    blocks: list[bytes] = []
    size_bytes = 0
    with ByteStream(path) as stream:
        while block := stream.read(_BLOCK_BYTES):
            blocks.append(block)
            size_bytes += len(block)
            if size_bytes > _MOST_BYTES:
                raise UnreadableInputError(path, "it is longer than 2 GiB, which no xplane.pb is")
        return b"".join(blocks), stream.was_cut


class _TimedEvent(NamedTuple):
    """An event in the trace's time."""

    name: str
    stats: dict[str, StatValue]
    start_ns: int
    end_ns: int


_UNNAMED = EventMetadata()


class _Reader:
    """Collects planes into a trace of one process."""

    def __init__(self, path: Path) -> None:
        self.builder = TraceBuilder(str(path), FORMAT)
        self._strings = self.builder.strings
        self._threads: set[int] = set()
        self._calls: list[tuple[Array, Array]] = []
        self._ops: list[tuple[Array, Array]] = []

    def add(self, message: memoryview) -> None:
        """Take a plane; one that stands for neither a GPU nor threads is noted."""
        try:
            plane = plane_of(message)
        except DamagedMessageError:
            self.builder.notes.add("damaged planes were skipped")
            return
        gpu = GPU_NAME.fullmatch(plane.name)
        if gpu is not None:
            self._add_gpu(int(gpu[1]), plane)
        elif plane.name in _HOST_PLANES:
            self._add_host(_HOST_PLANES[plane.name], plane)
        elif plane.lines:
            self.builder.notes.add("planes of other devices or kinds, which are not read")

    def finished(self, host: str) -> TraceBuilder:
        """The trace, after its process and its links were written."""
        self.builder.add_row(PROCESSES, pid=UNKNOWN, host=host)
        self.builder.add_row(METADATA, tag="source_format", value=FORMAT)
        if self._calls and self._ops:
            self._link()
        return self.builder

    def _add_gpu(self, gpu: int, plane: Plane) -> None:
        facts = plane.values(plane.stats)
        clock_khz = facts.get("clock_rate")
        self.builder.add_row(
            AGENTS,
            gpu=gpu,
            local_index=gpu,
            model=str(facts.get("gpu_device_name", "")),
            cu_count=_whole(facts.get("core_count")),
            clock_mhz=_whole(clock_khz) // 1000 if _whole(clock_khz) > 0 else UNKNOWN,
            memory_bytes=_whole(facts.get("memory_size")),
        )
        for line in filter(None, map(self._line, plane.lines)):
            if line.name not in REPEATED_LINES:
                self._add_stream(gpu, plane, line)

    def _add_stream(self, gpu: int, plane: Plane, line: Line) -> None:
        found = STREAM_NAME.match(line.name)
        stream = int(found[1]) if found else line.number
        events = list(self._timed(plane, line))
        if not events:
            return
        launches = np.array([launch_numbers(event.stats) for event in events], np.int64)
        columns: dict[str, Array] = dict(zip(OP_NUMBERS, launches.T, strict=True))
        columns["type"] = self._strings.codes([op_type(e.name, e.stats) for e in events])
        columns["name"] = self._strings.codes([demangle(event.name) for event in events])
        columns["start_ns"] = np.array([event.start_ns for event in events], np.int64)
        columns["end_ns"] = np.array([event.end_ns for event in events], np.int64)
        for name, value in (("gpu", gpu), ("queue", stream), ("stream", stream), ("process", 0)):
            columns[name] = np.full(len(events), value, np.int64)
        ids = self.builder.add(OPS, columns)
        self._ops.append((columns["correlation"], np.arange(ids.start, ids.stop)))

    def _add_host(self, category: str, plane: Plane) -> None:
        for line in filter(None, map(self._line, plane.lines)):
            events = list(self._timed(plane, line))
            if line.name and line.number not in self._threads:
                self._threads.add(line.number)
                self.builder.add_row(THREADS, process=0, thread=line.number, name=line.name)
            self._add_calls(category, line, [each for each in events if STEP not in each.stats])
            self._add_steps(line, [each for each in events if STEP in each.stats])

    def _add_calls(self, category: str, line: Line, events: list[_TimedEvent]) -> None:
        if not events:
            return
        correlations = [_whole(event.stats.get(CORRELATION)) for event in events]
        columns = self._host_columns(line, events, category)
        columns["name"] = self._strings.codes([event.name for event in events])
        columns["correlation"] = np.array(correlations, np.int64)
        columns["pid"] = np.full(len(events), UNKNOWN, np.int64)
        columns["args"] = self.builder.add_texts([_arguments(event.stats) for event in events])
        ids = self.builder.add(CALLS, columns)
        self._calls.append((columns["correlation"], np.arange(ids.start, ids.stop)))

    def _add_steps(self, line: Line, events: list[_TimedEvent]) -> None:
        if not events:
            return
        names = [f"{event.name} {event.stats[STEP]}" for event in events]
        columns = self._host_columns(line, events, "step")
        columns["name"] = self._strings.codes(names)
        columns["type"] = np.full(len(events), self._strings.code(MARKER_TYPE))
        columns["flags"] = np.zeros(len(events), np.int64)
        self.builder.add(MARKERS, columns)

    def _host_columns(
        self, line: Line, events: list[_TimedEvent], category: str
    ) -> dict[str, Array]:
        return {
            "start_ns": np.array([event.start_ns for event in events], np.int64),
            "end_ns": np.array([event.end_ns for event in events], np.int64),
            "thread": np.full(len(events), line.number, np.int64),
            "process": np.zeros(len(events), np.int64),
            "category": np.full(len(events), self._strings.code(category)),
        }

    def _line(self, message: memoryview) -> Line | None:
        try:
            return line_of(message)
        except DamagedMessageError:
            self.builder.notes.add("damaged lines were skipped")
            return None

    def _timed(self, plane: Plane, line: Line) -> Iterator[_TimedEvent]:
        """Events that have a time that makes sense."""
        for message in line.events:
            event = self._event(plane, line, message)
            if event is not None:
                yield event

    def _event(self, plane: Plane, line: Line, message: memoryview) -> _TimedEvent | None:
        notes = self.builder.notes
        try:
            event = event_of(message)
            metadata = plane.events.get(event.metadata, _UNNAMED)
            stats = plane.values((*metadata.stats, *event.stats))
        except DamagedMessageError:
            notes.add("damaged events were skipped")
            return None
        if not event.is_timed:
            notes.add("events without a time, only counted, were left out")
            return None
        start_ns = line.time_ns + event.offset_ps // _PS_PER_NS
        end_ns = line.time_ns + (event.offset_ps + event.duration_ps) // _PS_PER_NS
        if not 0 <= start_ns < _LATEST_NS or end_ns >= _LATEST_NS:
            notes.add("events whose times make no sense were left out")
            return None
        if end_ns < start_ns:
            notes.add("events that end before they start, given a length of zero")
        return _TimedEvent(metadata.name, stats, start_ns, max(start_ns, end_ns))

    def _link(self) -> None:
        """A link from the first call with a correlation id to every op with the same."""
        keys, calls = (np.concatenate(parts) for parts in zip(*self._calls, strict=True))
        wanted, ops = (np.concatenate(parts) for parts in zip(*self._ops, strict=True))
        keys, first = np.unique(keys, return_index=True)
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = (keys[place] == wanted) & (wanted > 0)
        if found.any():
            self.builder.add(LINKS, {"call": calls[first][place[found]], "op": ops[found]})


def _arguments(stats: dict[str, StatValue]) -> bytes:
    """Statistics as a JSON object, without those that only the profiler itself needs."""
    shown = {
        name: value
        for name, value in stats.items()
        if not name.startswith("_") and name != CORRELATION
    }
    return orjson.dumps(shown) if shown else b""


def _whole(value: StatValue | None) -> int:
    return value if isinstance(value, int) else UNKNOWN
