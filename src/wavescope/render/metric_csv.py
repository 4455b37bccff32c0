"""Writes tables of metrics as one CSV: a row for each value, in full precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from wavescope.model.result import Result, ResultTable, Value
from wavescope.render.metric_tables import NOT_AVAILABLE, is_metric_table
from wavescope.render.results.csv_rows import write_rows

_NAMES = ("table", "id", "metric", "statistic", "value", "unit")
_ABOUT_THE_ROW = {"id", "metric", "unit", "key", "note"}


def write_metric_csv(result: Result, stream: TextIO) -> None:
    """Write every value of every table; in place of one that is not there stands the reason."""
    write_rows(_NAMES, (row for table in result.tables for row in _rows(table)), stream)


def _rows(table: ResultTable) -> Iterator[tuple[Value, ...]]:
    names = [column.name for column in table.columns]
    metrics = is_metric_table(table)
    for place, row in enumerate(table.rows):
        cells = dict(zip(names, row, strict=True))
        id_ = cells["id"] if metrics else f"{table.name}.{place}"
        for column, value in zip(table.columns, row, strict=True):
            if metrics and column.name in _ABOUT_THE_ROW:
                continue
            reason = (cells.get("note") if metrics else None) or NOT_AVAILABLE
            shown = reason if value is None else value
            unit = cells.get("unit") if metrics else column.unit.value
            yield (table.name, id_, cells.get("metric", table.title), column.name, shown, unit)
