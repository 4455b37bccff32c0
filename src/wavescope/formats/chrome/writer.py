"""Writes Chrome trace event JSON (.json, .json.gz), which most timeline viewers read.

GPUs and host processes are both processes there, queues and threads both threads. Times are
relative to the first event, so that readers that keep them as floating point numbers lose nothing;
`baseTimeNanoseconds` is what to add. They are microseconds with exactly three decimals, made from
integer nanoseconds. What only our own reader understands is in `own_export`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import orjson

from wavescope.formats.carried_tables import carried_pieces, fact_columns, joined_pieces
from wavescope.formats.chrome.event_batch import OWN_MEMBER, OWN_NOTES_MEMBER
from wavescope.formats.chrome.own_export import shown_category, stated_kind
from wavescope.formats.registry import ExportOptions
from wavescope.formats.timeline import (
    EventBody,
    Pieces,
    Samples,
    SliceColumns,
    Span,
    Track,
    TrackKind,
    write_timeline,
)
from wavescope.model.op_kinds import OpKind, kind_of_type
from wavescope.model.progress import Notes, Progress
from wavescope.model.source import TraceSource, read_metadata
from wavescope.names.kernel_names import short_name
from wavescope.native import columns_library
from wavescope.outputs import opened_output
from wavescope.version import __version__

_OP_CATEGORIES = {OpKind.KERNEL: "kernel", OpKind.COPY: "gpu_memcpy", OpKind.FILL: "gpu_memset"}
"""As PyTorch's profiler calls them, so that its readers know kernels and copies."""
_ARGUMENT_NAMES = {"gpu": "device", "size_bytes": "bytes"}


def json_text(value: str) -> bytes:
    """A JSON string that is also safe inside an HTML script; unpaired surrogates become '?'."""
    valid = value.encode("utf-8", "replace").decode()
    return html_safe(orjson.dumps(valid))


def html_safe(text: bytes) -> bytes:
    """JSON that may stand inside an HTML script."""
    return text.replace(b"<", b"\\u003c")


def event_body(event: EventBody) -> bytes:
    """The repeating part of an event, with its arguments object left open."""
    category = event.category
    if event.group == "op":
        category = _OP_CATEGORIES.get(kind_of_type(event.category), event.category)
    category = shown_category(event, category)
    kind = stated_kind(event, category)
    stated = (*event.arguments, ("kind", kind)) if kind else event.arguments
    phase = b'"ph":"i","s":"t"' if event.instant else b'"ph":"X"'
    arguments = b",".join(
        argument_label(name) + (b"%d" % value if isinstance(value, int) else json_text(value))
        for name, value in stated
    )
    return b'%s,"name":%s,"cat":%s,"args":{%s' % (
        phase,
        json_text(event.name),
        json_text(category),
        arguments,
    )


def counter_body(name: str, unit: str, value: int | float) -> bytes:
    """A sample of the counter `name`, with its arguments object left open."""
    number = b"%d" % value if isinstance(value, int) else orjson.dumps(value)
    return b'"ph":"C","name":%s,"args":{"%s":%s' % (json_text(name), unit.encode(), number)


def argument_label(name: str) -> bytes:
    """The key of an argument."""
    return json_text(_ARGUMENT_NAMES.get(name, name)) + b":"


def metadata_event(name: str, pid: int, tid: int, args: dict[str, Any]) -> bytes:
    """A metadata event, such as the name of a thread."""
    members = b",".join(
        b'"%s":%s'
        % (key.encode(), json_text(value) if isinstance(value, str) else orjson.dumps(value))
        for key, value in args.items()
    )
    return b'{"ph":"M","pid":%d,"tid":%d,"name":"%s","args":{%s}}' % (
        pid,
        tid,
        name.encode(),
        members,
    )


def encoded_slices(columns: SliceColumns) -> Iterator[memoryview]:
    """The events of a batch, each after a comma; tracks are tids, processes pids."""
    return columns.encoded(columns_library().wavescope_chrome_slices)


