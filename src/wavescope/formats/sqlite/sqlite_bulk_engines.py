"""The two ways to get rows into a closed database file: building pages, and SQL."""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from wavescope.formats.sqlite.sqlite_open import quoted
from wavescope.formats.sqlite.sqlite_pages import (
    BulkColumn,
    BulkWriter,
    ColumnValues,
    PagesError,
    PagesStatus,
    WholeNumbers,
)
from wavescope.formats.sqlite.sqlite_table import (
    Affinity,
    TableColumn,
    TableLayout,
    is_empty,
    table_layout,
)
from wavescope.formats.sqlite.text_column import TextColumn

_WHOLE_NUMBERS = {
    Affinity.INTEGER: WholeNumbers.AS_INTEGER,
    Affinity.NUMERIC: WholeNumbers.AS_INTEGER,
    Affinity.REAL: WholeNumbers.AS_SHORT_INTEGER,
}
LOCK_TIMEOUT_S = 0.2  # a file to be filled is new: somebody else's lock is a mistake


@dataclass(eq=False)
class FilledTable:
    """A table that is being filled: its layout, its missing values, its rows so far."""

    layout: TableLayout
    missing: Mapping[str, int | float]
    last_rowid: int | None = None
    handle: int = -1


class Engine(Protocol):
    """One way to get rows into the file; after any error only `abort` is called."""

    def layout(self, table: str) -> TableLayout:
        """The layout of `table`."""

    def require_empty(self, layout: TableLayout) -> None:
        """ValueError when the table has rows."""

    def add_table(self, table: FilledTable) -> None:
        """Prepares for rows of this empty table."""

    def append(
        self,
        table: FilledTable,
        rowids: npt.NDArray[np.int64],
        columns: Sequence[ColumnValues | None],
    ) -> None:
        """Adds rows; one entry per column of the table, None for NULL and for the rowid."""

    def finish(self) -> None:
        """Makes all rows part of the file."""

    def abort(self) -> None:
        """Leaves the file as it was."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection to an existing file, with transactions under our own control."""
    uri = f"file:{quote(os.fsencode(path.absolute()))}?mode=rw"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=LOCK_TIMEOUT_S)


class PageEngine:
    """Builds the tables' pages in native code."""

    def __init__(self, writer: BulkWriter, path: Path) -> None:
        self._writer = writer
        self._path = path
        self._tables: list[FilledTable] = []

    def layout(self, table: str) -> TableLayout:
        with closing(connect(self._path)) as connection:
            return table_layout(connection, table)

    def require_empty(self, layout: TableLayout) -> None:
        with closing(connect(self._path)) as connection:
            _require_empty(connection, layout)

    def add_table(self, table: FilledTable) -> None:
        columns = [_bulk_column(table, column) for column in table.layout.columns]
        try:
            table.handle = self._writer.add_table(table.layout.root_page, columns)
        except PagesError as error:
            raise self._explained(error, table) from error
        self._tables.append(table)

    def append(
        self,
        table: FilledTable,
        rowids: npt.NDArray[np.int64],
        columns: Sequence[ColumnValues | None],
    ) -> None:
        try:
            self._writer.append(table.handle, rowids, columns)
        except PagesError as error:
            raise self._explained(error, table) from error

    def finish(self) -> None:
        try:
            self._writer.finish()
        except PagesError as error:
            self.abort()
            raise self._explained(error, None) from error
        self._writer.close()
        self._finish_in_sql([table for table in self._tables if table.last_rowid is not None])

    def abort(self) -> None:
        try:
            self._writer.abort()
        except PagesError as error:
            raise self._explained(error, None) from error
        finally:
            self._writer.close()

    def _finish_in_sql(self, tables: Sequence[FilledTable]) -> None:
        """What SQLite itself would have kept up to date: indexes, and counters of rowids."""
        counted = [table for table in tables if table.layout.is_autoincrement]
        indexed = [table for table in tables if table.layout.has_indexes]
        if not counted and not indexed:
            return
        with closing(connect(self._path)) as connection:
            connection.execute("BEGIN")
            for table in counted:
                name = table.layout.name
                connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
                connection.execute(
                    "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)",
                    (name, table.last_rowid),
                )
            try:
                for table in indexed:
                    connection.execute(f"REINDEX main.{quoted(table.layout.name)}")
            except sqlite3.Error:
                connection.execute("ROLLBACK")
                for table in tables:
                    connection.execute(f"DELETE FROM main.{quoted(table.layout.name)}")  # noqa: S608
                raise
            connection.execute("COMMIT")

    def _explained(self, error: PagesError, table: FilledTable | None) -> Exception:
        name = "" if table is None else table.layout.name
        if error.status is PagesStatus.IO_ERROR:
            number = error.error_number
            return OSError(number, os.strerror(number), str(self._path))
        if error.status is PagesStatus.NOT_INCREASING:
            return ValueError(f"the rowids of {name} do not increase")
        if error.status is PagesStatus.NULL_REFUSED:
            return sqlite3.IntegrityError(f"a column of {name} must not be NULL")
        if error.status is PagesStatus.TOO_LARGE:
            return sqlite3.DataError(f"a row of {name or self._path} is too large")
        if error.status is PagesStatus.OUT_OF_MEMORY:
            return MemoryError()
        return ValueError(f"{self._path} cannot be filled: {error}")


