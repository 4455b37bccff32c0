"""Writes Perfetto protobuf traces (.pftrace), which ui.perfetto.dev opens.

Every GPU is a top-level track with its queues, their depth and the GPU's busy time below it; every
process has its threads with calls and markers nested; arrows lead from calls to the ops they
launched. Times are the trace's own nanoseconds. Only when one of them is negative, which Perfetto
cannot hold, all are moved so that the first is zero, and the file says by how much.

What Perfetto has no messages for is JSON, for our own reader: texts for the trace, with its small
tables and at the end its notes, and one for each track.

All packets belong to one sequence. Strings are interned: the first use of a name, category,
argument name or argument text defines a number for it, which later packets use instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import orjson

from wavescope.formats.carried_tables import carried_pieces, fact_columns
from wavescope.formats.perfetto.protobuf import (
    TRACE_PACKET,
    WAVESCOPE_DETAILS,
    Annotation,
    ChromeEvents,
    Counter,
    Event,
    EventType,
    Interned,
    Merge,
    Ordering,
    Packet,
    Process,
    SequenceFlag,
    Thread,
)
from wavescope.formats.perfetto.protobuf import Track as TrackField
from wavescope.formats.protobuf_wire import (
    double,
    integer,
    message,
    text,
)
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
from wavescope.model.columns import METADATA
from wavescope.model.progress import Notes, Progress
from wavescope.model.source import TraceSource, read_metadata
from wavescope.names.kernel_names import short_name
from wavescope.native import columns_library
from wavescope.outputs import opened_output
from wavescope.version import __version__

_SEQUENCE = integer(Packet.TRUSTED_PACKET_SEQUENCE_ID, 1)


def packet(*fields: bytes) -> bytes:
    """One TracePacket of the sequence."""
    return message(TRACE_PACKET, *fields, _SEQUENCE)


class InternTable:
    """Numbers for strings; new ones wait in `pending` until a packet defines them."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str], int] = {}
        self._cleared = True
        self._pending: list[bytes] = []

    def number(self, field: int, string: str) -> int:
        """The number that stands for `string` in the given field of InternedData."""
        key = (field, string)
        if key not in self._numbers:
            number = self._numbers[key] = len(self._numbers) + 1
            entry = (integer(Interned.IID, number), text(Interned.TEXT, string))
            self._pending.append(message(field, *entry))
        return self._numbers[key]

    def forget(self) -> None:
        """Start over: the next packet tells readers that all earlier numbers are void."""
        self._numbers.clear()
        self._pending.clear()
        self._cleared = True

    def definitions(self) -> bytes:
        """A packet that defines what is new since the last one; nothing when nothing is."""
        if not self._pending and not self._cleared:
            return b""
        flags = SequenceFlag.NEEDS_INCREMENTAL_STATE
        if self._cleared:
            flags |= SequenceFlag.INCREMENTAL_STATE_CLEARED
        definition = packet(
            message(Packet.INTERNED_DATA, *self._pending), integer(Packet.SEQUENCE_FLAGS, flags)
        )
        self._pending.clear()
        self._cleared = False
        return definition


def event_body(event: EventBody, interned: InternTable) -> bytes:
    """The fields of a TrackEvent that repeat; categories are the group and the category."""
    kind = EventType.INSTANT if event.instant else EventType.SLICE_BEGIN
    fields = [integer(Event.TYPE, kind)]
    for category in (event.group, event.category):
        if category:
            number = interned.number(Interned.EVENT_CATEGORIES, category)
            fields.append(integer(Event.CATEGORY_IIDS, number))
    fields.append(integer(Event.NAME_IID, interned.number(Interned.EVENT_NAMES, event.name)))
    for name, value in event.arguments:
        label = argument_label(name, interned)
        if isinstance(value, int):
            content = integer(Annotation.INT_VALUE, value)
        else:
            number = interned.number(Interned.DEBUG_ANNOTATION_STRING_VALUES, value)
            content = integer(Annotation.STRING_VALUE_IID, number)
        fields.append(message(Event.DEBUG_ANNOTATIONS, label, content))
    return b"".join(fields)


def argument_label(name: str, interned: InternTable) -> bytes:
    """The name of an argument, as the first field of its DebugAnnotation."""
    number = interned.number(Interned.DEBUG_ANNOTATION_NAMES, name)
    return integer(Annotation.NAME_IID, number)


def counter_body(value: int | float) -> bytes:
    """The fields of a counter TrackEvent besides its track."""
    kind = integer(Event.TYPE, EventType.COUNTER)
    if isinstance(value, int):
        return kind + integer(Event.COUNTER_VALUE, value)
    return kind + double(Event.DOUBLE_COUNTER_VALUE, value)


def encoded_slices(columns: SliceColumns) -> Iterator[memoryview]:
    """The packets of a batch; `columns.track` holds track uuids."""
    return columns.encoded(columns_library().wavescope_perfetto_slices)


FORMAT_VERSION = 1
_LONGEST_FACT = 4096


def details_packet(**details: Any) -> bytes:
    """What only our own reader knows of the trace."""
    return packet(message(WAVESCOPE_DETAILS, orjson.dumps(details)))


