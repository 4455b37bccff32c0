"""Fills tables of a closed database file by building their pages (native/sqlite_pages)."""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from wavescope.closing import on_error
from wavescope.formats.sqlite.sqlite_open import quoted
from wavescope.formats.sqlite.sqlite_pages import ColumnValues, PagesError, PagesKind, PagesStatus
from wavescope.formats.sqlite.sqlite_table import (
    Affinity,
    TableColumn,
    TableLayout,
    is_empty,
    table_layout,
)
from wavescope.formats.sqlite.text_column import TextColumn
from wavescope.native import BulkColumn, BulkValues, Handle, Int32, columns_library, pointer


class WholeNumbers(IntEnum):
    """WavescopeWholeNumbers of sqlite_pages.h."""

    AS_REAL = 0
    AS_INTEGER = 1
    AS_SHORT_INTEGER = 2


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


def connect(path: Path) -> sqlite3.Connection:
    """A connection to an existing file, with transactions under our own control."""
    uri = f"file:{quote(os.fsencode(path.absolute()))}?mode=rw"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=LOCK_TIMEOUT_S)


class PageWriter:
    """Builds b-trees of empty tables behind the end of the file; after an error only `abort`."""

    def __init__(self, path: Path) -> None:
        self._library = columns_library()
        self._path = path
        self._tables: list[FilledTable] = []
        self._schema: sqlite3.Connection | None = None
        self._handle = Handle()
        error_number = Int32()
        status = self._library.wavescope_bulk_open(os.fsencode(path), self._handle, error_number)
        if status != PagesStatus.OK:
            error = PagesError(PagesStatus(status), error_number.value)
            raise ValueError(f"{path} cannot be filled: {error}") from error

    def layout(self, table: str) -> TableLayout:
        """The layout of `table`."""
        return table_layout(self._looking(), table)

    def require_empty(self, layout: TableLayout) -> None:
        """ValueError when the table has rows."""
        if not is_empty(self._looking(), layout):
            raise ValueError(f"table {layout.name} has rows already")

    def _looking(self) -> sqlite3.Connection:
        """A connection for questions; each new one would read the whole schema."""
        if self._schema is None:
            self._schema = connect(self._path)
        return self._schema

    def _look_no_more(self) -> None:
        if self._schema is not None:
            self._schema.close()
            self._schema = None

    def add_table(self, table: FilledTable) -> None:
        """Prepares for rows of this empty table."""
        described = [_bulk_column(table, column) for column in table.layout.columns]
        handle = Int32()
        status = self._library.wavescope_bulk_add_table(
            self._handle,
            table.layout.root_page,
            (BulkColumn * len(described))(*described),
            len(described),
            handle,
        )
        self._require_ok(status, table)
        table.handle = handle.value
        self._tables.append(table)

    def append(
        self,
        table: FilledTable,
        rowids: npt.NDArray[np.int64],
        columns: Sequence[ColumnValues | None],
    ) -> None:
        """Adds rows; one int64, float64 or text column per column of the table, None for NULL.

        All but the numbers' strides must be contiguous. The rowid's own column is None.
        """
        self._look_no_more()
        values = (BulkValues * len(columns))(*(_bulk_values(column) for column in columns))
        status = self._library.wavescope_bulk_append(
            self._handle, table.handle, len(rowids), rowids, values
        )
        self._require_ok(status, table)

    def finish(self) -> None:
        """Makes all rows part of the file."""
        self._look_no_more()
        with on_error(self.abort):
            self._require_ok(self._library.wavescope_bulk_finish(self._handle), None)
        self._close()
        self._finish_in_sql([table for table in self._tables if table.last_rowid is not None])

    def abort(self) -> None:
        """Leaves the file as it was."""
        self._look_no_more()
        try:
            self._require_ok(self._library.wavescope_bulk_abort(self._handle), None)
        finally:
            self._close()

    def _close(self) -> None:
        self._library.wavescope_bulk_close(self._handle)
        self._handle = Handle()

    def _require_ok(self, status: int, table: FilledTable | None) -> None:
        if status != PagesStatus.OK:
            number = self._library.wavescope_bulk_error_number(self._handle)
            raise self._explained(PagesError(PagesStatus(status), number), table)

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


def _bulk_values(column: ColumnValues | None) -> BulkValues:
    if column is None:
        return BulkValues(PagesKind.NULL)
    if isinstance(column, TextColumn):
        return BulkValues(
            PagesKind.TEXT,
            pointer(column.offsets, np.int64),
            0,
            pointer(column.blob, np.uint8),
            column.blob.size,
            pointer(column.nulls, np.bool_),
        )
    kind = PagesKind.REAL if column.dtype == np.float64 else PagesKind.INTEGER
    return BulkValues(kind, column.ctypes.data, column.strides[0])
