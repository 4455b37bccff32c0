"""SQLite files for the tests of what reads and fills their tables."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wavescope.formats.sqlite.sqlite_columns import (
    ColumnKind,
    ColumnRequest,
    TextColumn,
    open_cursor,
)
from wavescope.formats.sqlite.sqlite_pages import pages_library

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

needs_native = pytest.mark.skipif(pages_library() is None, reason="there is no native library")
both_ways = pytest.mark.parametrize("native", [pytest.param(True, marks=needs_native), False])


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
