"""What a shared library asks of others and offers to them, read from its dynamic section."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MACHINES = {62: "x86_64", 183: "aarch64"}
_LOAD, _DYNAMIC = 1, 2
_NEEDED, _HASH, _STRTAB, _SYMTAB, _FLAGS_1 = 1, 4, 5, 6, 0x6FFFFFFB
_VERNEED, _VERNEEDNUM, _GNU_HASH = 0x6FFFFFFE, 0x6FFFFFFF, 0x6FFFFEF5
_NODELETE = 8
_GLOBAL_BINDINGS = (1, 2, 10)  # weak ones, too, and those that a process has one of


@dataclass(frozen=True)
class SharedLibrary:
    """One library: what it is for, needs and offers."""

    machine: str
    needed: tuple[str, ...]
    """Names of the libraries that it is linked with."""
    versions: frozenset[str]
    """Versions of symbols that it asks for, such as GLIBC_2.14."""
    exported: frozenset[str]
    """Names that others can link with."""
    imported: frozenset[str]
    """Names that it takes from others."""
    sections: tuple[str, ...]
    is_never_unloaded: bool


def read_library(content: bytes) -> SharedLibrary:
    """What the ELF file with this content says of itself; 64 bits, little endian."""
    return _Reader(content).library()


def library_of(path: Path) -> SharedLibrary:
    """What the ELF file at `path` says of itself."""
    return read_library(path.read_bytes())


class _Reader:
    """The tables of one file; addresses are those that it has in memory."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        if content[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not an ELF file of 64 bits, little endian")
        header = struct.unpack_from("<HHIQQQIHHHHHH", content, 16)
        self.machine = _MACHINES.get(header[1], str(header[1]))
        self.section_table = (header[5], header[10], header[11], header[12])
        self.segments = [
            struct.unpack_from("<IIQQQQQQ", content, header[4] + number * header[8])
            for number in range(header[9])
        ]
        self.dynamic = list(self._dynamic())
        self.values = dict(self.dynamic)

    def library(self) -> SharedLibrary:
        exported, imported = self._symbols()
        return SharedLibrary(
            machine=self.machine,
            needed=tuple(self._text(value) for tag, value in self.dynamic if tag == _NEEDED),
            versions=frozenset(self._versions()),
            exported=exported,
            imported=imported,
            sections=tuple(self._sections()),
            is_never_unloaded=bool(self.values.get(_FLAGS_1, 0) & _NODELETE),
        )

    def _dynamic(self) -> Iterator[tuple[int, int]]:
        (segment,) = (segment for segment in self.segments if segment[0] == _DYNAMIC)
        for at in range(segment[2], segment[2] + segment[5], 16):
            tag, value = struct.unpack_from("<QQ", self.content, at)
            if tag == 0:
                return
            yield tag, value

    def _offset(self, address: int) -> int:
        """Where in the file the content at an address lies."""
        for kind, _, offset, start, _, in_file, _, _ in self.segments:
            if kind == _LOAD and start <= address < start + in_file:
                return int(address - start + offset)
        raise ValueError(f"address {address:#x} is not in the file")

    def _at(self, offset: int) -> str:
        return self.content[offset : self.content.index(0, offset)].decode()

    def _text(self, place: int) -> str:
        return self._at(self._offset(self.values[_STRTAB]) + place)

    def _symbol_count(self) -> int:
        if _HASH in self.values:
            return int(struct.unpack_from("<II", self.content, self._offset(self.values[_HASH]))[1])
        return self._gnu_symbol_count()

    def _gnu_symbol_count(self) -> int:
        """One behind the last symbol of the last chain."""
        at = self._offset(self.values[_GNU_HASH])
        bucket_count, first, bloom_count, _ = struct.unpack_from("<IIII", self.content, at)
        buckets_at = at + 16 + bloom_count * 8
        last = max(struct.unpack_from(f"<{bucket_count}I", self.content, buckets_at))
        if last < first:
            return int(first)
        chains_at = buckets_at + bucket_count * 4
        while not struct.unpack_from("<I", self.content, chains_at + (last - first) * 4)[0] & 1:
            last += 1
        return int(last) + 1

    def _symbols(self) -> tuple[frozenset[str], frozenset[str]]:
        exported: set[str] = set()
        imported: set[str] = set()
        table = self._offset(self.values[_SYMTAB])
        for number in range(1, self._symbol_count()):
            name, info, _, section, *_ = struct.unpack_from(
                "<IBBHQQ", self.content, table + number * 24
            )
            if info >> 4 in _GLOBAL_BINDINGS:
                (exported if section else imported).add(self._text(name))
        return frozenset(exported), frozenset(imported)

    def _versions(self) -> Iterator[str]:
        if _VERNEED not in self.values:
            return
        at = self._offset(self.values[_VERNEED])
        for _ in range(self.values[_VERNEEDNUM]):
            _, count, _, first, next_library = struct.unpack_from("<HHIII", self.content, at)
            entry = at + first
            for _ in range(count):
                _, _, _, name, next_entry = struct.unpack_from("<IHHII", self.content, entry)
                yield self._text(name)
                entry += next_entry
            at += next_library

    def _sections(self) -> Iterator[str]:
        start, size, count, names_number = self.section_table
        headers = [
            struct.unpack_from("<IIQQQQ", self.content, start + number * size)
            for number in range(count)
        ]
        names_at = headers[names_number][4] if headers else 0
        return (self._at(names_at + header[0]) for header in headers)
