"""Writes tables of metrics as one CSV: a row for each value, in full precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from wavescope.model.result import Result, ResultTable, Value
from wavescope.render.csv_rows import write_rows
from wavescope.render.metric_tables import is_metric_table

_NAMES = ("table", "id", "metric", "statistic", "value", "unit", "note")
_ABOUT_THE_ROW = {"id", "metric", "unit", "key", "note"}


def write_metric_csv(result: Result, stream: TextIO) -> None:
    """Write every value of every table; one without a value has its reason in `note`."""
    write_rows(_NAMES, (row for table in result.tables for row in _rows(table)), stream)


def _rows(table: ResultTable) -> Iterator[tuple[Value, ...]]:
    names = [column.name for column in table.columns]
    metrics = is_metric_table(table)
    for place, row in enumerate(table.rows):
        cells = dict(zip(names, row, strict=True))
        if metrics:
            about = (table.name, cells["id"], cells.get("metric"))
            for name in names:
                if name not in _ABOUT_THE_ROW:
                    value = cells[name]
                    note = cells["note"] if value is None else None
                    yield (*about, name, value, cells.get("unit"), note)
        else:
            for column in table.columns:
                unit = column.unit.value
                yield (
                    table.name,
                    f"{table.name}.{place}",
                    None,
                    column.name,
                    cells[column.name],
                    unit,
                    None,
                )
