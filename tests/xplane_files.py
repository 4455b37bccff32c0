"""Writes xplane.pb files, by the field numbers of the published xplane.proto."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

Stats = Mapping[str, int | float | str]


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])


def _number(field_number: int, value: int) -> bytes:
    return _varint(field_number << 3) + _varint(value)


def _bytes(field_number: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return _varint(field_number << 3 | 2) + _varint(len(content)) + content


@dataclass
class APlane:
    """A plane whose names are numbered as they are used."""

    name: str
    lines: list[bytes] = field(default_factory=list)
    event_names: dict[str, int] = field(default_factory=dict)
    stat_names: dict[str, int] = field(default_factory=dict)
    stats: list[bytes] = field(default_factory=list)
    by_reference: bool = False
    """Whether texts of statistics are names that are referred to."""

    def with_stats(self, **values: int | float | str) -> APlane:
        self.stats += [_bytes(6, self._stat(name, value)) for name, value in values.items()]
        return self

    def with_line(self, name: str, number: int, time_ns: int, *events: bytes) -> APlane:
        content = _number(1, number) + _bytes(2, name) + _number(3, time_ns)
        self.lines.append(_bytes(3, content + b"".join(events)))
        return self

    def event(
        self, name: str, offset_ps: int, duration_ps: int, stats: Stats | None = None
    ) -> bytes:
        number = self.event_names.setdefault(name, len(self.event_names) + 1)
        content = _number(1, number) + _number(2, offset_ps) + _number(3, duration_ps)
        content += b"".join(_bytes(4, self._stat(*each)) for each in (stats or {}).items())
        return _bytes(4, content)

    def counted(self, name: str, occurrences: int) -> bytes:
        """An event of which only the number is known."""
        number = self.event_names.setdefault(name, len(self.event_names) + 1)
        return _bytes(4, _number(1, number) + _number(5, occurrences))

    def message(self) -> bytes:
        events = b"".join(
            _bytes(4, _number(1, number) + _bytes(2, _number(1, number) + _bytes(2, name)))
            for name, number in self.event_names.items()
        )
        stats = b"".join(
            _bytes(5, _number(1, number) + _bytes(2, _number(1, number) + _bytes(2, name)))
            for name, number in self.stat_names.items()
        )
        head = _number(1, 7) + _bytes(2, self.name)
        return _bytes(1, head + b"".join(self.lines) + events + stats + b"".join(self.stats))

    def _stat(self, name: str, value: int | float | str) -> bytes:
        head = _number(1, self._stat_number(name))
        if isinstance(value, float):
            return head + _varint(2 << 3 | 1) + struct.pack("<d", value)
        if isinstance(value, int):
            return head + _number(4 if value < 0 else 3, value)
        if self.by_reference:
            return head + _number(7, self._stat_number(value))
        return head + _bytes(5, value)

    def _stat_number(self, name: str) -> int:
        return self.stat_names.setdefault(name, len(self.stat_names) + 1)


def a_space(*planes: APlane, host: str = "") -> bytes:
    """The bytes of a file."""
    return b"".join(plane.message() for plane in planes) + (_bytes(4, host) if host else b"")
