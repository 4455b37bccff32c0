"""Draws the roofline with characters on log axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from wavescope.analyze.counters.roofline import MemoryLevel, Roofline
from wavescope.render.cells.escape import shortened, visible

_HEIGHT = 20
_LABEL_WIDTH = 9
_LEAST_WIDTH = 40
_GREATEST_WIDTH = 110
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class _Axis(NamedTuple):
    """A log axis between two powers of ten, over so many cells."""

    low: int
    high: int
    cells: int

    def place(self, value: float) -> int:
        """The cell of a value, possibly outside."""
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(share * (self.cells - 1))

    def value(self, place: int) -> float:
        """The value in the middle of a cell."""
        return 10 ** (self.low + place * (self.high - self.low) / (self.cells - 1))


def roofline_lines(roofline: Roofline, width: int, level: MemoryLevel) -> list[str]:
    """The plot of one memory level with its bandwidth, the rates, and a letter for each point."""
    columns = max(min(width, _GREATEST_WIDTH) - _LABEL_WIDTH - 2, _LEAST_WIDTH)
    bandwidth = next((c.value for c in roofline.ceilings if c.level is level), None)
    rate_lines = roofline.rate_lines()
    rates = [ceiling.value for ceiling in rate_lines]
    if bandwidth is None or not rates:
        return [f"no plot of {level.value}: its bandwidth or the peak rates are not known"]
    points = [
        (letter, point.intensity[level], point.performance)
        for letter, point in zip(_LETTERS, roofline.points, strict=False)
        if point.intensity.get(level, 0) > 0 and point.performance > 0
    ]
    across = _axis([p[1] for p in points] + [0.1, max(rates) / bandwidth * 4], columns)
    up = _axis([p[2] for p in points] + [min(rates) / 10, max(rates)], _HEIGHT)
    cells = [[" "] * columns for _ in range(_HEIGHT)]
    _draw_roofs(cells, across, up, bandwidth, rates)
    for letter, x, y in points:
        _put(cells, across.place(x), up.place(y), letter)
    lines = [f"performance (GFLOP/s) over intensity (FLOP/B, {level.value})"]
    lines += _framed(cells, up)
    lines += _bottom(across, columns)
    lines.append(f"/ {level.value} {bandwidth:,.0f} GB/s")
    lines += [f"- {rate.name} {rate.value:,.0f} {rate.unit}" for rate in rate_lines]
    lines += _legend(roofline, level, width)
    return lines


def _axis(values: Sequence[float], cells: int) -> _Axis:
    low = math.floor(math.log10(min(values)))
    high = math.ceil(math.log10(max(values)))
    return _Axis(low, max(high, low + 1), cells)


def _draw_roofs(
    cells: list[list[str]], across: _Axis, up: _Axis, bandwidth: float, rates: Sequence[float]
) -> None:
    top = max(rates)
    for column in range(across.cells):
        x = across.value(column)
        if bandwidth * x <= top:
            _put(cells, column, up.place(bandwidth * x), "/")
        for rate in rates:
            if rate <= bandwidth * x:
                _put(cells, column, up.place(rate), "-")


def _put(cells: list[list[str]], column: int, row: int, mark: str) -> None:
    if 0 <= row < len(cells) and 0 <= column < len(cells[0]):
        cells[row][column] = mark


def _framed(cells: list[list[str]], up: _Axis) -> list[str]:
    labels = {up.place(10.0**power): f"1e{power}" for power in range(up.low, up.high + 1)}
    return [
        f"{labels.get(row, ''):>{_LABEL_WIDTH}} |{''.join(cells[row])}".rstrip()
        for row in range(len(cells) - 1, -1, -1)
    ]


def _bottom(across: _Axis, columns: int) -> list[str]:
    marks = [" "] * (columns + 6)
    for power in range(across.low, across.high + 1):
        text = f"1e{power}"
        at = across.place(10.0**power)
        marks[at : at + len(text)] = text
    return [
        " " * _LABEL_WIDTH + " +" + "-" * columns,
        " " * (_LABEL_WIDTH + 2) + "".join(marks).rstrip(),
    ]


def _legend(roofline: Roofline, level: MemoryLevel, width: int) -> list[str]:
    lines = []
    for letter, point in zip(_LETTERS, roofline.points, strict=False):
        intensity = point.intensity.get(level)
        place = (
            f"{intensity:.3g} FLOP/B, {point.performance:,.4g} GFLOP/s"
            if intensity and point.performance > 0
            else "not drawn: no operations or no bytes at this level"
        )
        name = shortened(visible(point.name), max(width - len(place) - 6, 20))
        lines.append(f"{letter} {name}: {place}")
    return lines
