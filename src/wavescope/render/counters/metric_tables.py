"""Spells tables of metrics: rows have units of their own, and a value that is not there says why.

A table of metrics has the columns `id` and `note`; every other table is spelled as usual.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.render.cells.columns import FormattedColumn, format_column
from wavescope.render.cells.escape import visible
from wavescope.render.cells.layout import layout_table
from wavescope.render.results.csv_rows import write_rows
from wavescope.render.results.markdown import escaped, table_head, table_row, write_markdown
from wavescope.render.results.text import TextStyle, left_out_note, write_text
from wavescope.units import NS_PER, count_text

NOT_AVAILABLE = "N/A"
_TEXTS = {"id", "metric", "unit", "source", "instruction", "reasons"}
_HIDDEN = {"key", "note"}
_MOST_IDS = 8


@dataclass(frozen=True)
class NumberStyle:
    """Digits after the point, and the unit of times (none: one that suits)."""

    decimals: int = 2
    time_unit: str = ""


Drawings = Mapping[str, Sequence[str]]
"""Lines to show before a table, by its name."""


def write_metric_text(
    result: Result,
    stream: TextIO,
    style: TextStyle,
    numbers: NumberStyle,
    drawings: Drawings,
) -> None:
    """Write facts, tables and findings for a terminal."""
    write_text(Result(result.title, facts=result.facts), stream, style)
    for table in result.tables:
        stream.write("\n" + style.bold(visible(table.title)) + "\n")
        for line in drawings.get(table.name, ()):
            stream.write(line + "\n")
        stream.write(_table_text(table, style, numbers) + "\n")
    if result.findings:
        stream.write("\n")
        write_text(Result("", findings=result.findings), stream, style)


def write_metric_markdown(result: Result, stream: TextIO, numbers: NumberStyle) -> None:
    """Write facts, tables and findings as Markdown."""
    write_markdown(Result(result.title, facts=result.facts), stream)
    for table in result.tables:
        columns = spelled_metrics(table, numbers)
        lines = [f"\n### {escaped(table.title)}", "", *table_head(columns)]
        lines += [table_row(cells) for cells in zip(*(c.cells for c in columns), strict=True)]
        lines += [f"\n{escaped(reason)}" for reason in reasons(table)]
        stream.write("\n".join(lines) + "\n")
    if result.findings:
        stream.write("\n")
        write_markdown(Result("", findings=result.findings), stream)


def is_metric_table(table: ResultTable) -> bool:
    """Whether rows are metrics with notes."""
    names = {column.name for column in table.columns}
    return {"id", "note"} <= names


def spelled_metrics(table: ResultTable, numbers: NumberStyle) -> list[FormattedColumn]:
    """The columns for people: notes are told apart, below the table."""
    return [spelled for _, spelled in shown_columns(table, numbers)]


def shown_columns(
    table: ResultTable, numbers: NumberStyle
) -> list[tuple[ResultColumn, FormattedColumn]]:
    """The columns that people are shown, as declared and as spelled."""
    metrics = is_metric_table(table)
    rows = _in_time_unit(table, numbers.time_unit) if metrics and numbers.time_unit else table.rows
    by_column = list(zip(*rows, strict=True)) or [()] * len(table.columns)
    shown = []
    for column, values in zip(table.columns, by_column, strict=True):
        if metrics and column.name in _HIDDEN:
            continue
        if metrics and column.name not in _TEXTS:
            spelled = _numbers(column, values, numbers)
        elif column.unit is Unit.NS and numbers.time_unit:
            spelled = _times(column, values, numbers)
        elif not metrics and values and all(value is None for value in values):
            continue
        else:
            spelled = format_column(column, values)
        shown.append((column, spelled))
    return shown


def reasons(table: ResultTable) -> list[str]:
    """Why values are not there, each reason once with the ids it concerns."""
    if not is_metric_table(table):
        return []
    names = [column.name for column in table.columns]
    id_at, note_at = names.index("id"), names.index("note")
    concerned: dict[str, list[str]] = {}
    for row in table.rows:
        if row[note_at]:
            concerned.setdefault(str(row[note_at]), []).append(str(row[id_at]))
    return [f"{reason} ({_listed(ids)})" for reason, ids in concerned.items()]


def common_reason(table: ResultTable) -> str:
    """The reason why no row of a long table has any value, when it is the same for all."""
    if not is_metric_table(table) or len(table.rows) <= _MOST_IDS:
        return ""
    names = [column.name for column in table.columns]
    note_at = names.index("note")
    numbers = [at for at, name in enumerate(names) if name not in _TEXTS | _HIDDEN]
    notes = {str(row[note_at] or "") for row in table.rows}
    is_empty = all(row[at] is None for row in table.rows for at in numbers)
    return notes.pop() if is_empty and len(notes) == 1 else ""


def number_text(value: Value, decimals: int) -> str:
    """A number with so many digits; a tiny one keeps two significant ones."""
    if value is None:
        return NOT_AVAILABLE
    if isinstance(value, str | bool):
        return visible(str(value))
    if value and abs(value) < 0.5 * 10**-decimals:
        return f"{value:.1e}"
    return f"{value:,.{decimals}f}"


def _in_time_unit(table: ResultTable, time_unit: str) -> list[tuple[Value, ...]]:
    """The rows with those that are in nanoseconds converted; no other unit is a time."""
    names = [column.name for column in table.columns]
    unit_at = names.index("unit") if "unit" in names else -1
    rows = []
    for row in table.rows:
        if unit_at >= 0 and row[unit_at] == "ns":
            cells = [
                value / NS_PER[time_unit] if isinstance(value, int | float) else value
                for value in row
            ]
            cells[unit_at] = time_unit
            rows.append(tuple(cells))
        else:
            rows.append(row)
    return rows


def _listed(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:_MOST_IDS])
    return shown + (f" and {len(ids) - _MOST_IDS} more" if len(ids) > _MOST_IDS else "")


def _numbers(
    column: ResultColumn, values: Sequence[Value], numbers: NumberStyle
) -> FormattedColumn:
    cells = [number_text(value, numbers.decimals) for value in values]
    return FormattedColumn(visible(column.title), "", cells, True)


def _times(column: ResultColumn, values: Sequence[Value], numbers: NumberStyle) -> FormattedColumn:
    divisor = NS_PER[numbers.time_unit]
    cells = [
        number_text(value / divisor if isinstance(value, int | float) else value, numbers.decimals)
        for value in values
    ]
    return FormattedColumn(visible(column.title), numbers.time_unit, cells, True)


def _table_text(table: ResultTable, style: TextStyle, numbers: NumberStyle) -> str:
    if not table.rows:
        rest = table.total_rows
        return f"({count_text(rest)} rows: -b {table.name})" if rest else "(no rows)"
    if reason := common_reason(table):
        return f"{visible(reason)} (all {count_text(len(table.rows))} rows)"
    layout = layout_table(spelled_metrics(table, numbers), style.width)
    lines = layout.header() + layout.body()
    total = len(table.rows) if table.total_rows is None else table.total_rows
    if total > len(table.rows):
        lines.append(f"({count_text(len(table.rows))} of {count_text(total)} rows)")
    for reason in reasons(table):
        lines += textwrap.wrap(
            visible(reason), max(style.width, 40), subsequent_indent="  ", break_on_hyphens=False
        )
    if note := left_out_note(layout):
        lines.append(note)
    return "\n".join(lines)


_NAMES = ("table", "id", "metric", "statistic", "value", "unit")
_ABOUT_THE_ROW = {"id", "metric", "unit", "key", "note"}


def write_metric_csv(result: Result, stream: TextIO, *, raw_text: bool = False) -> None:
    """Write every value of every table; in place of one that is not there stands the reason."""
    rows = (row for table in result.tables for row in _rows(table))
    write_rows(_NAMES, rows, stream, raw_text=raw_text)


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
