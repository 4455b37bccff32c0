"""Prints the rows of a query as they come, in the format that was asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from wavescope.cli.options import OutputFormat
from wavescope.cli.terminal import data_stream, stdout_bytes, terminal_width
from wavescope.model.result import Result, ResultColumn, ResultTable
from wavescope.render.cells.columns import FormattedColumn
from wavescope.render.cells.escape import visible
from wavescope.render.cells.layout import layout_table
from wavescope.render.results.csv_rows import write_rows
from wavescope.render.results.markdown import table_head, table_row
from wavescope.render.results.text import left_out_note

if TYPE_CHECKING:
    from wavescope.formats.sqlite.read_only_query import SqlRow, SqlValue

_MEASURED_ROWS = 500
_NULL = "NULL"


def write_query(
    names: Sequence[str],
    rows: Iterable[SqlRow],
    format: OutputFormat,  # noqa: A002
    *,
    raw_text: bool = False,
) -> None:
    """Print a header and all `rows`; CSV with texts exactly as they are if `raw_text`."""
    if format is OutputFormat.CSV:
        write_rows(names, rows, data_stream(), raw_text=raw_text)
    elif format is OutputFormat.JSON:
        _write_json(names, rows)
    elif format is OutputFormat.MARKDOWN:
        _write_markdown(names, rows)
    else:
        _write_table(names, rows)


def _write_json(names: Sequence[str], rows: Iterable[SqlRow]) -> None:
    from wavescope.render.results.json_text import write_json_rows  # noqa: PLC0415  orjson, for --json only

    columns = tuple(ResultColumn(name, name) for name in names)
    write_json_rows(Result("Query", [ResultTable("query", "Query", columns)]), rows, stdout_bytes())


def _write_markdown(names: Sequence[str], rows: Iterable[SqlRow]) -> None:
    first, rest = _measured(rows)
    print("\n".join(table_head(_columns(names, first))))
    for row in itertools.chain(first, rest):
        print(table_row([_text(value) for value in row]))


def _write_table(names: Sequence[str], rows: Iterable[SqlRow]) -> None:
    first, rest = _measured(rows)
    columns = _columns(names, first)
    layout = layout_table(columns, terminal_width())
    kept = [columns.index(column) for column in layout.columns]
    print("\n".join(layout.header()))
    for row in itertools.chain(first, rest):
        print(layout.line([_text(row[index]) for index in kept]))
    if note := left_out_note(layout):
        print(note)


def _measured(rows: Iterable[SqlRow]) -> tuple[list[SqlRow], Iterable[SqlRow]]:
    """The first rows, which decide the widths, and the rest."""
    following = iter(rows)
    return list(itertools.islice(following, _MEASURED_ROWS)), following


def _columns(names: Sequence[str], rows: Sequence[SqlRow]) -> list[FormattedColumn]:
    return [
        FormattedColumn(
            visible(name),
            "",
            [_text(row[index]) for row in rows],
            _is_numeric([row[index] for row in rows]),
        )
        for index, name in enumerate(names)
    ]


def _is_numeric(values: Sequence[SqlValue]) -> bool:
    return any(value is not None for value in values) and all(
        value is None or isinstance(value, int | float) for value in values
    )


def _text(value: SqlValue) -> str:
    if value is None:
        return _NULL
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return visible(value) if isinstance(value, str) else str(value)
