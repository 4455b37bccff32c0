"""Columns of a SQLite table as arrays, block by block in rowid order.

Closed files are read page by page in native code, some twenty times faster than by fetching rows.
Where that is not possible (a write-ahead log, an open transaction, a value of an unexpected type)
SQLite itself reads the block, so the result is the same. A damaged table is refused either way:
SQLite trusts the order of rows and the places of their cells, and would give other rows depending
on how it is asked, so a table is verified page by page before SQLite reads it.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wavescope.closing import Closing
from wavescope.formats.sqlite.sqlite_column_query import INT64_MAX, INT64_MIN, ColumnQuery
from wavescope.formats.sqlite.sqlite_open import SMALLEST_ROW_BYTES
from wavescope.formats.sqlite.sqlite_pages import (
    IS_ROWID,
    ColumnValues,
    PagesError,
    PagesKind,
    PagesRead,
    PagesStatus,
    TableReader,
)
from wavescope.formats.sqlite.sqlite_table import (
    ColumnKind,
    ColumnRequest,
    TableLayout,
    table_layout,
)
from wavescope.formats.sqlite.text_column import TextColumn, parse_dispatch_info
from wavescope.native import ReadColumn

__all__ = [
    "ColumnBlock",
    "ColumnCursor",
    "ColumnKind",
    "ColumnRequest",
    "TextColumn",
    "open_cursor",
    "parse_dispatch_info",
]

TEXT_LIMIT_BYTES = 64 * 2**20
_PAGES_KINDS = {
    ColumnKind.INTEGER: PagesKind.INTEGER,
    ColumnKind.REAL: PagesKind.REAL,
    ColumnKind.TEXT: PagesKind.TEXT,
}


class ColumnBlock(dict[str, ColumnValues]):
    """The columns of some rows by name; all have the same length."""

    def integers(self, name: str) -> npt.NDArray[np.int64]:
        """A column that was requested as INTEGER."""
        values = self[name]
        assert isinstance(values, np.ndarray)
        return values

    def reals(self, name: str) -> npt.NDArray[np.float64]:
        """A column that was requested as REAL."""
        values = self[name]
        assert isinstance(values, np.ndarray)
        return values

    def texts(self, name: str) -> TextColumn:
        """A column that was requested as TEXT."""
        values = self[name]
        assert isinstance(values, TextColumn)
        return values

    @property
    def row_count(self) -> int:
        """Rows in this block; 0 at the end of the table."""
        return len(next(iter(self.values()), ()))


class ColumnCursor(Closing):
    """Reads a rowid table from its first row to its last; made by `open_cursor`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        layout: TableLayout,
        requests: Sequence[ColumnRequest],
        pages: PagesFile | None,
        verified: PagesFile | None = None,
    ) -> None:
        self._requests = tuple(requests)
        present = [r for r in requests if layout.is_rowid(r.name) or layout.column(r.name)]
        # Without any column of the table there would be nothing to count rows by.
        self._present = present or [ColumnRequest("rowid", ColumnKind.INTEGER)]
        self._query = ColumnQuery(connection, layout, self._present)
        self._last_rowid: int | None = None
        self._is_next_odd = False
        self._pages = pages
        self._unverified = verified if pages is None else pages
        self._layout = layout
        if pages is not None and not pages.open(layout, self._present):
            self._pages = None

    @property
    def is_native(self) -> bool:
        """Whether the next rows are going to be read from pages."""
        return self._pages is not None

    @property
    def replaced_values(self) -> Counter[str]:
        """By column: values that were not of the requested kind and came as `missing`."""
        return Counter(self._query.replaced)

    def read(self, max_rows: int, last_rowid: int | None = None) -> ColumnBlock:
        """The next `max_rows` rows whose rowid is at most `last_rowid`; no rows at the end.

        A block is shorter before the end only when it holds 64 MiB of text.
        """
        bound = INT64_MAX if last_rowid is None else max(INT64_MIN, min(last_rowid, INT64_MAX))
        parts: list[list[ColumnValues]] = []
        rows_left, text_left_bytes = max_rows, TEXT_LIMIT_BYTES
        while rows_left > 0 and text_left_bytes > 0:
            part, rows = self._read_part(rows_left, bound, text_left_bytes)
            if not rows:
                break
            parts.append(part)
            rows_left -= rows
            text_left_bytes -= sum(len(c.blob) for c in part if isinstance(c, TextColumn))
        return self._block(parts, max_rows - rows_left)

    def seek(self, first_rowid: int) -> None:
        """Makes the first row whose rowid is at least that the next one."""
        if first_rowid <= INT64_MIN:
            return
        self._last_rowid, self._is_next_odd = first_rowid - 1, False
        if self._pages is not None and not self._pages.seek_after(self._last_rowid):
            self.close()

    def close(self) -> None:
        """Gives the file back; the connection stays the caller's."""
        if self._pages is not None:
            self._pages.close()
            self._pages = None

    def _read_part(
        self, max_rows: int, bound: int, text_limit_bytes: int
    ) -> tuple[list[ColumnValues], int]:
        if self._pages is not None and self._pages.has_changed():
            self.close()
        if self._pages is not None and not self._is_next_odd:
            outcome = self._pages.read(max_rows, bound, text_limit_bytes)
            # A row is looked at once: its overflow pages may not come up again.
            self._is_next_odd = outcome.status is PagesStatus.UNEXPECTED_VALUE
            if outcome.rows or outcome.status is PagesStatus.OK:
                if outcome.rows:
                    self._last_rowid = outcome.last_rowid
                return outcome.columns, outcome.rows
            if outcome.status is PagesStatus.CORRUPT:
                raise damaged_page(outcome.bad_page)
            if outcome.status is not PagesStatus.UNEXPECTED_VALUE:
                self.close()
        self._verify()
        last, columns = self._query.read(max_rows, self._last_rowid, bound, text_limit_bytes)
        if last is None:
            return columns, 0
        self._last_rowid, self._is_next_odd = last, False
        if self._pages is not None and not self._pages.seek_after(last):
            self.close()
        return columns, len(columns[0])

    def _verify(self) -> None:
        """Before SQLite reads the first row by itself, look whether the table is whole."""
        unverified, self._unverified = self._unverified, None
        if unverified is not None and not unverified.has_changed():
            unverified.verify(self._layout, self._present)

    def _block(self, parts: list[list[ColumnValues]], rows: int) -> ColumnBlock:
        """The parts as one block, absent columns filled in, in the order of the requests."""
        if not parts:
            parts = [[_filled(request, 0) for request in self._present]]
        columns = {
            request.name: _joined([part[index] for part in parts])
            for index, request in enumerate(self._present)
        }
        block = ColumnBlock()
        for request in self._requests:
            found = columns.get(request.name)
            block[request.name] = _filled(request, rows) if found is None else found
        return block


