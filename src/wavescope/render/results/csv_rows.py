"""Writes one result table as CSV: stable column names, raw numbers, nothing shortened.

Texts come from traces, and people open CSV in spreadsheets, which run what looks like a formula:
unless raw text is asked for, such texts begin with an apostrophe, as OWASP advises, and control
characters are spelled as escapes.

The standard library's writer leaves a lone carriage return unquoted when lines end with a newline,
which its own reader then takes for a line end; names in traces may hold one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TextIO

from wavescope.model.result import ResultTable, Value
from wavescope.units import fit_for_spreadsheets

_NEEDS_QUOTES = re.compile('[",\r\n]')


def write_csv(table: ResultTable, stream: TextIO, *, raw_text: bool = False) -> None:
    """Write `table` to `stream` with a header row; with `raw_text`, texts exactly as they are."""
    names = [column.name for column in table.columns]
    write_rows(names, table.rows, stream, raw_text=raw_text)


def write_rows(
    names: Sequence[str],
    rows: Iterable[Sequence[Value | bytes]],
    stream: TextIO,
    *,
    raw_text: bool = False,
) -> None:
    """Write a header and `rows`, as they come."""
    stream.write(_line(names, raw_text=raw_text))
    for row in rows:
        stream.write(_line(row, raw_text=raw_text))


def _line(row: Sequence[Value | bytes], *, raw_text: bool) -> str:
    # A line with nothing on it would be no row at all to a reader.
    return (",".join(_field(value, raw_text=raw_text) for value in row) or '""') + "\n"


def _field(value: Value | bytes, *, raw_text: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.hex()
    if not isinstance(value, str):
        return str(value)
    if not raw_text:
        value = fit_for_spreadsheets(value)
    if not value.isascii():
        value = value.encode("utf-8", "backslashreplace").decode()
    return '"' + value.replace('"', '""') + '"' if _NEEDS_QUOTES.search(value) else value
