"""One thing to change, with its evidence; what becomes a finding of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from wavescope.model.capture import Integers
from wavescope.model.result import Value


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


class Gain(NamedTuple):
    """Percent of all waves' time that a change can save at most, and how that is known."""

    percent: float | None
    """None where nothing is promised."""
    basis: str
