"""What a library of macOS is and offers, read from its load commands."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_MAGIC_64 = 0xFEEDFACF
_TYPES = {2: "program", 6: "library", 8: "bundle"}
_PROCESSORS = {0x0100000C: "arm64", 0x01000007: "x86_64"}
_SYMTAB, _LOAD_DYLIB, _ID_DYLIB, _BUILD_VERSION, _CODE_SIGNATURE = 0x2, 0xC, 0xD, 0x32, 0x1D
_EXTERNAL, _PRIVATE, _TYPE_MASK, _DEBUG_MASK = 0x01, 0x10, 0x0E, 0xE0


@dataclass(frozen=True)
class MachLibrary:
    """One file: its kind and processor, the oldest macOS, what it needs and offers."""

    kind: str
    processor: str
    oldest_macos: tuple[int, int]
    own_name: str
    needed: tuple[str, ...]
    exported: frozenset[str]
    """Names as C has them, without the underscore in front."""
    is_signed: bool
    """Whether it has a signature, without which arm64 loads nothing."""


def read_mach_library(content: bytes) -> MachLibrary:
    """What the Mach-O file with this content says of itself; 64 bits, one processor."""
    magic, processor, _, kind, count, _, _, _ = struct.unpack_from("<8I", content, 0)
    if magic != _MAGIC_64:
        raise ValueError("not a Mach-O file of 64 bits for one processor")
    commands = _commands(content, count)
    oldest = next((struct.unpack_from("<4I", content, at)[3] for at in commands[_BUILD_VERSION]), 0)
    names = [_name(content, at) for at in commands[_ID_DYLIB]]
    return MachLibrary(
        kind=_TYPES.get(kind, str(kind)),
        processor=_PROCESSORS.get(processor, hex(processor)),
        oldest_macos=(oldest >> 16, oldest >> 8 & 0xFF),
        own_name=names[0] if names else "",
        needed=tuple(_name(content, at) for at in commands[_LOAD_DYLIB]),
        exported=frozenset(name for at in commands[_SYMTAB] for name in _exported(content, at)),
        is_signed=bool(commands[_CODE_SIGNATURE]),
    )


def _commands(content: bytes, count: int) -> dict[int, list[int]]:
    """Where the commands of each kind that is looked at begin."""
    kinds = (_SYMTAB, _LOAD_DYLIB, _ID_DYLIB, _BUILD_VERSION, _CODE_SIGNATURE)
    found: dict[int, list[int]] = {kind: [] for kind in kinds}
    at = 32
    for _ in range(count):
        kind, size = struct.unpack_from("<II", content, at)
        found.setdefault(kind, []).append(at)
        at += size
    return found


def _text(content: bytes, at: int) -> str:
    return content[at : content.index(0, at)].decode()


def _name(content: bytes, at: int) -> str:
    return _text(content, at + struct.unpack_from("<I", content, at + 8)[0])


def _exported(content: bytes, at: int) -> list[str]:
    symbols, count, texts, _ = struct.unpack_from("<4I", content, at + 8)
    rows = (struct.unpack_from("<IBBHQ", content, symbols + row * 16) for row in range(count))
    return [
        _text(content, texts + name).removeprefix("_")
        for name, kind, *_ in rows
        if kind & _EXTERNAL and kind & _TYPE_MASK and not kind & (_PRIVATE | _DEBUG_MASK)
    ]
