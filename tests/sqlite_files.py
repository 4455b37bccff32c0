"""SQLite files for the tests of what reads and fills their tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.reference.sqlite_insert import InsertingWriter
from wavescope.formats.sqlite import sqlite_bulk
from wavescope.formats.sqlite.sqlite_bulk import BulkDatabase, BulkTable
from wavescope.formats.sqlite.sqlite_columns import (
    ColumnKind,
    ColumnRequest,
    TextColumn,
    open_cursor,
)

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

both_ways = pytest.mark.parametrize("native", [True, False])
"""By pages and by SQL: the rows come from pages or through SQLite, and are written likewise."""


def bulk_database(path: Path, *, native: bool) -> BulkDatabase:
    """A database to fill, by pages or by what SQLite itself does."""
    with pytest.MonkeyPatch.context() as patch:
        if not native:
            patch.setattr(sqlite_bulk, "PageWriter", InsertingWriter)
        return BulkDatabase(path)


def bulk_table(
    path: Path, table: str, columns: Sequence[str] | None = None, *, native: bool, **options: Any
) -> BulkTable:
    """A table to fill, by pages or by what SQLite itself does."""
    with pytest.MonkeyPatch.context() as patch:
        if not native:
            patch.setattr(sqlite_bulk, "PageWriter", InsertingWriter)
        return BulkTable(path, table, columns, **options)


def integer(name: str, missing: int = -1) -> ColumnRequest:
    return ColumnRequest(name, ColumnKind.INTEGER, missing)


def real(name: str, missing: float = -1) -> ColumnRequest:
    return ColumnRequest(name, ColumnKind.REAL, missing)


def text(name: str) -> ColumnRequest:
    return ColumnRequest(name, ColumnKind.TEXT)


class Database:
    """A file, and a connection to fill it with."""

    def __init__(self, path: Path, page_bytes: int = 4096) -> None:
        self.path = path
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute(f"PRAGMA page_size = {page_bytes}")

    def run(self, sql: str, *rows: tuple[Any, ...]) -> Database:
        if rows:
            self.connection.execute("BEGIN")
            self.connection.executemany(sql, rows)
            self.connection.execute("COMMIT")
        else:
            self.connection.execute(sql)
        return self

    def read(
        self, *requests: ColumnRequest, native: bool | None, table: str = "t", rows: int = 10**9
    ) -> dict[str, list[Any]]:
        """Every row, read in blocks of `rows`; NULL texts as None."""
        result: dict[str, list[Any]] = {request.name: [] for request in requests}
        with open_cursor(self.connection, self.path, table, requests, native=native) as cursor:
            while True:
                block = cursor.read(rows)
                for name, values in block.items():
                    result[name] += plain(values)
                if not block.row_count:
                    return result


def plain(values: Any) -> list[Any]:
    if isinstance(values, TextColumn):
        nulls = values.nulls.tolist()
        return [None if null else t for t, null in zip(values.to_list(), nulls, strict=True)]
    listed: list[Any] = values.tolist()
    return listed


def with_reserved_bytes(path: Path, reserved: int) -> Path:
    """An empty database that leaves `reserved` bytes of every page unused."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")
    content = bytearray(path.read_bytes())
    content[20] = reserved
    content[105:107] = (4096 - reserved).to_bytes(2, "big")
    path.write_bytes(content)
    return path


def new_database(path: Path, *statements: str, page_bytes: int = 4096) -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size = {page_bytes}")
        for statement in statements:
            connection.execute(statement)
    return path


def select(path: Path, sql: str = "SELECT * FROM t ORDER BY rowid") -> list[tuple[Any, ...]]:
    """The rows, after SQLite has checked the whole file."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        return connection.execute(sql).fetchall()


def ints(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, dtype=np.int64)
