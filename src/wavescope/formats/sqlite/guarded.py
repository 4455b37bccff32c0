"""Connections to SQLite files that nobody vouches for.

A file brings its own schema, and a schema can hold code: views, virtual tables, generated columns,
expressions. Here SQLite is told to trust none of it, to keep to tables, and to give up when a
statement takes more steps than the bytes of the file can need.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable

from wavescope.process import raise_if_told_to_stop

_STEPS_BETWEEN_CHECKS = 100_000
_STEPS_OF_ANY_STATEMENT = 10_000_000
_STEPS_PER_BYTE = 64
"""Of one statement. A scan that makes text of all columns of narrow rows takes 8."""
_LONGEST_VALUE_BYTES = (64 << 20, 1_000_000_000)
"""At least what a block of numbers takes as text, at most what SQLite allows by itself."""
_PRAGMAS = ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON", "mmap_size = 0")
_LIMITS = {
    "SQLITE_LIMIT_ATTACHED": 0,
    "SQLITE_LIMIT_EXPR_DEPTH": 200,
    "SQLITE_LIMIT_LIKE_PATTERN_LENGTH": 1000,
    "SQLITE_LIMIT_TRIGGER_DEPTH": 1,
    "SQLITE_LIMIT_WORKER_THREADS": 0,
}
_SWITCHES = {
    "SQLITE_DBCONFIG_DEFENSIVE": True,
    "SQLITE_DBCONFIG_TRUSTED_SCHEMA": False,
    "SQLITE_DBCONFIG_ENABLE_TRIGGER": False,
    "SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION": False,
    "SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER": False,
}
_ALLOWED_ACTIONS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_PRAGMA}
_INTERRUPTED = "interrupted"
"""All that SQLite says then; a message that quotes a name may have the word in it."""
_SCHEMA_TABLES = ("sqlite_master", "sqlite_schema")
_overrun = threading.local()

Authorizer = Callable[[int, str | None, str | None, str | None, str | None], int]


class GuardedConnection(sqlite3.Connection):
    """A connection on which each statement may take so many steps of SQLite's machine."""

    most_checks: int | None = None
    """None: as many as it likes, as for a statement that the user wrote."""
    _checks = 0

    def execute(self, *arguments: object) -> sqlite3.Cursor:
        """The rows of a statement, which begins to count its steps anew."""
        self._checks = 0
        _overrun.happened = False
        return super().execute(*arguments)  # type: ignore[arg-type]

    def check(self) -> int:
        """Whether SQLite shall give up; being called also lets Python see signals."""
        self._checks += 1
        _overrun.happened = self.most_checks is not None and self._checks > self.most_checks
        return int(_overrun.happened)


def guarded_connection(
    uri: str, size_bytes: int, *, reads_views: bool = False
) -> GuardedConnection:
    """A connection to the file at `uri` that reads tables, and views only when asked to."""
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False, factory=GuardedConnection)
    _limit(connection, size_bytes)
    _switch(connection)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    steps = _STEPS_OF_ANY_STATEMENT + _STEPS_PER_BYTE * size_bytes
    connection.most_checks = steps // _STEPS_BETWEEN_CHECKS
    connection.set_progress_handler(connection.check, _STEPS_BETWEEN_CHECKS)
    connection.set_authorizer(_authorizer(reads_views=reads_views))
    return connection


def raise_if_stopped(error: BaseException) -> None:
    """Go on stopping where `error` only says that SQLite was interrupted by a signal."""
    if str(error) == _INTERRUPTED and not is_overrun(error):
        raise_if_told_to_stop()
        raise KeyboardInterrupt from error


def is_overrun(error: BaseException) -> bool:
    """Whether `error` says that a statement of this thread took more steps than it may."""
    return str(error) == _INTERRUPTED and bool(getattr(_overrun, "happened", False))


def _limit(connection: sqlite3.Connection, size_bytes: int) -> None:
    if not hasattr(connection, "setlimit"):  # before Python 3.11
        return
    for name, value in _LIMITS.items():
        connection.setlimit(getattr(sqlite3, name), value)
    least, most = _LONGEST_VALUE_BYTES
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(max(least, size_bytes), most))


def _switch(connection: sqlite3.Connection) -> None:
    set_switch = getattr(connection, "setconfig", None)  # from Python 3.12 on
    for name, value in _SWITCHES.items():
        if set_switch is not None and hasattr(sqlite3, name):
            set_switch(getattr(sqlite3, name), value)


def _authorizer(*, reads_views: bool) -> Authorizer:
    """Lets a statement read tables, and never count without end as recursive views can."""

    def authorize(
        action: int, first: str | None, _: str | None, __: str | None, view: str | None
    ) -> int:
        if action in _ALLOWED_ACTIONS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            allowed = view is None or reads_views or first in _SCHEMA_TABLES
            return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
        # How SQLite announces a table-valued pragma; the file itself cannot be written.
        is_pragma = action == sqlite3.SQLITE_UPDATE and first == "sqlite_master"
        return sqlite3.SQLITE_OK if is_pragma else sqlite3.SQLITE_DENY

    return authorize
