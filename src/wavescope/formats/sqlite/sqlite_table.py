"""What SQLite's schema says about one rowid table, and which columns a reader asks for."""

from __future__ import annotations

import re
import sqlite3
from enum import Enum
from functools import lru_cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

from wavescope.formats.sqlite.guarded import GuardedConnection
from wavescope.formats.sqlite.sqlite_open import quoted

ROWID_NAMES = ("rowid", "_rowid_", "oid")


class ColumnKind(Enum):
    """How the values of a column come back: int64, float64, or text."""

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"


class ColumnRequest(NamedTuple):
    """One wanted column; `rowid` is always the rowid.

    `missing` stands for NULL, for a column that the table does not have and for a value that is
    not of this kind (a text is simply empty, and marked).
    """

    name: str
    kind: ColumnKind
    missing: int | float = -1


class Affinity(Enum):
    """The type that SQLite prefers for the values of a column."""

    INTEGER = "INTEGER"
    TEXT = "TEXT"
    BLOB = "BLOB"
    REAL = "REAL"
    NUMERIC = "NUMERIC"


class TableColumn(NamedTuple):
    """One column; `position` is its place in the stored record."""

    name: str
    position: int
    affinity: Affinity
    is_not_null: bool
    has_default: bool


class TableLayout(NamedTuple):
    """One table of the main database, with what matters for reading or building its pages."""

    name: str
    root_page: int
    columns: tuple[TableColumn, ...]
    rowid_column: str | None  # the INTEGER PRIMARY KEY, which is stored as the rowid
    has_generated_columns: bool
    has_indexes: bool
    has_triggers: bool
    has_checks: bool
    has_no_rowid: bool
    is_autoincrement: bool

    def column(self, name: str) -> TableColumn | None:
        """The column called `name`, compared as SQLite does: without regard to ASCII case."""
        wanted = folded(name)
        return next((column for column in self.columns if folded(column.name) == wanted), None)

    def is_rowid(self, name: str) -> bool:
        """Whether `name` asks for the rowid, by the word `rowid` or by the primary key's name."""
        own = self.rowid_column
        return folded(name) == "rowid" or (own is not None and folded(own) == folded(name))

    def rowid_expression(self) -> str:
        """SQL for the rowid that no column of the same name hides."""
        if self.rowid_column is not None:
            return quoted(self.rowid_column)
        free = [name for name in ROWID_NAMES if self.column(name) is None]
        if not free:
            raise sqlite3.OperationalError(f"no name is left for the rowid of table {self.name}")
        return free[0]


_known_layouts: WeakKeyDictionary[GuardedConnection, dict[str, TableLayout]] = WeakKeyDictionary()


def table_layout(connection: sqlite3.Connection, table: str) -> TableLayout:
    """The layout of `table`; sqlite3.OperationalError when the main database has no such table."""
    if not isinstance(connection, GuardedConnection):
        return _layout_by_schema(connection, table)
    # Nobody changes what such a connection reads, and a layout takes five statements.
    known = _known_layouts.setdefault(connection, {})
    if table not in known:
        known[table] = _layout_by_schema(connection, table)
    return known[table]


def _layout_by_schema(connection: sqlite3.Connection, table: str) -> TableLayout:
    row = connection.execute(
        "SELECT name, rootpage, sql FROM main.sqlite_master"
        " WHERE type = 'table' AND name = ? COLLATE NOCASE AND rootpage > 0",
        (table,),
    ).fetchone()
    if row is None:
        raise sqlite3.OperationalError(f"no such table: {table}")
    name, sql = _text(row[0]), _text(row[2] or "")
    facts = connection.execute(
        'SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?, ?)',
        (name, "main"),
    ).fetchall()
    attached = connection.execute(
        "SELECT total(type = 'index'), total(type = 'trigger')"
        " FROM main.sqlite_master WHERE tbl_name = ? COLLATE NOCASE",
        (name,),
    ).fetchone()
    return TableLayout(
        name=name,
        root_page=int(row[1]),
        columns=tuple(
            TableColumn(
                name=_text(column[0]),
                position=position,
                affinity=affinity_of(_text(column[1] or "")),
                is_not_null=bool(column[2]),
                has_default=column[3] is not None and _text(column[3]).upper() != "NULL",
            )
            for position, column in enumerate(facts)
        ),
        rowid_column=_rowid_column(connection, name, facts),
        has_generated_columns=any(column[5] != 0 for column in facts),
        has_indexes=attached[0] > 0,
        has_triggers=attached[1] > 0,
        has_checks=re.search(r"\bCHECK\b", sql, re.IGNORECASE) is not None,
        has_no_rowid=_has_no_rowid(connection, name),
        is_autoincrement=re.search(r"\bAUTOINCREMENT\b", sql, re.IGNORECASE) is not None,
    )


def is_empty(connection: sqlite3.Connection, layout: TableLayout) -> bool:
    """Whether the table has no rows."""
    sql = f"SELECT 1 FROM main.{quoted(layout.name)} LIMIT 1"  # noqa: S608  a quoted name
    return connection.execute(sql).fetchone() is None


def _has_no_rowid(connection: sqlite3.Connection, table: str) -> bool:
    """Whether the table is WITHOUT ROWID: then its primary key has no b-tree of its own."""
    row = connection.execute(
        "SELECT count(*) FROM pragma_index_list(?, 'main') WHERE origin = 'pk' AND name NOT IN"
        " (SELECT name FROM main.sqlite_master WHERE type = 'index')",
        (table,),
    ).fetchone()
    return bool(row[0])


def _rowid_column(
    connection: sqlite3.Connection, table: str, facts: list[tuple[object, ...]]
) -> str | None:
    """The only primary key column if it is declared INTEGER and has no index of its own."""
    keys = [column for column in facts if column[4]]
    if len(keys) != 1 or _text(keys[0][1] or "").upper() != "INTEGER":
        return None
    # INTEGER PRIMARY KEY DESC is, for historical reasons, an ordinary column with an index.
    origins = connection.execute("SELECT origin FROM pragma_index_list(?, ?)", (table, "main"))
    return None if any(_text(row[0]) == "pk" for row in origins) else _text(keys[0][0])


def affinity_of(declared_type: str) -> Affinity:
    """The affinity of a declared type, by SQLite's five rules in their order."""
    upper = declared_type.upper()
    if "INT" in upper:
        return Affinity.INTEGER
    if any(word in upper for word in ("CHAR", "CLOB", "TEXT")):
        return Affinity.TEXT
    if "BLOB" in upper or not upper:
        return Affinity.BLOB
    if any(word in upper for word in ("REAL", "FLOA", "DOUB")):
        return Affinity.REAL
    return Affinity.NUMERIC


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """`name` with ASCII letters in lower case and all others as they are."""
    return name.lower() if name.isascii() else name.translate(_ASCII_LOWER)


_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def _text(value: object) -> str:
    """`value` as text also where the connection hands out bytes."""
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)
