"""Protobuf, written, and read from bytes that may be damaged; and Perfetto's field numbers.

The names are those of Perfetto's own .proto files; a field that is neither written nor read is not
listed. Reader and writer share them, so that both mean the same.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

TRACE_PACKET: Final = 1
"""Trace.packet: a Perfetto file is nothing but a sequence of these."""

WAVESCOPE_DETAILS: Final = 50_001
"""TracePacket: a JSON text of ours, for what Perfetto has no room for; others skip it."""


class Packet:
    """TracePacket."""

    TRUSTED_UID: Final = 3
    CHROME_EVENTS: Final = 5
    CLOCK_SNAPSHOT: Final = 6
    TIMESTAMP: Final = 8
    TRUSTED_PACKET_SEQUENCE_ID: Final = 10
    TRACK_EVENT: Final = 11
    INTERNED_DATA: Final = 12
    SEQUENCE_FLAGS: Final = 13
    TRACE_CONFIG: Final = 33
    TRACE_STATS: Final = 35
    SYNCHRONIZATION_MARKER: Final = 36
    SYSTEM_INFO: Final = 45
    COMPRESSED_PACKETS: Final = 50
    TIMESTAMP_CLOCK_ID: Final = 58
    TRACE_PACKET_DEFAULTS: Final = 59
    TRACK_DESCRIPTOR: Final = 60
    SERVICE_EVENT: Final = 69
    TRACE_UUID: Final = 89


class SequenceFlag:
    """TracePacket.SequenceFlags."""

    INCREMENTAL_STATE_CLEARED: Final = 1
    NEEDS_INCREMENTAL_STATE: Final = 2


class Track:
    """TrackDescriptor."""

    UUID: Final = 1
    NAME: Final = 2
    PROCESS: Final = 3
    THREAD: Final = 4
    PARENT_UUID: Final = 5
    COUNTER: Final = 8
    CHILD_ORDERING: Final = 11
    SIBLING_ORDER_RANK: Final = 12
    DESCRIPTION: Final = 14
    SIBLING_MERGE_BEHAVIOR: Final = 15
    SIBLING_MERGE_KEY: Final = 16
    PROCESS_ORDERING: Final = 19
    THREAD_ORDERING: Final = 20


class Ordering:
    """TrackDescriptor.ChildTracksOrdering, and its later ProcessOrdering and ThreadOrdering."""

    CHILDREN_EXPLICIT: Final = 3
    PROCESSES_EXPLICIT: Final = 1
    THREADS_EXPLICIT: Final = 1


class Merge:
    """TrackDescriptor.SiblingMergeBehavior."""

    NONE: Final = 2
    BY_KEY: Final = 3


class Process:
    """ProcessDescriptor."""

    PID: Final = 1
    PROCESS_NAME: Final = 6


class Thread:
    """ThreadDescriptor."""

    PID: Final = 1
    TID: Final = 2
    THREAD_NAME: Final = 5


class Counter:
    """CounterDescriptor."""

    UNIT: Final = 3
    UNIT_NAME: Final = 6
    COUNT_UNIT: Final = 2
    """CounterDescriptor.Unit: a number of things."""


class Event:
    """TrackEvent."""

    CATEGORY_IIDS: Final = 3
    DEBUG_ANNOTATIONS: Final = 4
    TYPE: Final = 9
    NAME_IID: Final = 10
    TRACK_UUID: Final = 11
    CATEGORIES: Final = 22
    NAME: Final = 23
    COUNTER_VALUE: Final = 30
    DOUBLE_COUNTER_VALUE: Final = 44
    FLOW_IDS: Final = 47
    TERMINATING_FLOW_IDS: Final = 48


class EventType:
    """TrackEvent.Type."""

    SLICE_BEGIN: Final = 1
    SLICE_END: Final = 2
    INSTANT: Final = 3
    COUNTER: Final = 4


class Annotation:
    """DebugAnnotation."""

    NAME_IID: Final = 1
    BOOL_VALUE: Final = 2
    UINT_VALUE: Final = 3
    INT_VALUE: Final = 4
    DOUBLE_VALUE: Final = 5
    STRING_VALUE: Final = 6
    POINTER_VALUE: Final = 7
    NAME: Final = 10
    STRING_VALUE_IID: Final = 17


class Interned:
    """InternedData; every entry is a message of `IID` and `TEXT`."""

    EVENT_CATEGORIES: Final = 1
    EVENT_NAMES: Final = 2
    DEBUG_ANNOTATION_NAMES: Final = 3
    DEBUG_ANNOTATION_STRING_VALUES: Final = 29
    IID: Final = 1
    TEXT: Final = 2


class Defaults:
    """TracePacketDefaults; TRACK_UUID is of the TrackEventDefaults inside."""

    TRACK_EVENT_DEFAULTS: Final = 11
    TIMESTAMP_CLOCK_ID: Final = 58
    TRACK_UUID: Final = 11


class Clock:
    """ClockSnapshot and its Clock."""

    CLOCKS: Final = 1
    ID: Final = 1
    TIMESTAMP: Final = 2
    IS_INCREMENTAL: Final = 3
    UNIT_MULTIPLIER_NS: Final = 4
    BOOTTIME: Final = 6
    FIRST_OF_SEQUENCE: Final = 64
    """Clocks from this number on are a sequence's own."""


