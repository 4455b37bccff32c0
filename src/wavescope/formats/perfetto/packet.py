"""TracePackets taken apart, and what those of one sequence may refer to.

That is interned strings, a default track, and clocks of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from wavescope.formats.perfetto.protobuf import (
    TRACE_PACKET,
    WAVESCOPE_DETAILS,
    Clock,
    Defaults,
    Interned,
    Packet,
)
from wavescope.formats.protobuf_wire import (
    LENGTH,
    DamagedMessageError,
    fields,
    integers,
    messages,
    signed,
    text_of,
    varint_at,
)

LARGEST_PACKET_BYTES = 256 << 20
_KNOWN = frozenset(
    (
        Packet.CHROME_EVENTS,
        Packet.CLOCK_SNAPSHOT,
        Packet.TRACK_EVENT,
        Packet.INTERNED_DATA,
        Packet.COMPRESSED_PACKETS,
        Packet.TRACE_PACKET_DEFAULTS,
        Packet.TRACK_DESCRIPTOR,
        WAVESCOPE_DETAILS,
    )
)
_OF_EVERY_PACKET = frozenset(
    (
        Packet.TRUSTED_UID,
        Packet.TIMESTAMP,
        Packet.TRUSTED_PACKET_SEQUENCE_ID,
        Packet.SEQUENCE_FLAGS,
    )
)
_ABOUT_TRACING = frozenset(
    (
        Packet.TRACE_CONFIG,
        Packet.TRACE_STATS,
        Packet.SYNCHRONIZATION_MARKER,
        Packet.SYSTEM_INFO,
        Packet.SERVICE_EVENT,
        Packet.TRACE_UUID,
    )
)
UNKNOWN_TRACK = -1
INTERNED_FIELDS = (
    Interned.EVENT_CATEGORIES,
    Interned.EVENT_NAMES,
    Interned.DEBUG_ANNOTATION_NAMES,
    Interned.DEBUG_ANNOTATION_STRING_VALUES,
)


@dataclass(frozen=True)
class PacketParts:
    """The fields of a packet: numbers, and messages as bytes; of a repeated field the last."""

    numbers: dict[int, int] = field(default_factory=dict)
    messages: dict[int, memoryview] = field(default_factory=dict)


def packet_parts(packet: memoryview) -> PacketParts:
    """The parts of a TracePacket; DamagedMessageError when it is none."""
    parts = PacketParts()
    for number, _, value in fields(packet):
        if isinstance(value, int):
            parts.numbers[number] = value
        else:
            parts.messages[number] = value
    return parts


def known_packet(parts: PacketParts) -> bool:
    """Whether the packet holds something this importer reads."""
    return not _KNOWN.isdisjoint(parts.messages)


def is_about_tracing(parts: PacketParts) -> bool:
    """Whether the packet only tells how Perfetto itself ran: its settings, its service, its end."""
    told = (set(parts.messages) | set(parts.numbers)) - _OF_EVERY_PACKET
    return told <= _ABOUT_TRACING


def begins_with_packet(head: bytes) -> bool:
    """Whether the first bytes of a file are a packet that this importer reads, or its beginning."""
    try:
        tag, position = varint_at(head, 0, len(head))
        size, start = varint_at(head, position, len(head))
    except DamagedMessageError:
        return False
    if tag != TRACE_PACKET << 3 | LENGTH or size > LARGEST_PACKET_BYTES:
        return False
    try:
        return known_packet(packet_parts(memoryview(head)[start : start + size]))
    except DamagedMessageError:
        # A first packet larger than what was looked at: its beginning must do.
        return size > len(head) - start and head[start : start + 1] in (b"\x28", b"\x40", b"\x50")


@dataclass
class SequenceClock:
    """A clock of a sequence: its time 0 in the trace's time, and its tick."""

    offset_ns: int
    tick_ns: int
    is_incremental: bool
    last_ns: int = 0

    def time_ns(self, timestamp: int) -> int:
        """The trace's time of a packet with this timestamp."""
        self.last_ns = timestamp * self.tick_ns + (self.last_ns if self.is_incremental else 0)
        return signed(self.last_ns + self.offset_ns)


@dataclass
class Sequence:
    """The state of one packet sequence."""

    strings: dict[int, dict[int, str]] = field(
        default_factory=lambda: {number: {} for number in INTERNED_FIELDS}
    )
    default_track: int = UNKNOWN_TRACK
    default_clock: int = Clock.BOOTTIME
    clocks: dict[int, SequenceClock] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget the incremental state; clocks come with their own snapshots."""
        for strings in self.strings.values():
            strings.clear()
        self.default_track = UNKNOWN_TRACK
        self.default_clock = Clock.BOOTTIME

    def redefines(self, interned: memoryview) -> bool:
        """Whether InternedData gives a known number another meaning."""
        return any(
            self.strings[kind].get(number, text) != text
            for kind, number, text in _definitions(interned)
        )

    def define(self, interned: memoryview) -> None:
        """Take in an InternedData message."""
        for kind, number, text in _definitions(interned):
            self.strings[kind][number] = text

    def set_defaults(self, defaults: memoryview) -> None:
        """Take in a TracePacketDefaults message."""
        self.default_clock = integers(defaults).get(Defaults.TIMESTAMP_CLOCK_ID, Clock.BOOTTIME)
        for event_defaults in messages(defaults, Defaults.TRACK_EVENT_DEFAULTS):
            uuid = integers(event_defaults).get(Defaults.TRACK_UUID)
            self.default_track = UNKNOWN_TRACK if uuid is None else signed(uuid)

    def set_clocks(self, snapshot: memoryview) -> None:
        """Take in a ClockSnapshot: how the sequence's own clocks relate to the trace's."""
        clocks = [integers(clock) for clock in messages(snapshot, Clock.CLOCKS)]
        trace_ns = next(
            (c.get(Clock.TIMESTAMP, 0) for c in clocks if c.get(Clock.ID) == Clock.BOOTTIME), None
        )
        for clock in clocks:
            number = clock.get(Clock.ID, 0)
            if trace_ns is not None and number >= Clock.FIRST_OF_SEQUENCE:
                tick_ns = clock.get(Clock.UNIT_MULTIPLIER_NS, 1) or 1
                own_ns = clock.get(Clock.TIMESTAMP, 0) * tick_ns
                incremental = bool(clock.get(Clock.IS_INCREMENTAL, 0))
                self.clocks[number] = SequenceClock(trace_ns - own_ns, tick_ns, incremental, own_ns)


def _definitions(interned: memoryview) -> Iterator[tuple[int, int, str]]:
    for number, _, entry in fields(interned):
        if number not in INTERNED_FIELDS or not isinstance(entry, memoryview):
            continue
        iid, text = 0, ""
        for part, _, value in fields(entry):
            if part == Interned.IID and isinstance(value, int):
                iid = signed(value)
            elif part == Interned.TEXT and isinstance(value, memoryview):
                text = text_of(value)
        yield number, iid, text
