"""One TracePacket taken apart."""

from __future__ import annotations

from dataclasses import dataclass, field

from wavescope.formats.perfetto.fields import WAVESCOPE_DETAILS, Packet
from wavescope.formats.perfetto.protobuf_fields import fields

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
