"""Whatever the bulk writer fills, SQLite itself finds sound and reads back equal."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sqlite_files import (
    INT64_MAX,
    INT64_MIN,
    both_ways,
    bulk_database,
    bulk_table,
    ints,
    new_database,
    select,
    with_reserved_bytes,
)
from wavescope.formats.sqlite.sqlite_bulk import BulkTable, TextColumn

EDGES = [
    sign * 2**bits + step
    for bits in (0, 7, 8, 15, 23, 31, 47, 62)
    for sign in (1, -1)
    for step in (-1, 0, 1)
]
EDGES += [INT64_MIN, INT64_MIN + 1, INT64_MAX - 1, INT64_MAX]


@both_ways
def test_rows_become_part_of_the_file_on_close(tmp_path: Path, native: bool) -> None:
    path = new_database(
        tmp_path / "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, b REAL, c TEXT)"
    )

    with bulk_table(path, "t", ["id", "a", "c"], missing={"a": -1}, native=native) as table:
        table.append(
            {"id": ints(2, 3), "a": ints(5, -1), "c": TextColumn.from_strings(["x", None])}
        )
        table.append({"id": ints(9), "a": ints(0), "c": TextColumn.from_strings([""])})
        table.append({"id": ints(), "a": ints(), "c": TextColumn.from_strings([])})

    assert select(path) == [(2, 5, None, "x"), (3, None, None, None), (9, 0, None, "")]


@pytest.mark.parametrize(
    ("native", "page_bytes"),
    [(False, 4096), *((True, 512 << n) for n in range(8))],
)
@pytest.mark.parametrize("row_count", [0, 1, 3, 20_000])
def test_trees_of_every_height(
    tmp_path: Path, native: bool, page_bytes: int, row_count: int
) -> None:
    path = new_database(
        tmp_path / "a.db",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER)",
        page_bytes=page_bytes,
    )
    numbers = np.arange(row_count, dtype=np.int64)

    with bulk_table(path, "t", native=native) as table:
        for block in np.array_split(numbers, 3):
            table.append({"id": block * 1_000_003 + 1, "a": block**3, "b": -block})

    expected = [(n * 1_000_003 + 1, n**3, -n) for n in range(row_count)]
    assert select(path) == expected
    assert select(path, "SELECT a FROM t WHERE id = 2000007") == ([(8,)] if row_count > 2 else [])


@both_ways
def test_integers_of_every_size(tmp_path: Path, native: bool) -> None:
    path = new_database(tmp_path / "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)")
    rowids = sorted(set(EDGES))

    with bulk_table(path, "t", native=native) as table:
        table.append({"id": ints(*rowids), "a": ints(*reversed(rowids))})

    assert select(path) == list(zip(rowids, reversed(rowids), strict=True))


def test_records_are_as_compact_as_those_of_sqlite(tmp_path: Path) -> None:
    schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b REAL, c TEXT)"
    reals = [0.0, 1.0, 0.5, -300.0, 2.0**47 - 1, 2.0**47, -(2.0**47), 2.0**60]
    rows = [(n + 1, value, reals[n % 8], "s" * n) for n, value in enumerate(EDGES)]
    by_sqlite = new_database(tmp_path / "sqlite.db", schema)
    by_us = new_database(tmp_path / "us.db", schema)
    with closing(sqlite3.connect(by_sqlite)) as connection:
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        connection.commit()

    with BulkTable(by_us, "t") as table:
        ids, a, b, c = zip(*rows, strict=True)
        table.append(
            {"id": ints(*ids), "a": ints(*a), "b": np.array(b), "c": TextColumn.from_strings(c)}
        )

    assert leaf_cells(by_us) == leaf_cells(by_sqlite)
    assert select(by_us) == rows


def leaf_cells(path: Path) -> list[bytes]:
    """Every cell of the only leaf, page 2."""
    page = path.read_bytes()[4096:8192]
    assert page[0] == 0x0D
    count = int.from_bytes(page[3:5], "big")
    begins = [int.from_bytes(page[8 + 2 * n : 10 + 2 * n], "big") for n in range(count)]
    return [page[b:e] for b, e in zip(begins, [4096, *begins], strict=False)]


@both_ways
def test_reals_follow_the_affinity_of_their_column(tmp_path: Path, native: bool) -> None:
    path = new_database(
        tmp_path / "a.db",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, r REAL, i INTEGER, n NUMERIC, x)",
    )
    reals = np.array([0.5, 2.0, -0.0, np.nan, 1e300, -(2.0**63), 2.0**62, np.inf])
    numbers = np.arange(1, 9)

    with bulk_table(path, "t", native=native) as table:
        table.append({"id": numbers, "r": reals, "i": reals, "n": reals, "x": reals})
        table.append({"id": numbers + 8, "r": numbers, "i": numbers, "n": numbers, "x": numbers})

    found = select(path, "SELECT r, i, typeof(i), n, typeof(n), x, typeof(x) FROM t ORDER BY id")
    values = [None if np.isnan(value) else value for value in reals.tolist()]
    whole = ["real", "integer", "integer", "null", "real", "real", "integer", "real"]
    kinds = ["real", "real", "real", "null", "real", "real", "real", "real"]
    assert found[:8] == list(zip(values, values, whole, values, whole, values, kinds, strict=True))
    assert found[8:] == [(float(n), n, "integer", n, "integer", n, "integer") for n in range(1, 9)]


@both_ways
def test_missing_reals_become_null(tmp_path: Path, native: bool) -> None:
    path = new_database(
        tmp_path / "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, r REAL, q REAL)"
    )

    with bulk_table(path, "t", missing={"r": -1, "Q": float("nan")}, native=native) as table:
        table.append({"id": ints(1, 2), "r": np.array([-1.0, 1.0]), "q": np.array([-1.0, np.nan])})

    assert select(path) == [(1, None, -1.0), (2, 1.0, None)]


@both_ways
def test_other_integer_types_strides_and_constants(tmp_path: Path, native: bool) -> None:
    path = new_database(tmp_path / "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c, d)")
    grid = np.arange(12, dtype=np.int64).reshape(4, 3)

    with bulk_table(path, "t", native=native) as table:
        table.append(
            {
                "id": grid[:, 0],
                "a": grid[::-1, 2],
                "b": np.broadcast_to(np.int64(7), 4),
                "c": np.array([1, 2, 3, 4], dtype=np.uint8),
                "d": np.array([True, False, True, True]),
            }
        )

    assert select(path) == [(0, 11, 7, 1, 1), (3, 8, 7, 2, 0), (6, 5, 7, 3, 1), (9, 2, 7, 4, 1)]


@both_ways
def test_several_tables_at_once(tmp_path: Path, native: bool) -> None:
    path = new_database(
        tmp_path / "a.db",
        "CREATE TABLE first (id INTEGER PRIMARY KEY, a TEXT)",
        "CREATE TABLE other (x)",
        "INSERT INTO other VALUES ('kept')",
        'CREATE TABLE "se""cond" (a INTEGER)',
        "CREATE TABLE third (id INTEGER PRIMARY KEY, a TEXT)",
    )

    with bulk_database(path, native=native) as database:
        first, second = database.table("first"), database.table('se"cond', ["rowid", "a"])
        for block in range(20):
            ids = np.arange(block * 500, block * 500 + 500)
            first.append(
                {"id": ids, "a": TextColumn.repeated("long" * 700 if block == 3 else "t", 500)}
            )
            second.append({"rowid": ids + 5, "a": -ids})
        database.table("third")

    assert select(path, "SELECT count(*), sum(length(a)), max(id) FROM first") == [
        (10_000, 9_500 + 500 * 2800, 9999)
    ]
    assert select(path, 'SELECT rowid, a FROM "se""cond"') == [(n + 5, -n) for n in range(10_000)]
    assert select(path, "SELECT * FROM other") == [("kept",)]
    assert select(path, "SELECT * FROM third") == []


@both_ways
def test_a_filled_file_goes_on_as_any_other(tmp_path: Path, native: bool) -> None:
    path = new_database(
        tmp_path / "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)", page_bytes=512
    )
    with bulk_table(path, "t", native=native) as table:
        table.append({"id": np.arange(1, 20_001), "a": np.arange(20_000) % 97})

    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE INDEX by_a ON t (a)")
        connection.execute("DELETE FROM t WHERE a < 90")
        connection.execute("INSERT INTO t SELECT id + 100000, a FROM t")
        connection.execute("UPDATE t SET a = a * 1000000 WHERE id % 2")
        connection.commit()

    assert select(path, "SELECT count(*) FROM t") == [
        (2 * sum(n % 97 >= 90 for n in range(20_000)),)
    ]


@both_ways
def test_autoincrement_goes_on_behind_the_last_row(tmp_path: Path, native: bool) -> None:
    path = new_database(
        tmp_path / "a.db",
        'CREATE TABLE t ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "a" integer NOT NULL)',
    )
    with bulk_table(path, "t", native=native) as table:
        table.append({"id": ints(3, 40), "a": ints(1, 1)})

    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM t WHERE id = 40")
        connection.execute("INSERT INTO t (a) VALUES (2)")
        connection.commit()

    assert select(path) == [(3, 1), (41, 2)]


@both_ways
def test_indexes_can_be_rebuilt(tmp_path: Path, native: bool) -> None:
    path = new_database(
        tmp_path / "a.db",
        "CREATE TABLE t (k BIGINT PRIMARY KEY, a TEXT)",
        "CREATE INDEX i ON t (a)",
    )
    with pytest.raises(ValueError, match="table t has indexes"):
        bulk_table(path, "t", native=native)

    with bulk_table(path, "t", rebuild_indexes=True, native=native) as table:
        table.append(
            {"rowid": ints(1, 2), "k": ints(20, 10), "a": TextColumn.from_strings(["p", "q"])}
        )

    assert select(path) == [(20, "p"), (10, "q")]
    assert select(path, "SELECT rowid FROM t INDEXED BY i WHERE a = 'q'") == [(2,)]


def test_reserved_bytes_and_old_schema_formats(tmp_path: Path) -> None:
    path = with_reserved_bytes(tmp_path / "a.db", 16)
    new_database(path, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT)")
    content = bytearray(path.read_bytes())
    content[44:48] = (1).to_bytes(4, "big")
    path.write_bytes(content)
    texts = ["k" * (n % 9000) for n in range(0, 30_000, 7)]
    numbers = np.arange(len(texts))

    with BulkTable(path, "t") as table:
        table.append({"id": numbers, "a": numbers % 2, "b": TextColumn.from_strings(texts)})

    assert select(path) == [(n, n % 2, text) for n, text in enumerate(texts)]


@both_ways
def test_a_table_may_be_added_when_another_has_rows(tmp_path: Path, native: bool) -> None:
    path = new_database(tmp_path / "a.db", "CREATE TABLE t (a)", "CREATE TABLE u (b)")

    with bulk_database(path, native=native) as database:
        database.table("t").append({"rowid": ints(1, 2), "a": ints(5, 6)})
        database.table("u").append({"rowid": ints(1), "b": ints(7)})

    assert (select(path), select(path, "SELECT b FROM u")) == ([(5,), (6,)], [(7,)])


def test_tables_of_many_columns(tmp_path: Path) -> None:
    names = [f"c{n}" for n in range(300)]
    path = new_database(
        tmp_path / "a.db", f"CREATE TABLE t (id INTEGER PRIMARY KEY, {', '.join(names)})"
    )
    numbers = np.arange(50)

    with BulkTable(path, "t") as table:
        table.append({"id": numbers, **{name: numbers * n for n, name in enumerate(names)}})

    assert select(path) == [(row, *(row * n for n in range(300))) for row in range(50)]


texts = st.one_of(
    st.none(),
    st.text(max_size=40),
    st.tuples(st.integers(0, 20_000), st.sampled_from("aé☃")).map(lambda pair: pair[1] * pair[0]),
)
rows = st.tuples(
    st.one_of(st.integers(INT64_MIN, INT64_MAX), st.sampled_from(EDGES)),
    st.one_of(st.floats(allow_nan=False), st.sampled_from([0.0, 1.0, -1.0])),
    texts,
    texts,
)


@settings(max_examples=120)
@given(
    rows=st.lists(rows, max_size=60),
    first_rowid=st.integers(-5, 2**62),
    page_bytes=st.sampled_from([512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]),
    repeat=st.integers(1, 20),
)
def test_any_rows_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[Any],
    first_rowid: int,
    page_bytes: int,
    repeat: int,
) -> None:
    path = new_database(
        tmp_path_factory.mktemp("any") / "a.db",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT, a INTEGER, r REAL, u TEXT)",
        page_bytes=page_bytes,
    )
    expected: list[Any] = []

    with BulkTable(path, "t") as table:
        for _ in range(repeat if rows else 1):
            ids = [first_rowid + 3 * (len(expected) + n) for n in range(len(rows))]
            table.append(
                {
                    "id": ints(*ids),
                    "a": ints(*(row[0] for row in rows)),
                    "r": np.array([row[1] for row in rows], dtype=np.float64),
                    "s": TextColumn.from_strings([row[2] for row in rows]),
                    "u": TextColumn.from_strings([row[3] for row in rows]),
                }
            )
            expected += [
                (i, row[2], row[0], row[1], row[3]) for i, row in zip(ids, rows, strict=True)
            ]

    assert select(path) == expected


@both_ways
def test_text_that_is_not_utf8_keeps_its_bytes(tmp_path: Path, native: bool) -> None:
    path = new_database(tmp_path / "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)")

    with bulk_table(path, "t", native=native) as table:
        table.append(
            {"id": ints(1, 2), "a": TextColumn.from_bytes([b"a\xff\x00b", b"\xed\xa0\x80"])}
        )

    assert select(path, "SELECT typeof(a), hex(a) FROM t") == [
        ("text", "61FF0062"),
        ("text", "EDA080"),
    ]
