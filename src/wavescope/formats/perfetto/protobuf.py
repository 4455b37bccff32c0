"""Writes the protobuf wire format: numbers, texts and messages as bytes."""

from __future__ import annotations

import struct

_VARINT = 0
_FIXED64 = 1
_LENGTH = 2
_UINT64 = (1 << 64) - 1


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
    return varint(field << 3 | _VARINT) + varint(value)


def fixed64(field: int, value: int) -> bytes:
    """A fixed64 field."""
    return varint(field << 3 | _FIXED64) + struct.pack("<Q", value & _UINT64)


def double(field: int, value: float) -> bytes:
    """A double field."""
    return varint(field << 3 | _FIXED64) + struct.pack("<d", value)


def message(field: int, *parts: bytes) -> bytes:
    """A message (or bytes) field made of `parts`."""
    content = b"".join(parts)
    return varint(field << 3 | _LENGTH) + varint(len(content)) + content


def text(field: int, value: str) -> bytes:
    """A string field; what is not valid Unicode becomes question marks."""
    return message(field, value.encode("utf-8", "replace"))
