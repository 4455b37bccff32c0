"""Protobuf on the wire: written, and read from bytes that may be damaged."""

from __future__ import annotations

import struct
from collections.abc import Iterator

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