class PagesFile:
    """The pages of one closed database file, as long as nobody changes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._identity = _identity(path)
        self._reader: TableReader | None = None

    def open(self, layout: TableLayout, requests: Sequence[ColumnRequest]) -> bool:
        """Whether the table can be read from pages, from its first row on."""
        columns = [_read_column(layout, request) for request in requests]
        try:
            self._reader = TableReader(self._path, layout.root_page, columns)
        except PagesError:
            return False
        if self._reader.seek_after(INT64_MIN) is PagesStatus.OK:
            return True
        self.close()
        return False

    def verify(self, layout: TableLayout, requests: Sequence[ColumnRequest]) -> None:
        """Refuse a table that is damaged, as far as its pages can be read here."""
        columns = [_read_column(layout, request) for request in requests]
        try:
            reader = TableReader(self._path, layout.root_page, columns)
        except PagesError:
            return  # not a file of a kind that is read here: SQLite is the only one to read it
        status, bad_page = reader.verify()
        reader.close()
        if status is PagesStatus.CORRUPT:
            raise damaged_page(bad_page)

    def has_changed(self) -> bool:
        """Whether the file is no longer the one that was opened."""
        return _identity(self._path) != self._identity

    def read(self, max_rows: int, bound: int, text_limit_bytes: int) -> PagesRead:
        """The next rows, with the reason if they are fewer than could be."""
        assert self._reader is not None
        # No more rows than the file can hold: a caller may ask for all at once.
        fitting_rows = self._identity[1] // SMALLEST_ROW_BYTES + 1
        return self._reader.read(min(max_rows, fitting_rows), bound, text_limit_bytes)

    def seek_after(self, rowid: int) -> bool:
        """Whether reading can go on behind `rowid`."""
        assert self._reader is not None
        return rowid != INT64_MIN and self._reader.seek_after(rowid) is PagesStatus.OK

    def close(self) -> None:
        """Gives the file back."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def open_cursor(
    connection: sqlite3.Connection,
    path: Path,
    table: str,
    requests: Sequence[ColumnRequest],
    *,
    native: bool | None = None,
) -> ColumnCursor:
    """A cursor over `table` of the database that `connection` has open from `path`.

    `native` False keeps to SQL, True insists on reading pages (ValueError when that is impossible),
    None takes the fastest way there is. What SQLite finds damaged raises sqlite3.DatabaseError.
    """
    names = [request.name for request in requests]
    if len(set(names)) != len(names):
        raise ValueError(f"a column is requested twice: {', '.join(names)}")
    layout = table_layout(connection, table)
    file = PagesFile(path) if _can_read_pages(connection, path, layout) else None
    cursor = ColumnCursor(connection, layout, requests, file if native is not False else None, file)
    if native and not cursor.is_native:
        cursor.close()
        raise ValueError(f"the pages of {table} in {path} cannot be read directly")
    return cursor


