"""Units of measure of counters and metrics: what they measure, and by which factor.

A measure is a power of each base (byte, second, cycle, operation) and a scale. Things that are
counted (instructions, requests, waves) have no base of their own: `instr/cycle` is `1/cycle`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from wavescope.errors import WavescopeError

_BASES = ("byte", "second", "cycle", "operation")
Powers = tuple[int, int, int, int]

_NOTHING: Powers = (0, 0, 0, 0)
_BYTE: Powers = (1, 0, 0, 0)
_SECOND: Powers = (0, 1, 0, 0)
_CYCLE: Powers = (0, 0, 1, 0)
_OPERATION: Powers = (0, 0, 0, 1)

_UNITS: dict[str, tuple[Powers, float]] = {
    "1": (_NOTHING, 1.0),
    "%": (_NOTHING, 0.01),
    "B": (_BYTE, 1.0),
    "byte": (_BYTE, 1.0),
    "kB": (_BYTE, 1e3),
    "MB": (_BYTE, 1e6),
    "GB": (_BYTE, 1e9),
    "ns": (_SECOND, 1e-9),
    "us": (_SECOND, 1e-6),
    "ms": (_SECOND, 1e-3),
    "s": (_SECOND, 1.0),
    "cycle": (_CYCLE, 1.0),
    "MHz": ((0, -1, 1, 0), 1e6),
    "OP": (_OPERATION, 1.0),
    "FLOP": (_OPERATION, 1.0),
    "IOP": (_OPERATION, 1.0),
    "GFLOP": (_OPERATION, 1e9),
    "GIOP": (_OPERATION, 1e9),
}
_COUNTED = frozenset(
    [
        "access",
        "accesses",
        "conflict",
        "CU",
        "hit",
        "instr",
        "line",
        "miss",
        "misses",
        "register",
        "req",
        "thread",
        "wave",
        "workgroup",
        "work_item",
        "dispatch",
        "lane",
    ]
)


class UnitError(WavescopeError):
    """A unit is unknown, or two that differ are added or compared."""


class Measure(NamedTuple):
    """What a number measures; `scale` turns it into bytes, seconds, cycles and operations."""

    powers: Powers = _NOTHING
    scale: float = 1.0

    def times(self, other: Measure, sign: int = 1) -> Measure:
        """The measure of a product, or with `sign` -1 of a quotient."""
        first, second = self.powers, other.powers
        powers = (
            first[0] + sign * second[0],
            first[1] + sign * second[1],
            first[2] + sign * second[2],
            first[3] + sign * second[3],
        )
        scale = self.scale * other.scale if sign > 0 else self.scale / other.scale
        return Measure(powers, scale)

    def __str__(self) -> str:
        parts = [
            name if power == 1 else f"{name}^{power}"
            for name, power in zip(_BASES, self.powers, strict=True)
            if power
        ]
        return "*".join(parts) or "a plain number"


PLAIN = Measure()


@functools.cache
def parsed_measure(text: str) -> Measure:
    """The measure that `GB/s`, `instr/cycle`, `cycles` or `%` name."""
    measure = PLAIN
    for place, part in enumerate(text.strip().split("/")):
        measure = measure.times(_unit(part.strip(), text), 1 if place == 0 else -1)
    return measure


def _unit(name: str, whole: str) -> Measure:
    word = name.replace(" ", "_")
    for spelled in (word, word.removesuffix("s")):
        if spelled in _UNITS:
            return Measure(*_UNITS[spelled])
        if spelled in _COUNTED:
            return PLAIN
    raise UnitError(
        f"'{name}' in '{whole}' is not a known unit",
        hint=f"known are: {', '.join([*_UNITS, *sorted(_COUNTED)])}",
    )
