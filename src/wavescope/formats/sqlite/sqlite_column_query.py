"""Reads columns of a table through SQL: slower than reading pages, but it works everywhere.

Whole blocks of integers leave SQLite as one text each (`group_concat`), which NumPy parses; that
takes a third of the time of fetching rows. Texts, reals and columns with odd values come as rows.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.formats.sqlite.sqlite_open import quoted
from wavescope.formats.sqlite.sqlite_pages import ColumnValues
from wavescope.formats.sqlite.sqlite_table import ColumnKind, ColumnRequest, TableLayout
from wavescope.formats.sqlite.text_column import TextColumn

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
BLOCK_ROWS = 50_000
_FETCH_ROWS = 1_000
_ODD_MARK = "x"
_CODECS = {"UTF-8": "utf-8", "UTF-16le": "utf-16-le", "UTF-16be": "utf-16-be"}
_INTEGER = re.compile(rb"\s*[+-]?[0-9]+\s*")
_REAL = re.compile(rb"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")


class ColumnQuery:
    """Reads the requested columns, all of which the table has, from any rowid on."""

    def __init__(
        self, connection: sqlite3.Connection, layout: TableLayout, requests: Sequence[ColumnRequest]
    ) -> None:
        self.replaced: Counter[str] = Counter()
        self._connection = connection
        self._requests = requests
        self._table = f"main.{quoted(layout.name)}"
        self._rowid = layout.rowid_expression()
        self._codec = _CODECS[_ascii(connection.execute("PRAGMA encoding").fetchone()[0])]
        self._sql = {
            request.name: self._rowid if layout.is_rowid(request.name) else quoted(request.name)
            for request in requests
        }
        self._packed = [request for request in requests if request.kind is ColumnKind.INTEGER]
        self._fetched = [request for request in requests if request.kind is not ColumnKind.INTEGER]

    def read(
        self, max_rows: int, after: int | None, last_rowid: int, text_limit_bytes: int
    ) -> tuple[int | None, list[ColumnValues]]:
        """The last rowid read, None at the end, and the columns of at most BLOCK_ROWS rows."""
        if after is None:
            first = INT64_MIN
        elif after == INT64_MAX:
            return None, self._in_order({}, [])
        else:
            first = after + 1
        limit = min(max_rows, BLOCK_ROWS)
        rows: list[tuple[Any, ...]] = []
        if self._fetched:
            rowids, rows = self._rows(self._fetched, first, last_rowid, limit, text_limit_bytes)
            if not rowids:
                return None, self._in_order({}, [])
            last_rowid, limit = rowids[-1], len(rowids)
            if not self._packed:
                return last_rowid, self._in_order({}, rows)
        count, last, packed = self._packed_columns(first, last_rowid, limit)
        if packed is not None and (not self._fetched or count == len(rows)):
            return last, self._in_order(packed, rows)
        rowids, rows = self._rows(self._requests, first, last_rowid, limit, text_limit_bytes)
        columns = [
            self._converted(r, [row[i] for row in rows]) for i, r in enumerate(self._requests)
        ]
        return (rowids[-1] if rowids else None), columns

    def _in_order(
        self, packed: dict[str, npt.NDArray[np.int64]], rows: list[tuple[Any, ...]]
    ) -> list[ColumnValues]:
        """Both kinds of columns, as they were requested."""
        columns: dict[str, ColumnValues] = {
            request.name: packed.get(request.name, np.empty(0, np.int64))
            for request in self._packed
        }
        for index, request in enumerate(self._fetched):
            columns[request.name] = self._converted(request, [row[index] for row in rows])
        return [columns[request.name] for request in self._requests]

    def _packed_columns(
        self, first: int, last_rowid: int, limit: int
    ) -> tuple[int, int | None, dict[str, npt.NDArray[np.int64]] | None]:
        """Row count, last rowid, integer columns; no columns when one holds other things."""
        inner = ", ".join(f"{self._sql[r.name]} AS c{i}" for i, r in enumerate(self._packed))
        outer = ", ".join(
            f"group_concat(CASE typeof(c{i}) WHEN 'integer' THEN c{i}"
            f" WHEN 'null' THEN {int(r.missing)} ELSE '{_ODD_MARK}' END)"
            for i, r in enumerate(self._packed)
        )
        row = self._connection.execute(
            f"SELECT count(*), max(r), {outer} FROM"  # noqa: S608  quoted names only
            f" (SELECT {self._rowid} AS r, {inner} FROM {self._table}"
            f" WHERE {self._rowid} BETWEEN ? AND ? ORDER BY {self._rowid} LIMIT ?)",
            (first, last_rowid, limit),
        ).fetchone()
        count, last, texts = int(row[0]), row[1], [_ascii(text or "") for text in row[2:]]
        if count == 0:
            return 0, None, {}
        _require_progress(first, last)
        if any(_ODD_MARK in text for text in texts):
            return count, last, None
        arrays = [np.fromstring(text, dtype=np.int64, sep=",") for text in texts]
        names = [request.name for request in self._packed]
        return count, last, dict(zip(names, arrays, strict=True))

    def _rows(
        self,
        requests: Sequence[ColumnRequest],
        first: int,
        last_rowid: int,
        limit: int,
        text_limit_bytes: int,
    ) -> tuple[list[int], list[tuple[Any, ...]]]:
        """Rowids and values of rows; stops early once it holds more text than allowed."""
        rowids: list[int] = []
        rows: list[tuple[Any, ...]] = []
        if not requests:
            return rowids, rows
        values = ", ".join(self._value_sql(request) for request in requests)
        cursor = self._connection.execute(
            f"SELECT {values}, {self._rowid} FROM {self._table}"  # noqa: S608  quoted names only
            f" WHERE {self._rowid} BETWEEN ? AND ? ORDER BY {self._rowid} LIMIT ?",
            (first, last_rowid, limit),
        )
        held_bytes = 0
        while held_bytes < text_limit_bytes:
            block = cursor.fetchmany(_FETCH_ROWS)
            if not block:
                break
            for row in block:
                rowids.append(row[-1])
                rows.append(tuple(row[:-1]))
                held_bytes += sum(len(value) for value in row if isinstance(value, bytes))
                if held_bytes >= text_limit_bytes:
                    break
        cursor.close()
        if rowids:
            _require_progress(first, rowids[-1])
        return rowids, rows

    def _value_sql(self, request: ColumnRequest) -> str:
        """Bytes instead of text: what is in the file need not be valid text."""
        column = self._sql[request.name]
        text = f"CAST(CAST({column} AS TEXT) AS BLOB)"
        if request.kind is ColumnKind.TEXT:
            return text
        return f"CASE WHEN typeof({column}) IN ('text', 'blob') THEN {text} ELSE {column} END"

    def _converted(self, request: ColumnRequest, values: list[Any]) -> ColumnValues:
        if self._codec != "utf-8":
            values = [self._recoded(value) for value in values]
        if request.kind is ColumnKind.TEXT:
            return TextColumn.from_bytes(values)
        convert = _integer if request.kind is ColumnKind.INTEGER else _real
        results: list[Any] = []
        for value in values:
            result = request.missing if value is None else convert(value)
            if result is None:
                self.replaced[request.name] += 1
                result = request.missing
            results.append(result)
        return np.array(results, np.int64 if request.kind is ColumnKind.INTEGER else np.float64)

    def _recoded(self, value: Any) -> Any:
        if not isinstance(value, bytes):
            return value
        return value.decode(self._codec, "replace").encode("utf-8", "replace")


def _integer(value: int | float | bytes) -> int | None:
    """The whole number that `value` stands for, if there is one."""
    if isinstance(value, float):
        value = int(value) if value.is_integer() else b""
    elif isinstance(value, bytes):
        value = int(value) if len(value) <= 40 and _INTEGER.fullmatch(value) else b""
    return value if isinstance(value, int) and INT64_MIN <= value <= INT64_MAX else None


def _real(value: int | float | bytes) -> float | None:
    """The number that `value` stands for, if it is one."""
    if isinstance(value, bytes):
        return float(value) if len(value) <= 400 and _REAL.fullmatch(value) else None
    return float(value)


def _require_progress(first: int, last: int) -> None:
    """A damaged tree can lead SQLite back to rows that were read before, without end."""
    if last < first:
        raise sqlite3.DatabaseError("database disk image is malformed")


def _ascii(value: str | bytes) -> str:
    return value.decode("ascii") if isinstance(value, bytes) else value
