"""Reads the texts of a process: marker names and text arguments, known elsewhere by their ids."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.session.layout import TEXT_ENTRY
from wavescope.formats.session.lookup import Lookup
from wavescope.model.columns import UNKNOWN
from wavescope.model.strings import StringTable

_LONGEST_TEXT_BYTES = 1 << 20


class Texts:
    """Codes, in the trace's string table, of the texts of one process."""

    def __init__(self, path: Path, strings: StringTable) -> None:
        self.torn_bytes = 0
        """Bytes at the end that are no whole entry."""
        self._strings = strings
        codes: dict[int, int] = {}
        if path.is_file():
            for identity, text in self._entries(path):
                codes.setdefault(identity, strings.code(text.decode("utf-8", "replace")))
        self._codes = Lookup(codes)

    def codes(self, identities: Array) -> Array:
        """The codes of texts by id, unknown ones -1."""
        return self._codes.values(identities, UNKNOWN).astype(np.int32)

    def text(self, identity: int) -> str:
        """The text of an id, or nothing."""
        return self._strings[self._codes.get(identity, UNKNOWN)]

    def _entries(self, path: Path) -> Iterator[tuple[int, bytes]]:
        left_bytes = path.stat().st_size
        with path.open("rb") as file:
            while left_bytes >= TEXT_ENTRY.size:
                head = file.read(TEXT_ENTRY.size)
                if len(head) < TEXT_ENTRY.size:
                    break
                identity, text_bytes = TEXT_ENTRY.unpack(head)
                padded_bytes = -(-text_bytes // 8) * 8
                is_whole = padded_bytes <= min(_LONGEST_TEXT_BYTES, left_bytes - TEXT_ENTRY.size)
                if identity == 0 and text_bytes == 0:  # space that was never filled
                    return
                if identity == 0 or not is_whole:
                    break
                yield identity, file.read(padded_bytes)[:text_bytes]
                left_bytes -= TEXT_ENTRY.size + padded_bytes
        self.torn_bytes = left_bytes
