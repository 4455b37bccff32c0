"""Makes untrusted text safe to show: names, paths and markers may hold anything."""

from __future__ import annotations

import re
import unicodedata

_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Control characters (ESC starts a terminal command), line separators, characters that reverse or
hide text, and halves of surrogate pairs, which no output encoding accepts."""


def visible(text: str) -> str:
    """`text` on one line, with everything a terminal would act on spelled as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def cell_width(text: str) -> int:
    """How many terminal cells `text` takes: wide East Asian characters and emoji take two."""
    if text.isascii():
        return len(text)
    return sum(_character_width(character) for character in text)


def _character_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shortened(text: str, width: int) -> str:
    """`text` in at most `width` cells; what is left out of the middle becomes an ellipsis.

    Kernel names tell most at their beginning and something at their end, so the head gets more.
    """
    if len(text) <= width // 2 or cell_width(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    tail = (width - 1) // 3
    return _leading(text, width - 1 - tail) + "…" + _leading(text[::-1], tail)[::-1]


def _leading(text: str, width: int) -> str:
    taken = 0
    for index, character in enumerate(text):
        taken += _character_width(character)
        if taken > width:
            return text[:index]
    return text


def padded(text: str, width: int, *, right: bool) -> str:
    """`text` filled up with spaces to `width` cells."""
    space = " " * (width - cell_width(text))
    return space + text if right else text + space
