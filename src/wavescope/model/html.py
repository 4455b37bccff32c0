"""Tables and results as HTML for notebooks; every text from a trace is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from wavescope.units import count_text, value_text

if TYPE_CHECKING:
    from wavescope.model.result import Finding, Result, ResultColumn, ResultTable, Value

MOST_ROWS = 50
_MOST_CHARACTERS = 160
_NUMBER_STYLE = ' style="text-align: right"'


def result_html(result: Result) -> str:
    """A result as its title, tables and findings; tables without rows are left out."""
    parts = [f"<h3>{escape(result.title)}</h3>"]
    parts += [table_html(table) for table in result.tables if table.rows]
    return "".join(parts) + _findings_html(result.findings)


def table_html(table: ResultTable) -> str:
    """The first rows of a result table, values spelled in suitable units."""
    total = len(table.rows) if table.total_rows is None else table.total_rows
    cells = [
        [_cell(column, value) for column, value in zip(table.columns, row, strict=True)]
        for row in table.rows[:MOST_ROWS]
    ]
    heads = [(column.title, column.meaning) for column in table.columns]
    return rows_html(table.title, heads, cells, total)


def rows_html(
    title: str,
    heads: Iterable[tuple[str, str]],
    cells: Sequence[Sequence[tuple[str, bool]]],
    total_rows: int,
) -> str:
    """A table of texts: `heads` are titles and meanings, a cell's flag says that it is a number."""
    head = "".join(
        f'<th title="{escape(meaning)}">{escape(text)}</th>'
        if meaning
        else f"<th>{escape(text)}</th>"
        for text, meaning in heads
    )
    body = "".join(f"<tr>{''.join(_cell_html(*cell) for cell in row)}</tr>" for row in cells)
    rest = f"<p>({len(cells)} of {count_text(total_rows)} rows)</p>"
    return (
        f"<h4>{escape(title)}</h4>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"{rest if len(cells) < total_rows else ''}"
    )


def _cell_html(text: str, is_number: bool) -> str:
    if len(text) > _MOST_CHARACTERS:
        text = text[: _MOST_CHARACTERS - 30] + "…" + text[-29:]
    return f"<td{_NUMBER_STYLE if is_number else ''}>{escape(text)}</td>"


def _cell(column: ResultColumn, value: Value) -> tuple[str, bool]:
    """The value as text in the column's unit, and whether it is a number."""
    return value_text(value, column.unit.value), not isinstance(value, str | bool)


def _findings_html(findings: Sequence[Finding]) -> str:
    items = "".join(
        f"<li><b>{escape(finding.title)}</b>: {escape(finding.evidence)}"
        + (f"<br>{escape(finding.suggestion)}" if finding.suggestion else "")
        + "</li>"
        for finding in findings
    )
    return f"<ul>{items}</ul>" if items else ""
