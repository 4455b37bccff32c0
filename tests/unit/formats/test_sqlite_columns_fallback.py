"""Where pages cannot be read, SQLite reads; what SQLite cannot read is its error."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.sqlite_files import (
    Database,
    both_ways,
    integer,
    real,
    text,
)
from wavescope.formats.sqlite import sqlite_columns
from wavescope.formats.sqlite.sqlite_columns import open_cursor


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "trace.db")
    yield made
    made.connection.close()


def test_reading_pages_goes_on_behind_an_odd_value(database: Database) -> None:
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)")
    rows = [(n, "odd" if n == 70_000 else n) for n in range(1, 200_001)]
    database.run("INSERT INTO t VALUES (?, ?)", *rows)

    with open_cursor(database.connection, database.path, "t", [integer("a")]) as cursor:
        block = cursor.read(150_000)
        rest = cursor.read(150_000)
        assert cursor.is_native

    found = np.concatenate((block.integers("a"), rest.integers("a")))
    assert found.tolist() == [-1 if n == 70_000 else n for n in range(1, 200_001)]
    assert cursor.replaced_values == {"a": 1}


def test_utf16_databases_are_read_through_sql(database: Database) -> None:
    database.run("PRAGMA encoding = 'UTF-16le'").run("CREATE TABLE t (a TEXT, b INTEGER)")
    database.run("INSERT INTO t VALUES ('grün', 3), (NULL, 4), ('12', 'x')")

    columns = database.read(text("a"), integer("b"), native=None)

    assert columns == {"a": ["grün", None, "12"], "b": [3, 4, -1]}


def test_generated_columns_are_read_through_sql(database: Database) -> None:
    database.run("CREATE TABLE t (a INTEGER, b INTEGER AS (a * 2), c INTEGER)")
    database.run("INSERT INTO t (a, c) VALUES (1, 5), (2, 6)")

    columns = database.read(integer("a"), integer("b"), integer("c"), native=None)

    assert columns == {"a": [1, 2], "b": [2, 4], "c": [5, 6]}


def test_rows_in_a_write_ahead_log_are_seen(database: Database) -> None:
    database.run("PRAGMA journal_mode = wal").run("CREATE TABLE t (a INTEGER)").run(
        "INSERT INTO t VALUES (1)"
    )

    with open_cursor(database.connection, database.path, "t", [integer("a")]) as cursor:
        assert not cursor.is_native
        assert cursor.read(10)["a"].tolist() == [1]
    with pytest.raises(ValueError, match="cannot be read directly"):
        open_cursor(database.connection, database.path, "t", [integer("a")], native=True)


def test_rows_of_an_open_transaction_are_seen(database: Database) -> None:
    database.run("CREATE TABLE t (a INTEGER)").run("BEGIN").run("INSERT INTO t VALUES (1)")

    assert database.read(integer("a"), native=None) == {"a": [1]}
    database.run("ROLLBACK")


def test_a_file_that_changes_while_it_is_read(database: Database) -> None:
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    database.run("INSERT INTO t VALUES (?)", *((n,) for n in range(1, 3001)))

    with open_cursor(database.connection, database.path, "t", [integer("id")]) as cursor:
        first = cursor.read(1000)["id"].tolist()
        database.run("DELETE FROM t WHERE id BETWEEN 1501 AND 2500")
        rest = cursor.read(10_000)["id"].tolist()

    assert first == list(range(1, 1001))
    assert rest == [*range(1001, 1501), *range(2501, 3001)]


def test_text_is_limited_per_block(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_columns, "TEXT_LIMIT_BYTES", 10_000)
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)")
    database.run("INSERT INTO t VALUES (?, ?)", *((n, "m" * 999) for n in range(100)))

    for native in (False, None):
        requests = [text("a"), integer("id")]
        with open_cursor(
            database.connection, database.path, "t", requests, native=native
        ) as cursor:
            counts = []
            while (block := cursor.read(50)).row_count:
                counts.append(block.row_count)
        assert counts == [11] * 9 + [1]


@both_ways
def test_a_connection_that_hands_out_bytes_or_named_rows(database: Database, native: bool) -> None:
    database.run("CREATE TABLE t (a INTEGER, b TEXT)").run(
        "INSERT INTO t VALUES (1, 'x'), ('y', 'z')"
    )
    database.connection.row_factory = sqlite3.Row
    database.connection.text_factory = bytes

    assert database.read(integer("a"), text("b"), native=native) == {"a": [1, -1], "b": ["x", "z"]}


def test_what_cannot_be_read(database: Database) -> None:
    database.run("CREATE TABLE t (a INTEGER)").run("CREATE VIEW v AS SELECT * FROM t")
    database.run("CREATE TABLE w (a INTEGER PRIMARY KEY) WITHOUT ROWID").run(
        "INSERT INTO w VALUES (1)"
    )

    with pytest.raises(sqlite3.OperationalError, match="no such table: missing"):
        database.read(integer("a"), native=None, table="missing")
    with pytest.raises(sqlite3.OperationalError, match="no such table: v"):
        database.read(integer("a"), native=None, table="v")
    with pytest.raises(sqlite3.OperationalError, match="rowid"):
        database.read(integer("a"), native=None, table="w")
    with pytest.raises(ValueError, match="twice"):
        database.read(integer("a"), text("a"), native=None)


@pytest.mark.parametrize("damage", ["page type", "cell count", "cut short"])
def test_damage_raises_after_the_rows_before_it(database: Database, damage: str) -> None:
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)")
    database.run("INSERT INTO t VALUES (?, ?)", *((n, "p" * 50) for n in range(1, 20_001)))
    database.connection.close()
    content = bytearray(database.path.read_bytes())
    page = len(content) // 4096 // 2 * 4096
    if damage == "page type":
        content[page] = 0x42
    elif damage == "cell count":
        content[page + 3 : page + 5] = b"\xff\xff"
    else:
        del content[page:]
    database.path.write_bytes(content)
    database.connection = sqlite3.connect(f"file:{database.path}?mode=ro&immutable=1", uri=True)

    rows = 0
    with (
        pytest.raises(sqlite3.DatabaseError),
        open_cursor(database.connection, database.path, "t", [integer("id"), text("a")]) as cursor,
    ):
        while (block := cursor.read(500)).row_count:
            rows += block.row_count

    assert rows == 0 if damage == "cut short" else 5_000 < rows < 15_000


def test_damage_anywhere_gives_rows_or_a_database_error(tmp_path: Path) -> None:
    database = Database(tmp_path / "good.db", 512)
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT, c REAL)")
    rows = [(n * 3, n**5, "x" * (n % 60 if n % 40 else 2500), n / 3) for n in range(400)]
    database.run("INSERT INTO t VALUES (?, ?, ?, ?)", *rows)
    database.connection.close()
    good = database.path.read_bytes()
    chance = random.Random(11)
    refused = 0

    for _ in range(200):
        content = bytearray(good)
        for _ in range(chance.randint(1, 6)):
            page = chance.randrange(len(content) // 512) * 512
            content[page + chance.randrange(chance.choice([16, 60, 512]))] = chance.randrange(256)
        database.path.write_bytes(content)
        database.connection = sqlite3.connect(f"file:{database.path}?immutable=1", uri=True)
        try:
            for native in (None, False):
                columns = database.read(
                    integer("id"), integer("a"), text("b"), real("c"), native=native, rows=97
                )
                assert len(columns["id"]) < len(good)
        except sqlite3.DatabaseError:
            refused += 1
        database.connection.close()

    assert refused > 20
