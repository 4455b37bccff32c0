"""Values that readers do not expect, in any format."""

from __future__ import annotations

from random import Random

INTEGERS = (
    0,
    1,
    -1,
    2,
    7,
    127,
    128,
    255,
    256,
    65_535,
    65_536,
    2**31 - 1,
    2**31,
    -(2**31),
    2**32 - 1,
    2**32,
    2**53,
    2**53 + 1,
    2**62,
    2**63 - 1,
    -(2**63),
)
"""Edges of the types that numbers are kept in; each fits a signed 64-bit integer."""
LARGER_INTEGERS = (2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**30, 10**400)
TEXTS = (
    "",
    " ",
    "soon",
    "0",
    "-1",
    "1e999",
    "nan",
    "inf",
    "0x10",
    "1_000",
    "1.5",
    "None",
    "null",
    "a\x00b",
    "\x1b[31mred\x1b[0m",
    "\u202eabc",
    "\U0001f600",
    "\ufeff",
    "é" * 40,
    "<script>alert(1)</script>",
    "=1+1",
    "'; DROP TABLE rocpd_op; --",
    "../../../../etc/passwd",
    "/dev/zero",
    "%s%n",
    "{0.__class__}",
    "_ZN",
    "_Z" + "N" * 50 + "1a",
    "line\nbreak",
    '"',
    "\\",
    "٣",
    "x" * 5_000,
)


def integer(random: Random) -> int:
    """An integer at an edge, near one, or anywhere."""
    choice = random.random()
    if choice < 0.6:
        return random.choice(INTEGERS)
    if choice < 0.8:
        return max(-(2**63), min(2**63 - 1, random.choice(INTEGERS) + random.randint(-2, 2)))
    return random.getrandbits(random.choice((8, 16, 32, 63)))


def text(random: Random) -> str:
    """A text that means something somewhere, or is none."""
    return random.choice(TEXTS)
