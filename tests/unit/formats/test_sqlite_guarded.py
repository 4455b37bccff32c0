"""What SQLite may do with a file that nobody vouches for."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.sqlite_files import new_database
from wavescope.errors import UnreadableInputError
from wavescope.formats.sqlite import guarded
from wavescope.formats.sqlite.sqlite_open import ReadOnlyDatabase, sqlite_errors
from wavescope.formats.sqlite.sqlite_table import table_layout
from wavescope.process import Stopping

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return new_database(
        tmp_path / "foreign.db",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)",
        "INSERT INTO t SELECT value, value FROM json_each('[1,2,3,4,5,6,7,8,9,10]')",
        "CREATE VIEW all_of_t AS SELECT * FROM t",
        "CREATE VIEW nested AS SELECT * FROM all_of_t",
        f"CREATE VIEW endless AS {ENDLESS}",
        "CREATE VIEW function_call AS SELECT load_extension('x') FROM t",
    )


@pytest.fixture
def database(path: Path) -> Iterator[ReadOnlyDatabase]:
    with closing(ReadOnlyDatabase(path)) as opened:
        yield opened


def test_tables_are_read_as_ever(database: ReadOnlyDatabase) -> None:
    rows = database.connection.execute("SELECT sum(a) FROM (SELECT a FROM t WHERE id > 8)")

    assert rows.fetchall() == [(19,)]
    assert database.tables() == {"t"}


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM all_of_t",
        "SELECT count(*) FROM nested",
        "SELECT * FROM endless",
        ENDLESS,
        "ATTACH ':memory:' AS other",
        "INSERT INTO t VALUES (11, 11)",
        "CREATE TEMP TABLE mine (a)",
    ],
)
def test_everything_else_is_refused(database: ReadOnlyDatabase, statement: str) -> None:
    with pytest.raises(sqlite3.DatabaseError, match=r"not authorized|prohibited"):
        database.connection.execute(statement).fetchmany(1)


def test_what_the_schema_says_of_a_table_is_asked_once(database: ReadOnlyDatabase) -> None:
    first = table_layout(database.connection, "t")
    statements: list[str] = []
    database.connection.set_trace_callback(statements.append)

    assert table_layout(database.connection, "t") is first
    assert [column.name for column in first.columns] == ["id", "a"]
    assert statements == []


def test_views_that_a_format_has_are_read_but_never_endless_ones(path: Path) -> None:
    with closing(ReadOnlyDatabase(path, reads_views=True)) as database:
        assert database.connection.execute("SELECT sum(a) FROM nested").fetchone() == (55,)
        with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
            database.connection.execute("SELECT * FROM endless")
        with pytest.raises(sqlite3.DatabaseError, match=r"unsafe use|not authorized"):
            database.connection.execute("SELECT * FROM function_call").fetchall()


def test_sqlite_trusts_nothing_of_the_file(database: ReadOnlyDatabase) -> None:
    def setting(name: str) -> int:
        return int(database.connection.execute(f"PRAGMA {name}").fetchone()[0])

    assert (setting("trusted_schema"), setting("query_only"), setting("cell_size_check")) == (
        0,
        1,
        1,
    )
    if sys.version_info >= (3, 11):
        assert database.connection.getlimit(sqlite3.SQLITE_LIMIT_ATTACHED) == 0
        assert database.connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH) == 64 << 20
    if sys.version_info >= (3, 12):
        assert database.connection.getconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE)


def test_a_statement_that_takes_too_many_steps_is_the_files_fault(
    database: ReadOnlyDatabase, path: Path
) -> None:
    crossed = ", ".join(f"t AS t{number}" for number in range(12))
    with (
        pytest.raises(UnreadableInputError, match="more work than a file of its size can need"),
        sqlite_errors(path),
    ):
        database.connection.execute(f"SELECT count(*) FROM {crossed}").fetchone()


def test_each_statement_has_its_own_steps(
    database: ReadOnlyDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    crossed = ", ".join(f"t AS t{number}" for number in range(5))
    database.connection.set_progress_handler(database.connection.check, 1000)
    monkeypatch.setattr(database.connection, "most_checks", 2000)

    counts = [
        database.connection.execute(f"SELECT count(*) FROM {crossed}").fetchone()[0]
        for _ in range(20)
    ]

    assert counts == [100_000] * 20


@pytest.mark.parametrize(("number", "told"), [(2, KeyboardInterrupt), (15, SystemExit)])
def test_a_signal_that_sqlite_swallowed_goes_on(
    database: ReadOnlyDatabase,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    told: type[BaseException],
) -> None:
    def handler() -> int:
        monkeypatch.setattr(Stopping, "signal_number", number)
        raise told

    crossed = ", ".join(f"t AS t{place}" for place in range(9))
    database.connection.set_progress_handler(handler, 1000)
    with pytest.raises(told), sqlite_errors(path):
        database.connection.execute(f"SELECT count(*) FROM {crossed}").fetchone()


def test_limits_grow_with_the_file() -> None:
    with closing(guarded.guarded_connection("file::memory:", 2 << 30)) as connection:
        assert connection.most_checks == (10_000_000 + 64 * (2 << 30)) // 100_000
