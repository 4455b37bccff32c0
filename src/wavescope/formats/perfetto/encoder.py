"""Perfetto's packets as bytes: packet headers, interned strings, tracks and slices.

All packets belong to one sequence. Strings are interned: the first use of a name, category,
argument name or argument text defines a number for it, which later packets use instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from wavescope.formats.perfetto.fields import (
    TRACE_PACKET,
    Annotation,
    Event,
    EventType,
    Interned,
    Packet,
    SequenceFlag,
)
from wavescope.formats.perfetto.protobuf import double, integer, message, text
from wavescope.formats.timeline.bodies import EventBody
from wavescope.formats.timeline.slice_columns import SliceColumns, encoded
from wavescope.native import columns_library

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
    return encoded(columns, columns_library().wavescope_perfetto_slices)
