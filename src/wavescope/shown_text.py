"""Makes untrusted text fit to be read by people: names, paths and markers may hold anything."""

from __future__ import annotations

import re

_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNSAFE_CHARACTERS = (
    "\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
_UNSAFE = re.compile(f"[\x00-\x1f{_UNSAFE_CHARACTERS}]")
"""Control characters (ESC starts a terminal command), line separators, characters that reverse or
hide text, those that are none, and halves of surrogate pairs, which no output encoding accepts."""
_UNSAFE_IN_PAGES = re.compile(f"[\x00-\x08\x0b-\x1f{_UNSAFE_CHARACTERS}]")
"""The same but tabs and ends of lines, which pages lay out as they like."""
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


def visible(text: str) -> str:
    """`text` on one line, with everything a terminal would act on spelled as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_escaped, text)


def fit_for_pages(text: str) -> str:
    """`text` with its lines, and with all that a browser would hide or act on as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE_IN_PAGES.sub(_escaped, text)


def is_fit_for_pages(text: str) -> bool:
    """Whether `fit_for_pages` changes nothing."""
    return _UNSAFE_IN_PAGES.search(text) is None


def fit_for_spreadsheets(text: str) -> str:
    """`text` as a cell that no spreadsheet runs: visible, and formulas begin with an apostrophe."""
    shown = visible(text)
    is_formula = _FORMULA.match(shown) and not _NUMBER.fullmatch(shown)
    return f"'{shown}" if is_formula else shown


def _escaped(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
