"""Damage to protobuf: fields with other values, types, numbers and lengths, at any depth."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from fuzz.mutators import raw_bytes, values
from wavescope.formats.protobuf_wire import varint

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """One field: its number, wire type and value, bytes for all but varints."""

    number: int
    wire: int
    value: int | bytes


def mutate(random: Random, content: bytes) -> bytes:
    """The message after some fields were changed; damaged bytes where it is none."""
    for _ in range(random.choice((1, 1, 2, 4))):
        fields = _fields(content)
        content = _changed(random, fields) if fields else raw_bytes.mutate(random, content)
    return content


def _changed(random: Random, fields: list[Field]) -> bytes:
    at = random.randrange(len(fields))
    field = fields[at]
    inner = _fields(field.value) if isinstance(field.value, bytes) and field.wire == _BYTES else []
    if inner and random.random() < 0.8:
        new = [_encoded(field._replace(value=_changed(random, inner)))]
    else:
        new = _other(random, field)
    before = b"".join(map(_encoded, fields[:at]))
    return before + b"".join(new) + b"".join(map(_encoded, fields[at + 1 :]))


def _other(random: Random, field: Field) -> list[bytes]:
    choice = random.randrange(10)
    if choice == 0:
        return []
    if choice == 1:
        return [_encoded(field)] * random.choice((2, 40))
    if choice == 2:
        return [_encoded(field._replace(number=random.randint(0, 40)))]
    if choice == 3:
        return [_key(field.number, random.randrange(8)) + varint(values.integer(random))]
    if choice == 4:
        return [_key(field.number, _BYTES) + varint(values.integer(random)) + b"abc"]
    if choice == 5:
        return [_encoded(Field(field.number, _BYTES, values.text(random).encode()))]
    if choice == 6 and isinstance(field.value, bytes):
        return [_encoded(field._replace(value=raw_bytes.mutate(random, field.value)))]
    return [_encoded(Field(field.number, _VARINT, values.integer(random)))]


def _encoded(field: Field) -> bytes:
    if isinstance(field.value, int):
        return _key(field.number, field.wire) + varint(field.value)
    length = varint(len(field.value)) if field.wire == _BYTES else b""
    return _key(field.number, field.wire) + length + field.value


def _key(number: int, wire: int) -> bytes:
    return varint(number << 3 | wire)


def _fields(content: bytes) -> list[Field]:
    """All fields of a message, or none where it is not one."""
    fields, at = [], 0
    try:
        while at < len(content):
            key, at = _read_varint(content, at)
            if key >> 3 == 0:
                return []
            value, at = _read_value(content, at, key & 7)
            fields.append(Field(key >> 3, key & 7, value))
    except (IndexError, ValueError):
        return []
    return fields


def _read_value(content: bytes, at: int, wire: int) -> tuple[int | bytes, int]:
    if wire == _VARINT:
        return _read_varint(content, at)
    if wire == _BYTES:
        length, at = _read_varint(content, at)
    else:
        length = {_FIXED64: 8, _FIXED32: 4}.get(wire, len(content) + 1)
    if at + length > len(content):
        raise ValueError("the field reaches beyond the message")
    return content[at : at + length], at + length


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a varint of more than ten bytes")