class ChromeEvents:
    """ChromeEventBundle and its ChromeMetadata: facts about the run, shown by the Perfetto UI."""

    METADATA: Final = 2
    NAME: Final = 1
    STRING_VALUE: Final = 2


_UINT64 = (1 << 64) - 1
VARINT = 0
FIXED64 = 1
LENGTH = 2
FIXED32 = 5

_LONGEST_VARINT = 10
_LARGEST_FIELD = (1 << 29) - 1


def varint(value: int) -> bytes:
    """`value` (negative ones as 64-bit two's complement) in base 128, low digits first."""
    value &= _UINT64
    if value < 0x80:
        return bytes((value,))
    digits = bytearray()
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def integer(field: int, value: int) -> bytes:
    """An integer, enum or bool field."""
    return varint(field << 3 | VARINT) + varint(value)


def fixed64(field: int, value: int) -> bytes:
    """A fixed64 field."""
    return varint(field << 3 | FIXED64) + struct.pack("<Q", value & _UINT64)


def double(field: int, value: float) -> bytes:
    """A double field."""
    return varint(field << 3 | FIXED64) + struct.pack("<d", value)


def message(field: int, *parts: bytes) -> bytes:
    """A message (or bytes) field made of `parts`."""
    content = b"".join(parts)
    return varint(field << 3 | LENGTH) + varint(len(content)) + content


def text(field: int, value: str) -> bytes:
    """A string field; what is not valid Unicode becomes question marks."""
    return message(field, value.encode("utf-8", "replace"))


class DamagedMessageError(ValueError):
    """The bytes are not a whole protobuf message."""


def varint_at(data: bytes | memoryview, position: int, end: int) -> tuple[int, int]:
    """The number that starts at `position`, and where it ends."""
    value = 0
    for index in range(position, min(end, position + _LONGEST_VARINT)):
        byte = data[index]
        value |= (byte & 0x7F) << 7 * (index - position)
        if byte < 0x80:
            return value & _UINT64, index + 1
    raise DamagedMessageError


def fields(data: bytes | memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """Number, wire type and value of every field: integers, or the bytes of what has a length."""
    view = memoryview(data)
    position, end = 0, len(view)
    while position < end:
        tag, position = varint_at(view, position, end)
        number, wire_type = tag >> 3, tag & 7
        if not 0 < number <= _LARGEST_FIELD:
            raise DamagedMessageError
        if wire_type == VARINT:
            value, position = varint_at(view, position, end)
            yield number, wire_type, value
            continue
        if wire_type == LENGTH:
            size, position = varint_at(view, position, end)
        elif wire_type in (FIXED64, FIXED32):
            size = 8 if wire_type == FIXED64 else 4
        else:
            raise DamagedMessageError
        if size > end - position:
            raise DamagedMessageError
        part = view[position : position + size]
        position += size
        yield number, wire_type, part if wire_type == LENGTH else int.from_bytes(part, "little")


def messages(data: bytes | memoryview, field: int) -> Iterator[memoryview]:
    """The length-delimited fields of one number."""
    for number, _, value in fields(data):
        if number == field and isinstance(value, memoryview):
            yield value


def integers(data: bytes | memoryview) -> dict[int, int]:
    """All integer fields by number; of a repeated one the last."""
    return {number: value for number, _, value in fields(data) if isinstance(value, int)}


def texts(data: bytes | memoryview) -> dict[int, str]:
    """All length-delimited fields by number, read as text; of a repeated one the last."""
    return {
        number: text_of(value) for number, _, value in fields(data) if isinstance(value, memoryview)
    }


def text_of(data: bytes | memoryview) -> str:
    """Bytes as text; what is not valid UTF-8 becomes replacement characters."""
    return bytes(data).decode("utf-8", "replace")


def signed(value: int) -> int:
    """An unsigned 64-bit number as the signed one with the same bits."""
    value &= _UINT64
    return value - (1 << 64) if value >> 63 else value
