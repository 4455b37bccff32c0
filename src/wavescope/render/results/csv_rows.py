"""Writes one result table as CSV: stable column names, raw values, nothing shortened.

The standard library's writer leaves a lone carriage return unquoted when lines end with a newline,
which its own reader then takes for a line end; names in traces may hold one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TextIO

from wavescope.model.result import ResultTable, Value

_NEEDS_QUOTES = re.compile('[",\r\n]')


def write_csv(table: ResultTable, stream: TextIO) -> None:
    """Write `table` to `stream` with a header row."""
    write_rows([column.name for column in table.columns], table.rows, stream)


def write_rows(
    names: Sequence[str], rows: Iterable[Sequence[Value | bytes]], stream: TextIO
) -> None:
    """Write a header and `rows`, as they come."""
    stream.write(_line(names))
    for row in rows:
        stream.write(_line(row))


def _line(row: Sequence[Value | bytes]) -> str:
    # A line with nothing on it would be no row at all to a reader.
    return (",".join(_field(value) for value in row) or '""') + "\n"


def _field(value: Value | bytes) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.hex()
    if not isinstance(value, str):
        return str(value)
    if not value.isascii():
        value = value.encode("utf-8", "backslashreplace").decode()
    return '"' + value.replace('"', '""') + '"' if _NEEDS_QUOTES.search(value) else value