class PerfettoWriter:
    """A `TimelineWriter` that makes TracePackets; a track's uuid is its index plus one."""

    unique_flows = False
    op_place = ()

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._interned = InternTable()
        self._base_ns = 0

    def begin(self, source: TraceSource, span: Span) -> None:
        """Write facts about the trace, and that tracks come in the order of their ranks."""
        self._base_ns = min(span.first_ns, 0)
        self._out.write(self._interned.definitions())
        about = {"wavescope": FORMAT_VERSION, "version": __version__, "base_ns": self._base_ns}
        self._out.write(details_packet(**about))
        for piece in carried_pieces(source):
            self._out.write(details_packet(tables=piece))
        facts = [
            message(
                ChromeEvents.METADATA,
                text(ChromeEvents.NAME, tag[:_LONGEST_FACT]),
                text(ChromeEvents.STRING_VALUE, value[:_LONGEST_FACT]),
            )
            for tag, value in read_metadata(source).items()
        ]
        if facts:
            self._out.write(packet(message(Packet.CHROME_EVENTS, *facts)))
        root = (
            integer(TrackField.UUID, 0),
            integer(TrackField.CHILD_ORDERING, Ordering.CHILDREN_EXPLICIT),
            integer(TrackField.PROCESS_ORDERING, Ordering.PROCESSES_EXPLICIT),
            integer(TrackField.THREAD_ORDERING, Ordering.THREADS_EXPLICIT),
        )
        self._out.write(packet(message(Packet.TRACK_DESCRIPTOR, *root)))

    def track(self, track: Track) -> None:
        """Write a TrackDescriptor, with what our own reader needs to know beside it."""
        descriptor = message(Packet.TRACK_DESCRIPTOR, *_descriptor(track))
        details = message(WAVESCOPE_DETAILS, orjson.dumps(track.details))
        self._out.write(packet(descriptor, details))

    def body(self, event: EventBody) -> bytes:
        """The repeating fields of an event."""
        return event_body(event, self._interned)

    def label(self, name: str) -> bytes:
        """The name of an argument."""
        return argument_label(name, self._interned)

    def forget(self) -> None:
        """Void all interned strings."""
        self._interned.forget()

    def slices(self, columns: SliceColumns) -> None:
        """Write begin and end packets."""
        self._out.write(self._interned.definitions())
        for piece in encoded_slices(
            replace(columns, track=columns.track + 1, base_ns=self._base_ns)
        ):
            self._out.write(piece)

    def counter(self, track: Track, samples: Samples) -> None:
        """Write counter packets; equal values share a body."""
        values, body = np.unique(samples.values, return_inverse=True)
        rows = len(samples.times_ns)
        columns = SliceColumns(
            start_ns=samples.times_ns,
            end_ns=samples.times_ns,
            track=np.full(rows, track.index, np.int64),
            body=body.astype(np.int32),
            bodies=Pieces.of([counter_body(value) for value in values.tolist()]),
            instant=np.ones(rows, np.uint8),
        )
        self.slices(columns)

    def end(self, notes: Notes) -> None:
        """Write the notes; packets need no trailer."""
        if len(notes):
            self._out.write(details_packet(tables={METADATA.name: fact_columns(notes.facts())}))


def _descriptor(track: Track) -> list[bytes]:
    fields = [
        integer(TrackField.UUID, track.index + 1),
        integer(TrackField.SIBLING_ORDER_RANK, track.rank),
    ]
    if track.kind is TrackKind.PROCESS:
        process = integer(Process.PID, track.pid), text(Process.PROCESS_NAME, track.name)
        return [*fields, message(TrackField.PROCESS, *process)]
    if track.kind is TrackKind.THREAD and track.lane == 0:
        thread = (
            integer(Thread.PID, track.pid),
            integer(Thread.TID, track.tid),
            text(Thread.THREAD_NAME, track.name),
        )
        return [*fields, message(TrackField.THREAD, *thread)]
    if track.parent >= 0:
        fields.append(integer(TrackField.PARENT_UUID, track.parent + 1))
    if track.kind is TrackKind.GPU_BUSY:
        fields.append(message(TrackField.COUNTER, text(Counter.UNIT_NAME, "%")))
    elif track.kind is TrackKind.QUEUE_DEPTH:
        fields.append(message(TrackField.COUNTER, integer(Counter.UNIT, Counter.COUNT_UNIT)))
    return [*fields, text(TrackField.NAME, track.name), *_child_fields(track)]


def _child_fields(track: Track) -> list[bytes]:
    """How the children of a track are ordered, and that the lanes of one queue are shown as one."""
    if track.kind is TrackKind.GPU:
        return [integer(TrackField.CHILD_ORDERING, Ordering.CHILDREN_EXPLICIT)]
    key = f"{track.kind.value} {track.gpu} {track.queue} {track.process} {track.thread}"
    return [
        integer(TrackField.SIBLING_MERGE_BEHAVIOR, Merge.BY_KEY),
        text(TrackField.SIBLING_MERGE_KEY, key),
    ]


def write_perfetto(
    source: TraceSource, path: Path, options: ExportOptions, progress: Progress
) -> None:
    """Write `source` as a Perfetto trace to `path`."""
    with opened_output(path, gzip=options.gzip) as out:
        shown_name = short_name if options.short_names else str
        write_timeline(source, PerfettoWriter(out), shown_name, progress)
