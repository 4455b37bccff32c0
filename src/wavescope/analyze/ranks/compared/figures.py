"""A figure of two runs side by side, in its own unit; shares change by points."""

from __future__ import annotations

import enum
from typing import NamedTuple

from wavescope.model.result import Unit
from wavescope.units import duration_text, fixed_text, value_text


class Part(str, enum.Enum):
    """What a figure is of."""

    JOB = "job"
    COLLECTIVE = "collective"
    CULPRIT = "culprit"
    RANK = "rank"


class Figure(NamedTuple):
    """One figure in both runs; None where a run does not have it."""

    part: Part
    where: str
    metric: str
    unit: Unit
    base: float | None
    new: float | None

    @property
    def change(self) -> float | None:
        """New - base; of shares in points."""
        return None if self.base is None or self.new is None else self.new - self.base

    @property
    def change_percent(self) -> float | None:
        """Of the base; never of a share, which is a percentage itself."""
        if self.unit is Unit.PERCENT or self.change is None or not self.base:
            return None
        return 100 * self.change / abs(self.base)

    @property
    def weight(self) -> float:
        """How much it changed, to sort figures of one metric by."""
        return abs(self.change) if self.change is not None else 0.0

    @property
    def base_text(self) -> str:
        return _text(self.base, self.unit)

    @property
    def new_text(self) -> str:
        return _text(self.new, self.unit)

    @property
    def change_text(self) -> str:
        """The change as people read it: +1.20 ms (+3.4 %), -2.1 points."""
        if self.change is None:
            return "only in one run"
        sign = "+" if self.change >= 0 else "-"
        size = abs(self.change)
        if self.unit is Unit.PERCENT:
            text = fixed_text(size, 1)
            return f"{sign if text.strip('0.') else ''}{text} points"
        text = duration_text(size) if self.unit is Unit.NS else _text(size, self.unit)
        if self.change_percent is None:
            return f"{sign}{text}"
        share = f"{'+' if self.change_percent >= 0 else '-'}{abs(self.change_percent):.1f} %"
        return f"{sign}{text} ({share})"


def _text(value: float | None, unit: Unit) -> str:
    if unit is Unit.COUNT and value is not None:
        value = round(value)
    text = value_text(value, unit.value)
    if value is None or unit not in (Unit.PERCENT, Unit.GB_PER_S):
        return text
    return f"{text} {unit.value}"
