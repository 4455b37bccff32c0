"""What the bulk writer refuses leaves the file as it was, and sound."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.sqlite_files import (
    both_ways,
    bulk_database,
    bulk_table,
    ints,
    new_database,
    select,
)
from wavescope.formats.sqlite.sqlite_bulk import TextColumn


@both_ways
def test_abort_leaves_the_file_as_it_was(tmp_path: Path, native: bool) -> None:
    path = new_database(tmp_path / "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)")
    before = path.read_bytes()
    rows = {"id": np.arange(50_000), "a": TextColumn.repeated("some text", 50_000)}

    table = bulk_table(path, "t", native=native)
    table.append(rows)
    table.abort()
    assert path.read_bytes() == before

    with pytest.raises(KeyError), bulk_table(path, "t", native=native) as table:
        table.append(rows)
        raise KeyError
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="closed"):
        table.append(rows)


@both_ways
def test_rows_that_break_an_index_leave_nothing(tmp_path: Path, native: bool) -> None:
    path = new_database(tmp_path / "a.db", "CREATE TABLE t (k BIGINT PRIMARY KEY)")

    with (
        pytest.raises(sqlite3.IntegrityError),
        bulk_table(path, "t", rebuild_indexes=True, native=native) as table,
    ):
        table.append({"rowid": ints(1, 2), "k": ints(7, 7)})

    assert select(path) == []


@both_ways
def test_refused_appends(tmp_path: Path, native: bool) -> None:
    path = new_database(
        tmp_path / "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER NOT NULL, b TEXT)"
    )
    cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (ValueError, "do not increase", {"id": ints(1, 1), "a": ints(1, 2)}),
        (ValueError, "do not increase", {"id": ints(0), "a": ints(1)}),
        (sqlite3.IntegrityError, "NULL", {"id": ints(1)}),
        (sqlite3.IntegrityError, "NULL", {"id": ints(1), "a": ints(-5)}),
        (ValueError, "no column z", {"id": ints(1), "z": ints(1)}),
        (ValueError, "different lengths", {"id": ints(1), "a": ints(1, 2)}),
        (ValueError, "needs whole numbers", {"a": ints(1)}),
        (ValueError, "needs whole numbers", {"id": np.array([1.0]), "a": ints(1)}),
        (ValueError, "b is TEXT", {"id": ints(1), "a": ints(1), "b": ints(1)}),
        (ValueError, "a is INTEGER", {"id": ints(1), "a": TextColumn.from_strings(["1"])}),
        (ValueError, "uint64", {"id": ints(1), "a": np.array([1], dtype=np.uint64)}),
        (ValueError, "one-dimensional", {"id": ints(1), "a": ints(1).reshape(1, 1)}),
        (ValueError, "twice", {"id": ints(1), "ID": ints(1), "a": ints(1)}),
    ]
    for error, message, columns in cases:
        table = bulk_table(path, "t", missing={"a": -5}, native=native)
        table.append({"id": ints(0), "a": ints(0)})
        with pytest.raises(error, match=message):
            table.append(columns)
        assert select(path) == [], message

    with (
        bulk_table(path, "t", ["id", "a"], native=native) as table,
        pytest.raises(ValueError, match="filled by id, a"),
    ):
        table.append({"id": ints(1), "a": ints(1), "b": TextColumn.repeated("x", 1)})


@both_ways
@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE)", "indexes"),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, a CHECK (a > 0))", "CHECK"),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b AS (a + 1))", "generated"),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, a) WITHOUT ROWID", "no rowid"),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)", "rows already"),
        ("CREATE TABLE t (a); CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END", "triggers"),
        ("PRAGMA auto_vacuum = 1; CREATE TABLE t (a)", "auto_vacuum is 1"),
        ("PRAGMA encoding = 'UTF-16be'; CREATE TABLE t (a)", "encoding is UTF-16be"),
        ("CREATE TABLE t (a); PRAGMA journal_mode = wal", "journal_mode is wal"),
        ("CREATE TABLE t (a); CREATE TABLE u (a); DROP TABLE u", "freelist_count is 1"),
    ],
)
def test_refused_tables(tmp_path: Path, native: bool, schema: str, message: str) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema)
    before = path.read_bytes()

    with pytest.raises(ValueError, match=message):
        bulk_table(path, "t", native=native)

    assert path.read_bytes() == before


@both_ways
def test_refused_files(tmp_path: Path, native: bool) -> None:
    path = new_database(tmp_path / "a.db", "CREATE TABLE t (a)")
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        bulk_table(tmp_path / "none.db", "t", native=native)
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        bulk_table(path, "u", native=native)
    (tmp_path / "text.db").write_text(
        "this is no database, though it is long enough to be one" * 20
    )
    with pytest.raises(sqlite3.DatabaseError):
        bulk_table(tmp_path / "text.db", "t", native=native)
    with closing(sqlite3.connect(path, timeout=0)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            bulk_database(path, native=native)


def test_a_full_disk_is_an_os_error_and_the_file_stays_sound(tmp_path: Path) -> None:
    path = new_database(tmp_path / "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)")
    before = path.read_bytes()
    program = (
        "import sys, numpy as np; from pathlib import Path;"
        "from wavescope.formats.sqlite.sqlite_bulk import BulkTable, TextColumn\n"
        "table = BulkTable(Path(sys.argv[1]), 't')\n"
        "try:\n"
        "    table.append({'id': np.arange(9000), 'a': TextColumn.repeated('x' * 900, 9000)})\n"
        "except OSError as error:\n"
        "    sys.exit(error.errno)\n"
    )

    def limit_file_size() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))

    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        preexec_fn=limit_file_size,
        env=environment,
        check=False,
    )

    assert done.returncode == 27  # EFBIG, as ENOSPC would be
    assert path.read_bytes() == before
