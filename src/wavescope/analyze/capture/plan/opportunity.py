"""One thing to change, with its evidence; what becomes a finding of the plan."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from wavescope.model.capture import Integers
from wavescope.model.result import Value

HIGH_PERCENT = 8.0
MEDIUM_PERCENT = 3.0
LEAST_PERCENT = 0.5

REMOVED_STALL = (
    "upper bound: {exposed:,} exposed stall cycles of {lifetime:,} wave cycles removed from the "
    "wave timelines; exposed is what no traced wave of the SIMD and no matrix instruction hides"
)
REMOVED_ROWS = (
    "upper bound: {exposed:,} stall cycles of {lifetime:,} cycles of all rows removed; without "
    "wave files nobody knows which part of them other waves hide"
)


class Priority(str, enum.Enum):
    """How much a change is worth at most."""

    HIGH = "HIGH"
    MEDIUM = "MED"
    LOW = "LOW"


@dataclass(frozen=True)
class Sketch:
    """The change in the kernel's own lines, before and after."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def _no_pieces() -> Integers:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Opportunity:
    """What a pattern found.

    The gain is the exposed stall of `pieces` unless `gain_cycles` says another number of cycles;
    `gain_basis` then says where that is from. An opportunity without either promises nothing.
    """

    pattern: str
    title: str
    evidence: str
    cause: str
    fix: str
    where: str = ""
    pieces: Integers = field(default_factory=_no_pieces)
    gain_cycles: int | None = None
    gain_basis: str = ""
    sketch: Sketch = Sketch()
    numbers: Mapping[str, Value] = field(default_factory=dict)


def priority_of(gain_percent: float | None) -> Priority:
    """HIGH from 8 % of the waves' time, MED from 3 %."""
    if gain_percent is None or gain_percent < MEDIUM_PERCENT:
        return Priority.LOW
    return Priority.HIGH if gain_percent >= HIGH_PERCENT else Priority.MEDIUM
