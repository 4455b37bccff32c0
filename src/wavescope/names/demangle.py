"""C++ symbol names back to what the programmer wrote, within fixed bounds.

The C++ runtime's own demangler is not used: a hostile symbol of 300 characters makes it produce
terabytes (every substitution may double the text), and the version of a common Linux release does
not know bfloat16, so that it fails on most of today's AMD kernels.
"""

from __future__ import annotations

import re

LONGEST_SYMBOL = 16_384


def strip_kernel_suffix(name: str) -> str:
    """Return the name without the `.kd` of an AMD kernel descriptor, however it is spelled.

    Demanglers set it apart in their own ways: `f(int) [clone .kd]` or `f(int) (.kd)`.
    """
    for suffix in ("[clone .kd]", "(.kd)", ".kd"):
        if name.endswith(suffix):
            return name.removesuffix(suffix).rstrip() or name
    return name


def demangle(name: str) -> str:
    """Return the C++ name behind a mangled one, or the name itself where there is none.

    A trailing `.kd` is dropped; other suffixes of the compiler (`.intern.b96e`) follow the name as
    `[clone .intern.b96e]`. Names that are not mangled, are broken or would grow without bounds come
    back unchanged.
    """
    symbol = strip_kernel_suffix(name)
    if not symbol.startswith("_Z") or len(symbol) > LONGEST_SYMBOL:
        return symbol
    # Most traces have readable names: the grammar of symbols is read when one is not.
    from wavescope.names.itanium_functions import demangled  # noqa: PLC0415

    return demangled(symbol) or symbol


_ADDRESS = re.compile(r"(?i)(?:\w+[ @])?0x[0-9a-f]+|(?=[a-f]*\d)[0-9a-f]{8,16}")
_NUMBER = re.compile(r"(?i)(?:kernel(?: id)?[ #]+)?\d+")
_UNKNOWN = re.compile(
    r"(?i)[(<\[]*(?:unknown|unnamed|unresolved|no name|null|n/a|\?+)\b.{0,40}|\?+"
)


def why_unresolved(name: str) -> str:
    """Say why a kernel's name tells nobody which kernel it is; nothing where it does.

    A profiler that could not look a kernel up writes its address, its number or that it is unknown;
    a symbol that stays mangled was cut off or follows no rule of the C++ ABI.
    """
    symbol = strip_kernel_suffix(name.strip())
    if not symbol:
        return "no name"
    if _ADDRESS.fullmatch(symbol):
        return "address"
    if _NUMBER.fullmatch(symbol):
        return "number"
    if _UNKNOWN.fullmatch(symbol):
        return "unknown"
    return "mangled" if demangle(symbol).startswith("_Z") else ""
