"""One TracePacket taken apart."""

from __future__ import annotations

from dataclasses import dataclass, field

from wavescope.formats.perfetto.fields import TRACE_PACKET, WAVESCOPE_DETAILS, Packet
from wavescope.formats.perfetto.protobuf_fields import (
    LENGTH,
    DamagedMessageError,
    fields,
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
