"""Kernels that do nothing, without a compiler: the code object that HIP loads, made byte by byte.

An ELF file as LLVM's "User Guide for AMDGPU Backend" describes code objects of version 4: for each
kernel a descriptor, one instruction that ends the program, and an entry in the note with metadata.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

CHIP = "gfx90a"
_CHIP_FLAGS = 0x3F | 0x100 | 0x400  # gfx90a; with or without XNACK and SRAM-ECC
_END_PROGRAM = 0xBF810000
_REGISTERS = (0x00AF0000, 0x88)  # as few as there can be; floating point as HIP has it
_PAGE = 0x1000
_CODE_ALIGNMENT = 256
_HEADER, _SEGMENT, _SECTION, _SYMBOL, _DESCRIPTOR = 64, 56, 64, 24, 64
_SEGMENT_COUNT = 5
_OBJECT, _FUNCTION = 0x11, 0x12  # of global binding
_READ, _READ_EXECUTE, _READ_WRITE = 4, 5, 6


def bundle(names: Sequence[str]) -> bytes:
    """The code object in the wrapping in which HIP programs carry theirs."""
    device = code_object(names)
    targets = (b"host-x86_64-unknown-linux--", f"hipv4-amdgcn-amd-amdhsa--{CHIP}".encode())
    entries = b""
    for target, size in zip(targets, (0, len(device)), strict=True):
        entries += struct.pack("<QQQ", _PAGE, size, len(target)) + target
    return _placed(
        (0, b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 2) + entries), (_PAGE, device)
    )


def code_object(names: Sequence[str]) -> bytes:
    """A code object with a kernel of each of these names; none has arguments."""
    file = _File(names)
    return _placed(
        (0, file.header()),
        (_HEADER, file.segments()),
        (file.note_at, file.note),
        (file.symbols_at, b"".join(file.symbols())),
        (file.hashes_at, file.hashes),
        (file.strings_at, file.strings),
        (file.descriptors_at, b"".join(file.descriptors())),
        (file.code_at, file.code),
        (file.dynamic_at, file.dynamic),
        (file.titles_at, file.titles),
        (file.sections_at, bytes(_SECTION) + b"".join(file.sections())),
    )


class _File:
    """The parts of the file and their places, which are also their addresses."""

    def __init__(self, names: Sequence[str]) -> None:
        self.count = len(names)
        self.note = _note(_packed(_metadata(names)))
        self.note_at = _HEADER + _SEGMENT_COUNT * _SEGMENT
        self.symbols_at = _aligned(self.note_at + len(self.note), 8)
        self.hashes = _hashes(1 + 2 * self.count)
        self.hashes_at = self.symbols_at + (1 + 2 * self.count) * _SYMBOL
        self.strings_at = self.hashes_at + len(self.hashes)
        self.strings, self.names = _string_table([*names, *(f"{name}.kd" for name in names)])
        self.descriptors_at = _aligned(self.strings_at + len(self.strings), _DESCRIPTOR)
        self.constants_end = self.descriptors_at + self.count * _DESCRIPTOR
        self.code_at = _aligned(self.constants_end, _PAGE)
        instruction = struct.pack("<I", _END_PROGRAM)
        self.code = instruction.ljust(_CODE_ALIGNMENT, b"\0") * self.count
        self.dynamic_at = _aligned(self.code_at + len(self.code), _PAGE)
        self.dynamic = self._dynamic()
        self.titles_at = self.dynamic_at + len(self.dynamic)
        self.titles, self._title_places = _string_table([row[0] for row in self._rows(0)])
        self.sections_at = _aligned(self.titles_at + len(self.titles), 8)

    def header(self) -> bytes:
        """What kind of file it is, and where its tables are."""
        identity = b"\x7fELF" + bytes((2, 1, 1, 64, 2)).ljust(12, b"\0")
        shared_object, amdgpu, version = 3, 224, 1
        places = (0, _HEADER, self.sections_at, _CHIP_FLAGS)
        count = 1 + len(self._title_places)
        sizes = (_HEADER, _SEGMENT, _SEGMENT_COUNT, _SECTION, count, count - 1)
        kinds = (shared_object, amdgpu, version)
        return identity + struct.pack("<HHIQQQI6H", *kinds, *places, *sizes)

    def segments(self) -> bytes:
        """What the loader puts into memory."""
        load, dynamic, note = 1, 2, 4
        return (
            _segment(load, _READ, 0, self.constants_end, _PAGE)
            + _segment(load, _READ_EXECUTE, self.code_at, len(self.code), _PAGE)
            + _segment(load, _READ_WRITE, self.dynamic_at, len(self.dynamic), _PAGE)
            + _segment(dynamic, _READ_WRITE, self.dynamic_at, len(self.dynamic), 8)
            + _segment(note, _READ, self.note_at, len(self.note), 4)
        )

    def symbols(self) -> Iterator[bytes]:
        """The functions, then the descriptors, in the order of their names."""
        protected, rodata, text = 3, 5, 6
        yield bytes(_SYMBOL)
        for index, name in enumerate(self.names[: self.count]):
            place = self._code(index)
            yield struct.pack("<IBBHQQ", name, _FUNCTION, protected, text, place, 4)
        for index, name in enumerate(self.names[self.count :]):
            place = self._descriptor(index)
            yield struct.pack("<IBBHQQ", name, _OBJECT, protected, rodata, place, _DESCRIPTOR)

    def descriptors(self) -> Iterator[bytes]:
        """For each kernel where its code is, seen from here, and what it needs."""
        for index in range(self.count):
            words = struct.pack("<IIIIq", 0, 0, 0, 0, self._code(index) - self._descriptor(index))
            yield (words.ljust(48, b"\0") + struct.pack("<II", *_REGISTERS)).ljust(64, b"\0")

    def sections(self) -> Iterator[bytes]:
        """The table by which HIP finds the parts."""
        rows = self._rows(len(self.titles))
        for title, (_, kind, flags, place, size, link, info, alignment, entry) in zip(
            self._title_places, rows, strict=True
        ):
            numbers = (title, kind, flags, place if flags else 0, place, size)
            yield struct.pack("<IIQQQQIIQQ", *numbers, link, info, alignment, entry)

    def _rows(self, titles_size: int) -> list[tuple[str, int, int, int, int, int, int, int, int]]:
        """Title, type, flags, place, size, link, info, alignment, size of an entry."""
        symbols_size = self.hashes_at - self.symbols_at
        descriptors_size = self.constants_end - self.descriptors_at
        return [
            (".note", 7, 2, self.note_at, len(self.note), 0, 0, 4, 0),
            (".dynsym", 11, 2, self.symbols_at, symbols_size, 4, 1, 8, _SYMBOL),
            (".hash", 5, 2, self.hashes_at, len(self.hashes), 2, 0, 4, 4),
            (".dynstr", 3, 2, self.strings_at, len(self.strings), 0, 0, 1, 0),
            (".rodata", 1, 2, self.descriptors_at, descriptors_size, 0, 0, _DESCRIPTOR, 0),
            (".text", 1, 6, self.code_at, len(self.code), 0, 0, _CODE_ALIGNMENT, 0),
            (".dynamic", 6, 3, self.dynamic_at, len(self.dynamic), 4, 0, 8, 16),
            # HIP looks symbols up in the table that can be stripped: it is the same one.
            (".symtab", 2, 0, self.symbols_at, symbols_size, 9, 1, 8, _SYMBOL),
            (".strtab", 3, 0, self.strings_at, len(self.strings), 0, 0, 1, 0),
            (".shstrtab", 3, 0, self.titles_at, titles_size, 0, 0, 1, 0),
        ]

    def _dynamic(self) -> bytes:
        symbols, symbol_size, strings, strings_size, hashes, end = 6, 11, 5, 10, 4, 0
        facts = {
            symbols: self.symbols_at,
            symbol_size: _SYMBOL,
            strings: self.strings_at,
            strings_size: len(self.strings),
            hashes: self.hashes_at,
            end: 0,
        }
        return b"".join(struct.pack("<QQ", *fact) for fact in facts.items())

    def _code(self, index: int) -> int:
        return self.code_at + index * _CODE_ALIGNMENT

    def _descriptor(self, index: int) -> int:
        return self.descriptors_at + index * _DESCRIPTOR


def _segment(kind: int, rights: int, place: int, size: int, alignment: int) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, rights, place, place, place, size, size, alignment)


def _hashes(symbol_count: int) -> bytes:
    """A table with one bucket: whoever looks a name up walks all symbols."""
    chain = [*range(2, symbol_count), 0]
    return struct.pack(f"<{4 + len(chain)}I", 1, symbol_count, 1, 0, *chain)


def _metadata(names: Sequence[str]) -> dict[str, Any]:
    common = {
        ".args": [],
        ".group_segment_fixed_size": 0,
        ".kernarg_segment_align": 4,
        ".kernarg_segment_size": 0,
        ".language": "OpenCL C",
        ".language_version": [2, 0],
        ".max_flat_workgroup_size": 1024,
        ".private_segment_fixed_size": 0,
        ".sgpr_count": 0,
        ".vgpr_count": 0,
        ".wavefront_size": 64,
    }
    return {
        "amdhsa.kernels": [{".name": name, ".symbol": f"{name}.kd", **common} for name in names],
        "amdhsa.target": f"amdgcn-amd-amdhsa--{CHIP}",
        "amdhsa.version": [1, 1],
    }


def _packed(value: Any) -> bytes:
    """A value of the metadata as MessagePack, in the longest spelling of each kind."""
    if isinstance(value, dict):
        items = b"".join(_packed(key) + _packed(item) for key, item in value.items())
        return struct.pack(">BI", 0xDF, len(value)) + items
    if isinstance(value, list):
        return struct.pack(">BI", 0xDD, len(value)) + b"".join(map(_packed, value))
    if isinstance(value, str):
        text = value.encode()
        return struct.pack(">BI", 0xDB, len(text)) + text
    return struct.pack(">BI", 0xCE, value)


def _note(content: bytes) -> bytes:
    metadata = 32
    name = b"AMDGPU\0\0"
    head = struct.pack("<III", 7, len(content), metadata)
    return head + name + content.ljust(_aligned(len(content), 4), b"\0")


def _string_table(names: Sequence[str]) -> tuple[bytes, list[int]]:
    """The names one after the other, and where each begins."""
    table, places = b"\0", []
    for name in names:
        places.append(len(table))
        table += name.encode() + b"\0"
    return table, places


def _placed(*parts: tuple[int, bytes]) -> bytes:
    """The parts, each at its place."""
    content = b""
    for place, part in parts:
        content = content.ljust(place, b"\0") + part
    return content


def _aligned(place: int, alignment: int) -> int:
    return -(-place // alignment) * alignment
