"""Runs one SQL statement that can only read.

Three locks: the file is opened read-only, SQLite is told to refuse writes, and an authorizer lets
through only what a SELECT needs. Views of the file are untrusted too: they may not call functions
that have side effects.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from wavescope.errors import MachineError, UnreadableInputError, UsageError
from wavescope.files import ByteStream
from wavescope.formats.sqlite.guarded import raise_if_stopped
from wavescope.formats.sqlite.sqlite_open import SQLITE_MAGIC, ReadOnlyDatabase
from wavescope.unpacking import is_full_disk

SqlValue = str | int | float | bytes | None
SqlRow = tuple[SqlValue, ...]

_READING_PRAGMAS = {
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
    "function_list",
    "user_version",
    "schema_version",
    "page_count",
    "page_size",
    "encoding",
    "compile_options",
}
_REFUSED_FUNCTIONS = {"load_extension", "fts3_tokenizer", "writefile", "readfile", "edit"}
_ALLOWED_ACTIONS = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_RECURSIVE,
}
_SQL_ERRORS = (sqlite3.Error, sqlite3.Warning, UnicodeError)
"""The last one when a message quotes a damaged name, or the statement is no text."""
_NO_ROOM = "the statement needs more temporary space than there is"
_LESS = "select or sort less; for `wavescope query` TMPDIR names a roomier folder"
_DAMAGED = ("image is malformed", "malformed database", "not a database", "disk I/O")


class ReadOnlyQuery:
    """The rows of one statement on the SQLite file at `path`, as they come."""

    def __init__(self, path: Path, sql: str) -> None:
        self._path = path
        self._database = ReadOnlyDatabase(path)
        connection = self._database.connection
        connection.set_authorizer(_authorize)
        connection.most_checks = None  # the user's own statement may take its time
        try:
            self._cursor = connection.execute(sql)
        except _SQL_ERRORS as error:
            self.close()
            raise self._explained(error) from error
        if self._cursor.description is None:
            self.close()
            raise UsageError("the SQL statement is empty", hint="write a SELECT statement")

    @property
    def columns(self) -> list[str]:
        """Names of the result's columns."""
        return [column[0] for column in self._cursor.description]

    def __iter__(self) -> Iterator[SqlRow]:
        try:
            for row in self._cursor:  # noqa: UP028  `yield from` would close the cursor, too late
                yield row
        except _SQL_ERRORS as error:
            raise self._explained(error) from error

    def close(self) -> None:
        """Release the file."""
        self._database.close()

    def _explained(self, error: Exception) -> Exception:
        message = str(error)
        raise_if_stopped(error)
        if isinstance(error, UnicodeEncodeError):
            return UsageError(
                "the SQL statement is not UTF-8 text", hint="x'ff' is a value of any bytes"
            )
        if isinstance(error, UnicodeDecodeError):
            return UnreadableInputError(self._path, "the database is damaged (names are not text)")
        if is_full_disk(error):
            return MachineError(_NO_ROOM, hint=_LESS)
        if getattr(error, "sqlite_errorname", "") == "SQLITE_IOERR_WRITE":  # a limit is met
            return UsageError(_NO_ROOM, hint=_LESS)
        if message.startswith("no such"):  # and a name, in which any words may stand
            return UsageError(f"SQL: {message}", hint=_table_hint(message))
        if any(words in message for words in _DAMAGED):
            return UnreadableInputError(self._path, f"the database is damaged ({message})")
        if any(word in message for word in ("authoriz", "prohibited", "readonly")):
            return UsageError(
                f"only reading is allowed here ({message})",
                hint="write one SELECT statement; `wavescope trim` and `merge` make new files",
            )
        if "one statement" in message:
            return UsageError("give one SQL statement at a time")
        return UsageError(f"SQL: {message}")


def require_sqlite(path: Path) -> None:
    """Refuse a file that is no SQLite database, gzipped or not."""
    with ByteStream(path) as stream:
        head = stream.read(len(SQLITE_MAGIC))
    if head != SQLITE_MAGIC:
        raise UnreadableInputError(
            path,
            "it is not an SQLite database",
            hint="leave out --raw, and the trace is converted first",
        )


def _table_hint(message: str) -> str:
    if "no such table" in message:
        return "SELECT name FROM sqlite_master lists the tables and views"
    if "no such column" in message:
        return "PRAGMA table_info(rocpd_op) lists the columns of a table"
    return ""


def _authorize(
    action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
) -> int:
    del database, trigger
    if action in _ALLOWED_ACTIONS:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        refused = (second or "").lower() in _REFUSED_FUNCTIONS
        return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_UPDATE and first == "sqlite_master":
        # How SQLite announces a table-valued pragma; it refuses a real change by itself.
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA:
        reads = (first or "").lower() in _READING_PRAGMAS and not _sets_value(first, second)
        return sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_DENY


def _sets_value(name: str | None, argument: str | None) -> bool:
    """Whether a pragma's argument is a new value: those of `..._info` and `..._list` are names."""
    takes_name = (name or "").lower().endswith(("_info", "_xinfo", "_list"))
    return argument is not None and not takes_name
