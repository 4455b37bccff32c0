"""Damage that knows no structure: bytes are changed, cut, doubled, moved."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

from fuzz.mutators import values

_MOST_ADDED = 4_096


def mutate(random: Random, content: bytes) -> bytes:
    """`content` after one to four changes."""
    for _ in range(random.choice((1, 1, 2, 4))):
        content = random.choice(_CHANGES)(random, content)
    return content


def mutate_records(random: Random, content: bytes) -> bytes:
    """`content` after integers at places that records have them were replaced."""
    changed = bytearray(content)
    for _ in range(random.choice((1, 2, 8))):
        form = random.choice(("<Q", "<I", "<H", "<B", ">I", ">H"))
        width = struct.calcsize(form)
        if len(changed) >= width:
            at = random.randrange(len(changed) // width) * width
            value = values.integer(random) & (256**width - 1)
            struct.pack_into(form, changed, at, value)
    return bytes(changed)


def _part(random: Random, content: bytes) -> tuple[int, int]:
    first = random.randrange(len(content) + 1)
    length = random.choice((1, 4, 16, 256, _MOST_ADDED, len(content)))
    return first, min(len(content), first + random.randint(0, length))


def _flip(random: Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(random.choice((1, 3, 20)) if content else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _overwrite(random: Random, content: bytes) -> bytes:
    first, end = _part(random, content)
    return (
        content[:first]
        + random.choice((b"\0", b"\xff", b"0", b"\n")) * (end - first)
        + content[end:]
    )


def _cut(random: Random, content: bytes) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def _remove(random: Random, content: bytes) -> bytes:
    first, end = _part(random, content)
    return content[:first] + content[end:]


def _repeat(random: Random, content: bytes) -> bytes:
    first, end = _part(random, content)
    part = content[first : min(end, first + _MOST_ADDED)]
    return content[:end] + part * random.choice((1, 2, 10)) + content[end:]


def _insert(random: Random, content: bytes) -> bytes:
    first, _ = _part(random, content)
    return content[:first] + random.randbytes(random.choice((1, 4, 100))) + content[first:]


def _splice(random: Random, content: bytes) -> bytes:
    first, end = _part(random, content)
    place = random.randrange(len(content) + 1)
    return content[:place] + content[first:end] + content[place + end - first :]


_CHANGES: tuple[Callable[[Random, bytes], bytes], ...] = (
    _flip,
    _flip,
    _overwrite,
    _cut,
    _remove,
    _repeat,
    _insert,
    _splice,
    mutate_records,
)
