"""XSpace messages taken apart, as the published xplane.proto describes them.

A space holds planes: one for each device, and some for the host. A plane holds lines (streams,
threads) of events; names of events and of their statistics stand once in the plane. Offsets and
durations are picoseconds after the time of the line.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from wavescope.formats.protobuf_wire import (
    LENGTH,
    DamagedMessageError,
    fields,
    signed,
    text_of,
    varint_at,
)
from wavescope.formats.xla_streams import StatValue

_PLANES: Final = 1
_HOSTNAMES: Final = 4
_PLANE_NAME, _LINES, _EVENT_METADATA, _STAT_METADATA, _PLANE_STATS = 2, 3, 4, 5, 6
_MAP_KEY, _MAP_VALUE = 1, 2
_METADATA_NAME, _METADATA_STATS = 2, 5
_LINE_ID, _LINE_NAME, _LINE_TIME_NS, _LINE_EVENTS, _LINE_DISPLAY_NAME = 1, 2, 3, 4, 11
_EVENT_ID, _EVENT_OFFSET_PS, _EVENT_DURATION_PS, _EVENT_STATS, _EVENT_OCCURRENCES = 1, 2, 3, 4, 5
_STAT_ID, _STAT_DOUBLE, _STAT_UNSIGNED, _STAT_SIGNED, _STAT_TEXT, _STAT_REFERENCE = 1, 2, 3, 4, 5, 7
_PLANE_PREFIXES = ("/host:", "/device:", "#Chip", "Task Environment", "Host CPUs", "Syscalls")

_MOST_KNOWN = 1 << 16


def begins_with_plane(head: bytes) -> bool:
    """Whether the first bytes of a file are a plane with a name that planes have."""
    try:
        tag, position = varint_at(head, 0, len(head))
        size, start = varint_at(head, position, len(head))
        if tag != _PLANES << 3 | LENGTH:
            return False
        for number, _, value in fields(memoryview(head)[start : start + size]):
            if number == _PLANE_NAME and isinstance(value, memoryview):
                return text_of(value).startswith(_PLANE_PREFIXES)
    except DamagedMessageError:
        # A plane larger than what was looked at: its name comes first.
        return False
    return False


@dataclass
class Space:
    """The planes of a file, and what is wrong with it."""

    planes: list[memoryview] = field(default_factory=list)
    hostnames: list[str] = field(default_factory=list)
    is_cut: bool = False
    """Whether the file ends within a plane, or goes on with something else."""


def space_of(data: bytes) -> Space:
    """The planes that are whole."""
    space = Space()
    try:
        for number, _, value in fields(data):
            if number == _PLANES and isinstance(value, memoryview):
                space.planes.append(value)
            elif number == _HOSTNAMES and isinstance(value, memoryview):
                space.hostnames.append(text_of(value))
    except DamagedMessageError:
        space.is_cut = True
    return space


@dataclass
class EventMetadata:
    """What events of one kind share."""

    name: str = ""
    stats: tuple[memoryview, ...] = ()


@dataclass
class Plane:
    """A plane: its lines as they are, and what their events refer to."""

    name: str = ""
    lines: list[memoryview] = field(default_factory=list)
    events: dict[int, EventMetadata] = field(default_factory=dict)
    stat_names: dict[int, str] = field(default_factory=dict)
    stats: list[memoryview] = field(default_factory=list)
    _known: dict[bytes, tuple[str, StatValue | None]] = field(default_factory=dict)
    """Statistics that were read before: most repeat."""

    def values(self, stats: Iterable[memoryview]) -> dict[str, StatValue]:
        """Statistics by name; a later one replaces an earlier of the same name."""
        found: dict[str, StatValue] = {}
        for stat in stats:
            name, value = self._value(bytes(stat))
            if name and value is not None:
                found[name] = value
        return found

    def _value(self, stat: bytes) -> tuple[str, StatValue | None]:
        known = self._known.get(stat)
        if known is None:
            known = _stat(memoryview(stat), self.stat_names)
            if len(self._known) < _MOST_KNOWN:
                self._known[stat] = known
        return known


def plane_of(message: memoryview) -> Plane:
    """A plane taken apart; DamagedMessageError when it is none."""
    plane = Plane()
    for number, _, value in fields(message):
        if not isinstance(value, memoryview):
            continue
        if number == _PLANE_NAME:
            plane.name = text_of(value)
        elif number == _LINES:
            plane.lines.append(value)
        elif number == _EVENT_METADATA:
            key, entry = _map_entry(value)
            plane.events[key] = _event_metadata(entry)
        elif number == _STAT_METADATA:
            key, entry = _map_entry(value)
            plane.stat_names[key] = _event_metadata(entry).name
        elif number == _PLANE_STATS:
            plane.stats.append(value)
    return plane


def _map_entry(message: memoryview) -> tuple[int, memoryview]:
    key, entry = 0, memoryview(b"")
    for number, _, value in fields(message):
        if number == _MAP_KEY and isinstance(value, int):
            key = signed(value)
        elif number == _MAP_VALUE and isinstance(value, memoryview):
            entry = value
    return key, entry


def _event_metadata(message: memoryview) -> EventMetadata:
    """Names of events and of statistics have the same field number."""
    name, stats = "", []
    for number, _, value in fields(message):
        if isinstance(value, memoryview):
            if number == _METADATA_NAME:
                name = text_of(value)
            elif number == _METADATA_STATS:
                stats.append(value)
    return EventMetadata(name, tuple(stats))


def _stat(message: memoryview, names: Mapping[int, str]) -> tuple[str, StatValue | None]:
    name = ""
    found: StatValue | None = None
    for number, _, value in fields(message):
        if isinstance(value, memoryview):
            if number == _STAT_TEXT:
                found = text_of(value)
        elif number == _STAT_ID:
            name = names.get(signed(value), "")
        elif number == _STAT_DOUBLE:
            (found,) = struct.unpack("<d", value.to_bytes(8, "little"))
        elif number in (_STAT_UNSIGNED, _STAT_SIGNED):
            found = signed(value)
        elif number == _STAT_REFERENCE:
            found = names.get(signed(value))
    return name, found


@dataclass
class Line:
    """A line: the time its offsets count from, and its events as they are."""

    number: int = 0
    name: str = ""
    time_ns: int = 0
    events: list[memoryview] = field(default_factory=list)


def line_of(message: memoryview) -> Line:
    """A line taken apart; DamagedMessageError when it is none."""
    line = Line()
    shown = ""
    for number, _, value in fields(message):
        if isinstance(value, memoryview):
            if number == _LINE_NAME:
                line.name = text_of(value)
            elif number == _LINE_DISPLAY_NAME:
                shown = text_of(value)
            elif number == _LINE_EVENTS:
                line.events.append(value)
        elif number == _LINE_ID:
            line.number = signed(value)
        elif number == _LINE_TIME_NS:
            line.time_ns = signed(value)
    line.name = line.name or shown
    return line


@dataclass
class Event:
    """One event; `stats` are its own, without those of its metadata."""

    metadata: int = 0
    offset_ps: int = 0
    duration_ps: int = 0
    is_timed: bool = True
    """False where only the number of occurrences is known."""
    stats: list[memoryview] = field(default_factory=list)


def event_of(message: memoryview) -> Event:
    """An event taken apart; DamagedMessageError when it is none."""
    event = Event()
    for number, _, value in fields(message):
        if isinstance(value, memoryview):
            if number == _EVENT_STATS:
                event.stats.append(value)
        elif number == _EVENT_ID:
            event.metadata = signed(value)
        elif number == _EVENT_OFFSET_PS:
            event.offset_ps = signed(value)
        elif number == _EVENT_DURATION_PS:
            event.duration_ps = signed(value)
        elif number == _EVENT_OCCURRENCES:
            event.is_timed = False
    return event
