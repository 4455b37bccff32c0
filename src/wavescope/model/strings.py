"""The string table of a trace: every name once, rows hold its code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from wavescope.model.columns import UNKNOWN

UNKNOWN_TEXT = ""


class StringTable:
    """Distinct strings by code (0, 1, 2, ...); code -1 reads as the empty string."""

    def __init__(self, strings: Iterable[str] = ()) -> None:
        self._strings: list[str] = []
        self._codes: dict[str, int] = {}
        for string in strings:
            self.code(string)

    def __len__(self) -> int:
        return len(self._strings)

    def __iter__(self) -> Iterator[str]:
        return iter(self._strings)

    def __getitem__(self, code: int) -> str:
        return UNKNOWN_TEXT if code < 0 else self._strings[code]

    def code(self, string: str) -> int:
        """The code of `string`, which is added when new."""
        code = self._codes.get(string)
        if code is None:
            code = self._codes[string] = len(self._strings)
            self._strings.append(string)
        return code

    def find(self, string: str) -> int:
        """The code of `string`, or -1 when the table does not have it."""
        return self._codes.get(string, UNKNOWN)

    def codes(self, strings: Sequence[str]) -> npt.NDArray[np.int32]:
        """The codes of `strings`, adding the new ones."""
        return np.fromiter((self.code(s) for s in strings), np.int32, len(strings))

    def decode(self, codes: npt.NDArray[np.integer]) -> list[str]:
        """The strings that `codes` stand for."""
        strings = self._strings
        return [strings[code] if code >= 0 else UNKNOWN_TEXT for code in codes.tolist()]
