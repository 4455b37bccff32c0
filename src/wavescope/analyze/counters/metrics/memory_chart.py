"""Panel 3 as boxes: what each part of the memory hierarchy did, and what went between them."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from wavescope.analyze.counters.catalogue import definitions
from wavescope.analyze.counters.metric_values import MetricValues

_CHART_TABLE = "3.1"


class ChartBox(NamedTuple):
    """A part of the chip: a title, and labels with the row of panel 3 that fills each."""

    key: str
    title: str
    lines: list[tuple[str, str, str]]
    """Label, row of the panel, unit."""
    sends: list[tuple[str, str]]
    """Label and row of what goes from it to the next level."""


@functools.cache
def chart_boxes() -> dict[str, ChartBox]:
    """The parts of the chip by their keys, in the order of the way to memory."""
    boxes = definitions("memory_chart.toml")["box"]
    return {
        box["key"]: ChartBox(box["key"], box["title"], box["lines"], box.get("sends", []))
        for box in boxes
    }


def chart_values(values: MetricValues) -> dict[str, str]:
    """The rows of panel 3 as text by their names; what is not there is left out."""
    found = {}
    catalogue = values.measured.catalogue
    with np.errstate(all="ignore"):
        for table in catalogue.tables:
            if table.id == _CHART_TABLE:
                for row in table.rows:
                    metric = catalogue.metric_of(row)
                    value = values.single(metric, rounded=True).statistics["avg"]
                    if value is not None:
                        found[row.name] = _short(value)
    return found


def _short(value: float) -> str:
    """At most seven characters: 16,384, 1.05M."""
    if abs(value) < 1e6:
        return f"{value:,.0f}"
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"
