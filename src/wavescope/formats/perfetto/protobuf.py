"""Perfetto's field numbers.

The names are those of Perfetto's own .proto files; a field that is neither written nor read is not
listed. Reader and writer share them, so that both mean the same.
"""

from __future__ import annotations

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