class SqlEngine:
    """Inserts the rows in one transaction."""

    def __init__(self, path: Path) -> None:
        self._connection = connect(path)
        self._connection.execute("BEGIN")

    def layout(self, table: str) -> TableLayout:
        return table_layout(self._connection, table)

    def require_empty(self, layout: TableLayout) -> None:
        _require_empty(self._connection, layout)

    def add_table(self, table: FilledTable) -> None:
        """Nothing has to be prepared."""

    def append(
        self,
        table: FilledTable,
        rowids: npt.NDArray[np.int64],
        columns: Sequence[ColumnValues | None],
    ) -> None:
        goes_on = table.last_rowid is None or int(rowids[0]) > table.last_rowid
        if not goes_on or not (rowids[1:] > rowids[:-1]).all():
            raise ValueError(f"the rowids of {table.layout.name} do not increase")
        names, marks, lists = [table.layout.rowid_expression()], ["?"], [rowids.tolist()]
        for column, values in zip(table.layout.columns, columns, strict=True):
            if column.name == table.layout.rowid_column:
                continue
            names.append(quoted(column.name))
            if values is None:
                marks.append("NULL")
            else:
                marks.append("CAST(? AS TEXT)" if isinstance(values, TextColumn) else "?")
                lists.append(_python_values(values, table.missing.get(column.name)))
        self._connection.executemany(
            f"INSERT INTO main.{quoted(table.layout.name)} ({', '.join(names)})"  # noqa: S608
            f" VALUES ({', '.join(marks)})",
            zip(*lists, strict=True),
        )

    def finish(self) -> None:
        try:
            self._connection.execute("COMMIT")
        finally:
            self._connection.close()

    def abort(self) -> None:
        # Closing takes back what was not committed.
        self._connection.close()


def _require_empty(connection: sqlite3.Connection, layout: TableLayout) -> None:
    if not is_empty(connection, layout):
        raise ValueError(f"table {layout.name} has rows already")


def _bulk_column(table: FilledTable, column: TableColumn) -> BulkColumn:
    missing = table.missing.get(column.name)
    if missing is not None and math.isnan(missing):
        missing = None  # NaN is NULL anyway
    return BulkColumn(
        not_null=column.is_not_null and column.name != table.layout.rowid_column,
        has_missing=missing is not None,
        whole_numbers=_WHOLE_NUMBERS.get(column.affinity, WholeNumbers.AS_REAL),
        missing_integer=0 if missing is None else int(missing),
        missing_real=0.0 if missing is None else float(missing),
    )


def _python_values(values: ColumnValues, missing: int | float | None) -> list[Any]:
    if isinstance(values, TextColumn):
        nulls = values.nulls.tolist()
        pairs = zip(values.to_bytes_list(), nulls, strict=True)
        return [None if is_null else text for text, is_null in pairs]
    numbers: list[Any] = values.tolist()
    return numbers if missing is None else [None if n == missing else n for n in numbers]