def _can_read_pages(connection: sqlite3.Connection, path: Path, layout: TableLayout) -> bool:
    """Whether the file alone, without SQLite's help, holds every row as it is now."""
    real = os.path.realpath(path)
    return (
        not (layout.has_generated_columns or layout.has_no_rowid)
        and not connection.in_transaction
        and Path(real).is_file()
        and not any(_is_filled(Path(real + suffix)) for suffix in ("-wal", "-journal"))
    )


def damaged_page(number: int) -> sqlite3.DatabaseError:
    """The error for a page that breaks the file format."""
    return sqlite3.DatabaseError(f"page {number} breaks the file format")


def _is_filled(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _identity(path: Path) -> tuple[int, int, int]:
    """Inode, size and time of change; zeros when the file is gone."""
    try:
        facts = path.stat()
    except OSError:
        return 0, 0, 0
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def _read_column(layout: TableLayout, request: ColumnRequest) -> ReadColumn:
    kind = _PAGES_KINDS[request.kind]
    bits = (
        struct.unpack("<q", struct.pack("<d", request.missing))[0]
        if kind is PagesKind.REAL
        else int(request.missing)
    )
    column = layout.column(request.name)
    if layout.is_rowid(request.name) or column is None:
        return ReadColumn(IS_ROWID, kind, 0, bits)
    return ReadColumn(column.position, kind, column.has_default, bits)


def _filled(request: ColumnRequest, rows: int) -> ColumnValues:
    """The column for a table that does not have it."""
    if request.kind is ColumnKind.TEXT:
        return TextColumn.repeated(None, rows)
    dtype = np.int64 if request.kind is ColumnKind.INTEGER else np.float64
    return np.full(rows, request.missing, dtype)


def _joined(parts: list[ColumnValues]) -> ColumnValues:
    if len(parts) == 1:
        return parts[0]
    texts = [part for part in parts if isinstance(part, TextColumn)]
    if texts:
        return TextColumn.concatenated(texts)
    return np.concatenate([part for part in parts if isinstance(part, np.ndarray)])
