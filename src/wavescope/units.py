"""How values are spelled for people, and parsed: durations, sizes, counts, shares, and text.

Text from outside is untrusted: names, paths and markers may hold anything.
"""

from __future__ import annotations

import re

from wavescope.errors import UsageError

_DURATION = re.compile(r"([+-]?)(\d{1,18})(?:\.(\d*))?\s*(ns|us|ms|s)", re.ASCII)
NS_PER = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def duration_text(duration_ns: int | float) -> str:
    """A duration with three or four significant digits: 950 ns, 12.3 us, 1.50 ms, 2.04 s."""
    for unit in ("s", "ms", "us"):
        if abs(duration_ns) >= NS_PER[unit]:
            return f"{_significant(duration_ns / NS_PER[unit])} {unit}"
    return f"{round(duration_ns)} ns"


def bytes_text(size_bytes: int) -> str:
    """A size in decimal units, as bandwidths are: 512 B, 1.50 kB, 12.3 MB."""
    value = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(value) < 1000 or unit == "TB":
            return f"{size_bytes} B" if unit == "B" else f"{_significant(value)} {unit}"
        value /= 1000
    raise AssertionError("unreachable")


def count_text(count: int) -> str:
    """A count with thousands separators."""
    return f"{count:,}"


def percent_of(part: float, whole: float) -> float | None:
    """100 * part / whole, None where there is no whole."""
    return 100 * part / whole if whole else None


def counted(count: int, noun: str) -> str:
    """A count with its noun: 1 op, 1,234 ops."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


ABSENT = "-"


def value_text(value: str | int | float | bool | None, unit: str = "") -> str:
    """One value as people read it; `unit` is ns, bytes, count, % or GB/s, which are not added."""
    if value is None or value != value:  # noqa: PLR0124  not a number
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if unit == "ns":
        return duration_text(value)
    if unit == "bytes":
        return bytes_text(int(value))
    if unit == "count":
        return count_text(int(value))
    if unit in {"%", "GB/s"}:
        return fixed_text(value, 1)
    return str(value) if isinstance(value, int) else real_text(value)


def fixed_text(value: int | float, decimals: int) -> str:
    """A number with so many decimals; what rounds to zero has no sign."""
    text = f"{value:,.{decimals}f}"
    return text.removeprefix("-") if text.strip("-0.") == "" else text


def real_text(value: float) -> str:
    """A number without a unit, four digits of it or one decimal."""
    return f"{value:,.1f}" if 1000 <= abs(value) < 1e12 else f"{value:.4g}"


def _significant(value: float) -> str:
    magnitude = abs(value)
    if magnitude >= 100:
        return f"{value:.1f}"
    return f"{value:.2f}" if magnitude >= 10 else f"{value:.3f}"


def parse_offset_ns(text: str) -> int:
    """Nanoseconds of a spelled duration such as '1.5ms' or '20us'; digits below 1 ns are cut."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"'{text}' is not a duration", hint="write for example 20us, 1.5ms or 2s")
    sign, whole, fraction, unit = found.groups()
    digits = len(str(NS_PER[unit])) - 1
    part = (fraction or "")[:digits].ljust(digits, "0") or "0"
    value = int(whole) * NS_PER[unit] + int(part)
    return -value if sign == "-" else value


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
