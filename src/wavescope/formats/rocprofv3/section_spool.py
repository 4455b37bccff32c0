"""JSON elements that arrive in any order of sections, kept in a temporary file until written."""

from __future__ import annotations

import tempfile
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import IO, BinaryIO

_COPY_BYTES = 1 << 20


class SectionSpool:
    """Elements by section; what is kept in memory is where each block of them lies."""

    def __init__(self, folder: Path) -> None:
        """The nameless file lies in `folder`: where the output goes there is room for it."""
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  see close
        self._places: dict[Hashable, list[tuple[int, int]]] = {}
        self._end = 0

    def add(self, section: Hashable, elements: Sequence[str]) -> None:
        """Append elements (JSON texts) to a section."""
        if elements:
            data = ",\n".join(elements).encode("utf-8", "replace")
            self._places.setdefault(section, []).append((self._end, len(data)))
            self._file.seek(self._end)
            self._end += self._file.write(data)

    def write_array(self, section: Hashable, output: BinaryIO) -> None:
        """Write a section as a JSON array."""
        separator = b"["
        for offset, size in self._places.get(section, ()):
            output.write(separator)
            self._copy(offset, size, output)
            separator = b",\n"
        output.write(b"]" if separator != b"[" else b"[]")

    def close(self) -> None:
        self._file.close()

    def _copy(self, offset: int, size: int, output: BinaryIO) -> None:
        self._file.seek(offset)
        while size:
            data = self._file.read(min(size, _COPY_BYTES))
            output.write(data)
            size -= len(data)
