"""Writes Chrome trace event JSON (.json, .json.gz), which most timeline viewers read.

GPUs and host processes are both processes there, queues and threads both threads. Times are
relative to the first event, so that readers that keep them as floating point numbers lose nothing;
`baseTimeNanoseconds` is what to add.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import orjson

from wavescope.formats.chrome.encoder import (
    argument_label,
    counter_body,
    encoded_slices,
    event_body,
    json_text,
    metadata_event,
)
from wavescope.formats.files import opened_output
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
from wavescope.model.progress import Progress
from wavescope.model.source import TraceSource, read_metadata
from wavescope.names.kernel_names import short_name
from wavescope.version import __version__


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
            b'"traceEvents":[' % (span.first_ns, orjson.dumps(f"wavescope {__version__}"), facts)
        )

    def track(self, track: Track) -> None:
        """Name a process or thread and state its place; counters need no declaration."""
        assert track.index == len(self._pids)
        self._pids.append(track.pid)
        self._tids.append(track.tid or track.pid)
        if track.kind in (TrackKind.GPU, TrackKind.PROCESS):
            self._metadata("process_name", track, "name", track.name)
            self._metadata("process_sort_index", track, "sort_index", track.rank)
        elif track.kind in (TrackKind.QUEUE, TrackKind.THREAD):
            self._metadata("thread_name", track, "name", track.shown_name)
            self._metadata("thread_sort_index", track, "sort_index", track.rank)

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

    def end(self) -> None:
        """Close the document."""
        self._out.write(b"\n]}\n")

    def _metadata(self, name: str, track: Track, key: str, value: int | str) -> None:
        event = metadata_event(name, track.pid, self._tids[track.index], key, value)
        self._out.write(self._separator + event)
        self._separator = b",\n"


def write_chrome_json(
    source: TraceSource, path: Path, options: ExportOptions, progress: Progress
) -> None:
    """Write `source` as Chrome JSON to `path`."""
    with opened_output(path, gzip=options.gzip) as out:
        shown_name = short_name if options.short_names else str
        write_timeline(source, ChromeWriter(out), shown_name, progress)
