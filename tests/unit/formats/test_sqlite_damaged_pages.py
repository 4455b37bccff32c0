"""A table whose structure is damaged: both ways to read it give the same rows, or refuse it."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.sqlite_damage import DAMAGES, PAGE_BYTES, change_key, swap_cells
from tests.sqlite_files import Database, integer, real, text
from wavescope.formats.sqlite.sqlite_columns import ColumnRequest

REQUESTS = (integer("id"), integer("a"), text("b"), real("c"))
ROUNDS = 25


def rows(count: int, *, long_texts: bool) -> list[tuple[Any, ...]]:
    """Short rows, some of them with texts that go on in other pages."""
    return [
        (n * 2, n**3, "x" * (1500 if long_texts and n % 30 == 0 else n % 50), n / 3)
        for n in range(count)
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A tree of three levels, in which some rows were removed and put back."""
    path = tmp_path_factory.mktemp("whole") / "whole.db"
    database = Database(path, PAGE_BYTES)
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT, c REAL)")
    given = rows(900, long_texts=True)
    database.run("INSERT INTO t VALUES (?, ?, ?, ?)", *given)
    database.run("DELETE FROM t WHERE id % 7 = 0")
    database.run("INSERT INTO t VALUES (?, ?, ?, ?)", *(row for row in given if row[0] % 7 == 0))
    database.connection.close()
    return path.read_bytes()


def outcome(path: Path, requests: Sequence[ColumnRequest], *, native: bool | None) -> object:
    """All rows, or that there is an error."""
    database = Database.__new__(Database)
    database.path = path
    database.connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    with closing(database.connection):
        try:
            return database.read(*requests, native=native, rows=100)
        except sqlite3.DatabaseError:
            return "refused"


def test_a_whole_table_is_read_both_ways(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "whole.db"
    path.write_bytes(whole)

    by_pages = outcome(path, REQUESTS, native=True)

    assert by_pages == outcome(path, REQUESTS, native=False)
    assert isinstance(by_pages, dict)
    assert list(zip(*by_pages.values(), strict=True)) == rows(900, long_texts=True)


@pytest.mark.parametrize("damage", DAMAGES)
def test_both_ways_agree_on_damage(whole: bytes, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "damaged.db"
    refused = 0
    for seed in range(ROUNDS):
        content = bytearray(whole)
        DAMAGES[damage](content, random.Random(f"{damage} {seed}"))
        path.write_bytes(content)

        by_pages = outcome(path, REQUESTS, native=None)

        assert by_pages == outcome(path, REQUESTS, native=False), seed
        refused += by_pages == "refused"
        assert by_pages == "refused" or len(by_pages["id"]) <= 900  # type: ignore[index]
    assert refused > ROUNDS // 5


def test_both_ways_agree_behind_an_odd_value(tmp_path: Path) -> None:
    """SQLite reads the rows behind an odd value, where pages were damaged too."""
    path = tmp_path / "odd.db"
    database = Database(path, PAGE_BYTES)
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT, c REAL)")
    database.run("INSERT INTO t VALUES (?, ?, ?, ?)", *rows(600, long_texts=False))
    database.run("UPDATE t SET a = 'odd' WHERE id = 10")
    database.connection.close()
    whole = path.read_bytes()
    assert (
        outcome(path, REQUESTS, native=None) == outcome(path, REQUESTS, native=False) != "refused"
    )

    for damage in (swap_cells, change_key):
        content = bytearray(whole)
        damage(content, random.Random(3))
        path.write_bytes(content)
        assert outcome(path, REQUESTS, native=None) == outcome(path, REQUESTS, native=False)
        assert outcome(path, REQUESTS, native=None) == "refused"
