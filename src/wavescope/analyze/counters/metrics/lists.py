"""Lists and explains the metrics of a chip; no workload and no GPU is needed."""

from __future__ import annotations

from collections.abc import Iterator

from wavescope.analyze.counters.catalogue import Catalogue, Metric, Panel, PanelTable
from wavescope.analyze.counters.expression import ChannelCounter
from wavescope.analyze.counters.measured import Measured, NormalUnit
from wavescope.analyze.counters.metric_values import MetricValues
from wavescope.model.counters import ACCUMULATED, CounterTable
from wavescope.model.result import (
    ColumnOf,
    Result,
    ResultColumn,
    ResultTable,
    Unit,
    Value,
    table_of,
)

_COLUMNS = (
    ResultColumn("id", "ID", Unit.NAME),
    ResultColumn("metric", "Metric", Unit.NAME),
    ResultColumn("unit", "Unit"),
    ResultColumn("meaning", "Meaning"),
    ResultColumn("key", "key", Unit.NONE, "the same on all chips"),
    ResultColumn("table", "table"),
    ResultColumn("formula", "formula"),
    ResultColumn("peak", "peak", Unit.NONE, "formula of the peak"),
    ResultColumn("counters", "counters", Unit.NONE, "what must be collected for it"),
    ResultColumn("high", "when high"),
    ResultColumn("low", "when low"),
)
_AVAILABLE_COLUMNS = (
    ResultColumn("id", "ID", Unit.NAME),
    ResultColumn("metric", "Metric", Unit.NAME),
    ResultColumn("unit", "Unit"),
    ResultColumn("available", "available", Unit.NONE, "yes, or what is missing"),
)
_PANEL_COLUMNS: tuple[ColumnOf[Panel], ...] = (
    ResultColumn("id", "ID", Unit.NAME).of(lambda panel: str(panel.id)),
    ResultColumn("alias", "alias", Unit.NAME).of(lambda panel: panel.alias),
    ResultColumn("panel", "panel").of(lambda panel: panel.title),
    ResultColumn("metrics", "metrics", Unit.COUNT).of(
        lambda panel: sum(len(table.rows) for table in panel.tables) or None
    ),
)


def metric_list(catalogue: Catalogue, search: str = "") -> Result:
    """All metrics in which every word of `search` occurs: ids, names, keys, meanings, counters."""
    words = search.lower().split()
    rows = [row for row in _rows(catalogue) if _matches(row, words)]
    return Result(
        "Metrics",
        [panel_list(catalogue), ResultTable("metrics", "Metrics", _COLUMNS, rows)],
        facts={"chip": catalogue.chip, "model": catalogue.title, "metric_count": len(rows)},
    )


def available_metrics(catalogue: Catalogue, workload: CounterTable) -> Result:
    """The metrics of a workload's chip, and what the workload lacks for each."""
    values = MetricValues(Measured(workload, catalogue), NormalUnit.PER_KERNEL)
    rows: list[tuple[Value, ...]] = []
    for row in _rows(catalogue):
        record = dict(zip((column.name for column in _COLUMNS), row, strict=True))
        lacking = values.unavailable(catalogue.metrics[str(record["key"])])
        rows.append((record["id"], record["metric"], record["unit"], lacking or "yes"))
    table = ResultTable("metrics", "Metrics", _AVAILABLE_COLUMNS, rows)
    return Result(
        "Available metrics", [table], facts={"path": workload.path, "chip": catalogue.chip}
    )


def panel_list(catalogue: Catalogue) -> ResultTable:
    """The panels with their ids and aliases."""
    return table_of("panels", "Panels", _PANEL_COLUMNS, catalogue.all_panels)


def counters_of(catalogue: Catalogue, metric: Metric) -> list[str]:
    """The counters that a metric needs, per-channel ones with brackets."""
    found = set()
    for formula in filter(None, (metric.value, metric.peak)):
        for need in catalogue.needs(formula):
            if isinstance(need, ChannelCounter):
                found.add(f"{need.family}[]")
            elif need.name == ACCUMULATED:
                found.add(metric.level_pass)
            elif need.name not in catalogue.facts and need.name not in catalogue.launch:
                found.add(need.name)
    return sorted(found - {"duration"})


def _rows(catalogue: Catalogue) -> Iterator[tuple[Value, ...]]:
    for panel in catalogue.panels:
        for table in panel.tables:
            for at, row in enumerate(table.rows):
                yield _row(catalogue, panel, table, at, row.name)


def _row(
    catalogue: Catalogue, panel: Panel, table: PanelTable, at: int, name: str
) -> tuple[Value, ...]:
    metric = catalogue.metric_of(table.rows[at])
    counted = metric.key not in catalogue.not_counted
    return (
        table.id if table.is_per_channel else f"{table.id}.{at}",
        name,
        metric.unit + (" per normal unit" if metric.normalised else ""),
        metric.meaning if counted else f"{metric.meaning} ({catalogue.chip} does not count it.)",
        metric.key,
        f"{panel.title}: {table.title}",
        metric.value,
        metric.peak or None,
        ", ".join(counters_of(catalogue, metric)) or None,
        metric.high or None,
        metric.low or None,
    )


def _matches(row: tuple[Value, ...], words: list[str]) -> bool:
    """Whether every word is in the row; a number such as 17.2 means the ids that start with it."""
    text = " ".join(str(cell) for cell in row if cell).lower()
    for word in words:
        if word.replace(".", "").isdecimal():
            if not (str(row[0]) + ".").startswith(word + "."):
                return False
        elif word not in text:
            return False
    return True
