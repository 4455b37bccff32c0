"""Units: how durations, sizes, counts and shares are spelled for people, and parsed from them."""

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
