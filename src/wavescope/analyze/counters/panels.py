"""Fills the panels of a catalogue with the values of a workload; panel 3 also as boxes.

The memory chart shows what each part of the memory hierarchy did, and what went between them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from wavescope.analyze.counters.catalogue import Metric, Panel, PanelTable, definitions
from wavescope.analyze.counters.metric_values import (
    DOUBTFUL,
    MetricValue,
    MetricValues,
    is_possible,
)

STATISTICS = {
    "peak": ("avg", "peak", "percent_of_peak"),
    "range": ("avg", "min", "max"),
    "average": ("avg",),
    "rounded": ("value",),
    "spread": ("avg", "std", "min", "max"),
    "box": ("min", "q1", "median", "q3", "max"),
    "channel_box": ("min", "q1", "median", "q3", "max"),
}
"""By kind of table: its columns. `channel_values` has one for each metric instead."""

_MOST_CHANNELS = 4096
_NOT_THERE = "N/A: the channel was not collected, or what it is divided by is 0"


@dataclass
class MetricRow:
    """One row of a panel: a metric, or an L2 channel."""

    id: str
    name: str
    key: str
    unit: str
    values: dict[str, float | None]
    note: str = ""


@dataclass
class MetricTable:
    """A filled table; `columns` are the names of statistics, or of what is counted in channels."""

    id: str
    title: str
    panel: str
    columns: tuple[str, ...]
    rows: list[MetricRow] = field(default_factory=list)
    is_per_channel: bool = False


def filled_tables(
    panels: Iterable[Panel], values: MetricValues, wanted: frozenset[str] | None = None
) -> list[MetricTable]:
    """All tables of `panels`; with `wanted` only those metric, table and panel ids."""
    filled = []
    with np.errstate(all="ignore"):
        for panel in panels:
            for table in panel.tables:
                rows = _wanted_rows(panel, table, wanted)
                if rows is not None:
                    filled.append(_filled(panel, table, values, rows))
    return [table for table in filled if table.rows]


def _wanted_rows(
    panel: Panel, table: PanelTable, wanted: frozenset[str] | None
) -> frozenset[int] | None:
    """Which rows to fill: an empty set means all of them, None no row at all."""
    if wanted is None or str(panel.id) in wanted or table.id in wanted:
        return frozenset()
    chosen = [name for name in wanted if name.startswith(table.id + ".")]
    return frozenset(int(name.rpartition(".")[2]) for name in chosen) if chosen else None


def _filled(
    panel: Panel, table: PanelTable, values: MetricValues, wanted: frozenset[int]
) -> MetricTable:
    if table.columns == "channel_values":
        rows = _channel_value_rows(table, values)
        columns = tuple(row.name for row in table.rows)
    elif table.columns == "channel_box":
        rows = _channel_box_rows(table, values)
        columns = STATISTICS["channel_box"]
    else:
        rows = []
        for at, entry in enumerate(table.rows):
            if wanted and at not in wanted:
                continue
            metric = values.measured.catalogue.metric_of(entry)
            value = _computed(table.columns, metric, values)
            rows.append(
                MetricRow(
                    f"{table.id}.{at}",
                    entry.name,
                    metric.key,
                    values.unit_of(metric),
                    value.statistics,
                    value.reason or ("" if is_possible(metric, value.statistics) else DOUBTFUL),
                )
            )
        return MetricTable(table.id, table.title, panel.title, STATISTICS[table.columns], rows)
    if wanted:
        rows = [row for row in rows if int(row.id.rpartition(".")[2]) in wanted]
    return MetricTable(table.id, table.title, panel.title, columns, rows, is_per_channel=True)


def _computed(columns: str, metric: Metric, values: MetricValues) -> MetricValue:
    if columns == "peak":
        return values.with_peak(metric)
    if columns == "average":
        return values.single(metric)
    if columns == "rounded":
        value = values.single(metric, rounded=True)
        return MetricValue({"value": value.statistics["avg"]}, value.reason)
    if columns == "box":
        return values.boxed(metric)
    return values.ranged(metric, deviation=columns == "spread")


def _channel_box_rows(table: PanelTable, values: MetricValues) -> list[MetricRow]:
    metric = values.measured.catalogue.metric_of(table.rows[0])
    unit = values.unit_of(metric)
    reason = values.unavailable(metric)
    if reason:
        empty = dict.fromkeys(STATISTICS["channel_box"])
        return [
            MetricRow(f"{table.id}.{at}", f"channel {at}", metric.key, unit, dict(empty), reason)
            for at in range(_channel_count(values))
        ]
    spread = values.channel_spread(metric)
    columns = [spread[name].tolist() for name in STATISTICS["channel_box"]]
    rows = []
    for at, cells in enumerate(zip(*columns, strict=True)):
        found = {
            name: cell if math.isfinite(cell) else None
            for name, cell in zip(STATISTICS["channel_box"], cells, strict=True)
        }
        note = "" if found["median"] is not None else _NOT_THERE
        rows.append(MetricRow(f"{table.id}.{at}", f"channel {at}", metric.key, unit, found, note))
    return rows


def _channel_value_rows(table: PanelTable, values: MetricValues) -> list[MetricRow]:
    metrics = [values.measured.catalogue.metric_of(entry) for entry in table.rows]
    unit = values.unit_of(metrics[0])
    reasons = [values.unavailable(metric) for metric in metrics]
    columns = [
        None if reason else values.channel_average(metric).tolist()
        for metric, reason in zip(metrics, reasons, strict=True)
    ]
    count = max((len(column) for column in columns if column), default=_channel_count(values))
    note = "; ".join(dict.fromkeys(filter(None, reasons)))
    rows = []
    for at in range(count):
        found: dict[str, float | None] = {}
        for entry, column in zip(table.rows, columns, strict=True):
            cell = column[at] if column and at < len(column) else math.nan
            found[entry.name] = cell if math.isfinite(cell) else None
        own = note or (_NOT_THERE if None in found.values() else "")
        rows.append(
            MetricRow(f"{table.id}.{at}", f"channel {at}", metrics[0].key, unit, found, own)
        )
    return rows


def _channel_count(values: MetricValues) -> int:
    """Channels of the chip, for rows that have nothing to show."""
    return min(int(values.measured.table.facts.get("total_l2_chan", 0)), _MOST_CHANNELS)


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