class ChromeWriter:
    """A `TimelineWriter` that makes one line per event."""

    unique_flows = True
    op_place = ("gpu", "queue")

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._base_ns = 0
        self._pids: list[int] = []
        self._tids: list[int] = []
        self._separator = b"\n"

    def begin(self, source: TraceSource, span: Span) -> None:
        """Write the head of the document."""
        self._base_ns = span.first_ns
        facts = b",\n".join(
            argument_label(tag) + json_text(value) for tag, value in read_metadata(source).items()
        )
        self._out.write(
            b'{"displayTimeUnit":"ns","baseTimeNanoseconds":%d,"generator":%s,\n"otherData":{%s},\n'
            % (span.first_ns, orjson.dumps(f"wavescope {__version__}"), facts)
        )
        self._out.write(b'"%s":{"tables":[' % OWN_MEMBER.encode())
        for number, piece in enumerate(joined_pieces(carried_pieces(source))):
            self._out.write(b",\n" if number else b"\n")
            self._out.write(html_safe(orjson.dumps(piece)))
        self._out.write(b']},\n"traceEvents":[')

    def track(self, track: Track) -> None:
        """Name a process or thread and state its place; counters need no declaration."""
        assert track.index == len(self._pids)
        self._pids.append(track.pid)
        self._tids.append(track.tid or track.pid)
        if track.kind in (TrackKind.GPU, TrackKind.PROCESS):
            self._metadata("process_name", track, name=track.name)
            self._metadata("process_sort_index", track, sort_index=track.rank)
        elif track.kind in (TrackKind.QUEUE, TrackKind.THREAD):
            self._metadata(
                "thread_name", track, name=track.shown_name, **{OWN_MEMBER: track.details}
            )
            self._metadata("thread_sort_index", track, sort_index=track.rank)

    def body(self, event: EventBody) -> bytes:
        """The repeating text of an event."""
        return event_body(event)

    def label(self, name: str) -> bytes:
        """The key of an argument."""
        return argument_label(name)

    def forget(self) -> None:
        """Nothing is kept."""

    def slices(self, columns: SliceColumns) -> None:
        """Write complete events and their flows."""
        placed = replace(
            columns,
            process=np.array(self._pids, np.int64)[columns.track],
            track=np.array(self._tids, np.int64)[columns.track],
            base_ns=self._base_ns,
        )
        for piece in encoded_slices(placed):
            self._out.write(piece)

    def counter(self, track: Track, samples: Samples) -> None:
        """Write counter events; equal values share a body."""
        values, body = np.unique(samples.values, return_inverse=True)
        rows = len(samples.times_ns)
        unit = "%" if track.kind is TrackKind.GPU_BUSY else "ops"
        bodies = [counter_body(track.name, unit, value) for value in values.tolist()]
        self.slices(
            SliceColumns(
                start_ns=samples.times_ns,
                end_ns=samples.times_ns,
                track=np.full(rows, track.index, np.int64),
                body=body.astype(np.int32),
                bodies=Pieces.of(bodies),
                instant=np.ones(rows, np.uint8),
            )
        )

    def end(self, notes: Notes) -> None:
        """Write the notes and close the document."""
        facts = fact_columns(notes.facts())
        self._out.write(
            b'\n],\n"%s":%s}\n' % (OWN_NOTES_MEMBER.encode(), html_safe(orjson.dumps(facts)))
        )

    def _metadata(self, event_name: str, track: Track, **args: Any) -> None:
        event = metadata_event(event_name, track.pid, self._tids[track.index], args)
        self._out.write(self._separator + event)
        self._separator = b",\n"


def write_chrome_json(
    source: TraceSource, path: Path, options: ExportOptions, progress: Progress
) -> None:
    """Write `source` as Chrome JSON to `path`."""
    with opened_output(path, gzip=options.gzip) as out:
        shown_name = short_name if options.short_names else str
        write_timeline(source, ChromeWriter(out), shown_name, progress)
