"""Slices as Perfetto packets, row by row; see native/trace_encoder/perfetto_slices.cpp."""

from __future__ import annotations

import struct

from tests.reference.slices import is_instant, size_texts
from wavescope.formats.perfetto.protobuf import (
    TRACE_PACKET,
    Annotation,
    Event,
    EventType,
    Packet,
    SequenceFlag,
)
from wavescope.formats.protobuf_wire import (
    integer,
    message,
    varint,
)
from wavescope.formats.timeline.slices import SliceColumns

_SEQUENCE = integer(Packet.TRUSTED_PACKET_SEQUENCE_ID, 1)
_NEEDS_INTERNED = integer(Packet.SEQUENCE_FLAGS, SequenceFlag.NEEDS_INCREMENTAL_STATE)
_END = integer(Event.TYPE, EventType.SLICE_END)
_FLOW_TAG = varint(Event.FLOW_IDS << 3 | 1)
_UINT64 = (1 << 64) - 1


def row_packets(columns: SliceColumns, row: int) -> bytes:
    """The packets of one row: its begin and its end."""
    track = integer(Event.TRACK_UUID, int(columns.track[row]))
    event = [columns.bodies[int(columns.body[row])]]
    for label, values in columns.integers:
        value = int(values[row])
        if value != -1:
            annotation = label + integer(Annotation.INT_VALUE, value)
            event.append(message(Event.DEBUG_ANNOTATIONS, annotation))
    for label, size in size_texts(columns, row):
        annotation = label + message(Annotation.STRING_VALUE, size)
        event.append(message(Event.DEBUG_ANNOTATIONS, annotation))
    if columns.text is not None and (content := columns.text[1][row]):
        annotation = columns.text[0] + message(Annotation.STRING_VALUE, content)
        event.append(message(Event.DEBUG_ANNOTATIONS, annotation))
    event.append(track)
    if columns.flows is not None:
        event.extend(
            _FLOW_TAG + struct.pack("<Q", flow & _UINT64) for flow in columns.flows.of_row(row)
        )
    begin = message(
        TRACE_PACKET,
        _timestamp(columns, int(columns.start_ns[row])),
        _SEQUENCE,
        _NEEDS_INTERNED,
        message(Packet.TRACK_EVENT, *event),
    )
    if is_instant(columns, row):
        return begin
    return begin + message(
        TRACE_PACKET,
        _timestamp(columns, int(columns.end_ns[row])),
        _SEQUENCE,
        message(Packet.TRACK_EVENT, _END, track),
    )


def _timestamp(columns: SliceColumns, time_ns: int) -> bytes:
    return integer(Packet.TIMESTAMP, time_ns - columns.base_ns)
