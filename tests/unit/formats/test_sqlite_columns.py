"""Columns read from pages, through SQL, and by plain SELECT are the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sqlite_files import (
    INT64_MAX,
    INT64_MIN,
    Database,
    both_ways,
    integer,
    plain,
    real,
    text,
    with_reserved_bytes,
)
from wavescope.formats.sqlite.sqlite_columns import ColumnBlock, open_cursor

INTEGERS = [0, 1, -1, 2, 127, 128, -128, -129, 32767, 32768, -32768, -32769, 8388607, 8388608]
INTEGERS += [2**31 - 1, 2**31, -(2**31), 2**47 - 1, 2**47, -(2**47), -(2**47) - 1]
INTEGERS += [INT64_MIN, INT64_MAX]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "trace.db")
    yield made
    made.connection.close()


@both_ways
def test_integers_of_every_size_come_back(database: Database, native: bool) -> None:
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)")
    database.run("INSERT INTO t (a) VALUES (?)", *((value,) for value in INTEGERS))

    columns = database.read(integer("id"), integer("a"), native=native)

    assert columns == {"id": list(range(1, len(INTEGERS) + 1)), "a": INTEGERS}


@both_ways
@pytest.mark.parametrize("column_count", [3, 6, 14, 15, 22, 23, 30, 31, 40])
def test_many_rows_of_few_and_of_many_shapes(
    database: Database, native: bool, column_count: int
) -> None:
    """Headers of up to 32 bytes are remembered, in four words; longer ones are not."""
    names = [f"c{index}" for index in range(column_count)]
    database.run(f"CREATE TABLE t (id INTEGER PRIMARY KEY, {', '.join(names)})")
    rng = np.random.default_rng(column_count)
    choice = [*INTEGERS, None]
    rows = [
        tuple(choice[index] for index in rng.integers(0, len(choice), column_count).tolist())
        for _ in range(300)
    ]
    rows += [(1,) * column_count, (None,) * column_count] * 300
    database.run(
        f"INSERT INTO t ({', '.join(names)}) VALUES ({','.join('?' * column_count)})", *rows
    )
    wanted = [names[-1], names[0], names[column_count // 2]]

    columns = database.read(*(integer(name, -7) for name in wanted), native=native)

    assert columns == {
        name: [-7 if row[names.index(name)] is None else row[names.index(name)] for row in rows]
        for name in wanted
    }


@pytest.mark.parametrize("word", range(4))
def test_headers_that_differ_in_one_word_are_told_apart(database: Database, word: int) -> None:
    """There are more of them than are remembered, so that one takes another's place."""
    names = [f"c{index}" for index in range(30)]
    database.run(f"CREATE TABLE t (id INTEGER PRIMARY KEY, {', '.join(names)})")
    # Of 32 bytes the first is the header's length and the second the key's type.
    varied = range(max(8 * word - 2, 0), 8 * word + 6)
    rng = np.random.default_rng(word)
    rows = [[1] * len(names) for _ in range(3_000)]
    for row in rows:
        for column in varied:
            row[column] = INTEGERS[rng.integers(0, len(INTEGERS))]
    database.run(
        f"INSERT INTO t ({', '.join(names)}) VALUES ({','.join('?' * len(names))})",
        *(tuple(row) for row in rows),
    )

    columns = database.read(*(integer(names[column]) for column in varied), native=True)

    assert columns == {names[column]: [row[column] for row in rows] for column in varied}


@both_ways
def test_null_and_absent_columns_are_missing(database: Database, native: bool) -> None:
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b REAL, c TEXT)")
    database.run("INSERT INTO t VALUES (5, NULL, NULL, NULL)").run(
        "INSERT INTO t VALUES (6, 1, 2, '')"
    )

    columns = database.read(
        integer("A", -7),
        real("b", -0.5),
        text("c"),
        integer("no", -9),
        text("none"),
        real("nor"),
        native=native,
    )

    assert columns == {
        "A": [-7, 1],
        "b": [-0.5, 2.0],
        "c": [None, ""],
        "no": [-9, -9],
        "none": [None, None],
        "nor": [-1.0, -1.0],
    }


@both_ways
def test_only_absent_columns_still_count_rows(database: Database, native: bool) -> None:
    database.run("CREATE TABLE t (a)").run("INSERT INTO t VALUES (1), (2)")

    assert database.read(integer("b"), native=native) == {"b": [-1, -1]}


@both_ways
def test_reals_keep_every_bit_and_integers_widen(database: Database, native: bool) -> None:
    values = [0.1, -2.5e-308, 1e300, float("inf"), 3.0, 2.0**53, 7]
    database.run("CREATE TABLE t (a REAL, b)")
    database.run("INSERT INTO t VALUES (?, ?)", *((value, value) for value in values))

    columns = database.read(real("a"), real("b"), native=native)

    assert columns == {"a": values, "b": values}


@both_ways
def test_texts_and_blobs_come_as_bytes_that_need_not_be_utf8(
    database: Database, native: bool
) -> None:
    database.run("CREATE TABLE t (a TEXT)")
    database.run("INSERT INTO t VALUES (?)", ("grün",), (b"\xff\x00z",), ("</script>\n\"'",))
    database.run("INSERT INTO t VALUES (CAST(x'61ff62' AS TEXT))")

    assert database.read(text("a"), native=native)["a"] == [
        "grün",
        "\ufffd\x00z",
        "</script>\n\"'",
        "a\ufffdb",
    ]


@both_ways
@pytest.mark.parametrize("page_bytes", [512, 1024, 4096, 65536])
def test_long_texts_and_columns_behind_them(tmp_path: Path, page_bytes: int, native: bool) -> None:
    database = Database(tmp_path / "pages.db", page_bytes)
    rows = [(n, "x" * n * 37, n * 1000003, "y" * (n % 7)) for n in range(400)]
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b INTEGER, c TEXT)")
    database.run("INSERT INTO t VALUES (?, ?, ?, ?)", *rows)

    columns = database.read(
        text("c"), integer("b"), text("a"), integer("rowid"), native=native, rows=33
    )

    assert (
        list(zip(columns["rowid"], columns["a"], columns["b"], columns["c"], strict=True)) == rows
    )
    database.connection.close()


@both_ways
def test_blocks_follow_the_rowids_and_stop_where_told(database: Database, native: bool) -> None:
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)")
    database.run("INSERT INTO t VALUES (?, ?)", *((n * 10, n) for n in range(-5, 6)))
    requests = [integer("id")]

    with open_cursor(database.connection, database.path, "t", requests, native=native) as cursor:
        assert cursor.read(3)["id"].tolist() == [-50, -40, -30]
        assert cursor.read(100, last_rowid=-1)["id"].tolist() == [-20, -10]
        assert cursor.read(100, last_rowid=-1)["id"].tolist() == []
        assert cursor.read(0)["id"].tolist() == []
        assert cursor.read(2, last_rowid=50)["id"].tolist() == [0, 10]
        assert cursor.read(100)["id"].tolist() == [20, 30, 40, 50]
        assert cursor.read(100)["id"].tolist() == []
        assert cursor.is_native is native


@both_ways
def test_smallest_and_largest_rowid(database: Database, native: bool) -> None:
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)")
    database.run("INSERT INTO t VALUES (?, ?)", (INT64_MIN, 1), (0, 2), (INT64_MAX, 3))

    assert database.read(integer("id"), native=native, rows=1)["id"] == [INT64_MIN, 0, INT64_MAX]


@both_ways
def test_an_empty_table_gives_empty_columns_of_the_right_types(
    database: Database, native: bool
) -> None:
    database.run("CREATE TABLE t (a INTEGER, b REAL, c TEXT)")
    requests = [integer("a"), real("b"), text("c")]

    with open_cursor(database.connection, database.path, "t", requests, native=native) as cursor:
        block = cursor.read(10)

    assert block.integers("a").dtype == np.int64
    assert block.reals("b").dtype == np.float64
    assert len(block.texts("c")) == 0
    assert block.row_count == 0


@both_ways
def test_deleted_rows_leave_no_trace(database: Database, native: bool) -> None:
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)")
    database.run("INSERT INTO t VALUES (?, ?)", *((n, "v" * (n % 300)) for n in range(5000)))
    database.run("DELETE FROM t WHERE id % 3 = 0 OR id BETWEEN 1000 AND 2000")
    expected = [n for n in range(5000) if n % 3 and not 1000 <= n <= 2000]

    columns = database.read(integer("id"), text("a"), native=native, rows=97)

    assert columns == {"id": expected, "a": ["v" * (n % 300) for n in expected]}


@both_ways
def test_columns_added_later(database: Database, native: bool) -> None:
    database.run("CREATE TABLE t (a INTEGER)").run("INSERT INTO t VALUES (1), (2)")
    database.run("ALTER TABLE t ADD COLUMN b INTEGER").run(
        "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 77"
    )
    database.run("ALTER TABLE t ADD COLUMN d TEXT DEFAULT 'é'").run(
        "INSERT INTO t VALUES (3, 4, 5, 'x')"
    )

    columns = database.read(integer("a"), integer("b"), integer("c"), text("d"), native=native)

    assert columns == {"a": [1, 2, 3], "b": [-1, -1, 4], "c": [77, 77, 5], "d": ["é", "é", "x"]}


@both_ways
def test_values_of_another_kind(database: Database, native: bool) -> None:
    database.run("CREATE TABLE t (a, b TEXT, c)")
    odd = [7, 2.0, 2.5, " 12 ", "12x", "", b"9", 1e30, "99999999999999999999", None, 8]
    database.run("INSERT INTO t VALUES (?, ?, ?)", *((value, value, value) for value in odd))
    requests = [integer("a"), text("b"), real("c")]

    with open_cursor(database.connection, database.path, "t", requests, native=native) as cursor:
        block = cursor.read(100)

    assert block["a"].tolist() == [7, 2, -1, 12, -1, -1, 9, -1, -1, -1, 8]
    assert block["c"].tolist() == [7.0, 2.0, 2.5, 12.0, -1.0, -1.0, 9.0, 1e30, 1e20, -1.0, 8.0]
    assert plain(block["b"])[:5] == ["7", "2.0", "2.5", " 12 ", "12x"]
    assert cursor.replaced_values == {"a": 5, "c": 2}


@both_ways
def test_tables_without_an_integer_key_and_with_shadowed_rowid(
    database: Database, native: bool
) -> None:
    database.run('CREATE TABLE t ("rowid" TEXT, k BIGINT PRIMARY KEY, "a ""b" INT)')
    database.run("INSERT INTO t VALUES ('x', 30, 1), ('y', 20, 2)")

    columns = database.read(integer("rowid"), integer("k"), integer('a "b'), native=native)

    assert columns == {"rowid": [1, 2], "k": [30, 20], 'a "b': [1, 2]}


@both_ways
def test_descending_integer_key_is_an_ordinary_column(database: Database, native: bool) -> None:
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY DESC, a INT)").run(
        "INSERT INTO t VALUES (9, 1), (4, 2)"
    )

    assert database.read(integer("id"), integer("rowid"), native=native) == {
        "id": [9, 4],
        "rowid": [1, 2],
    }


@both_ways
def test_reserved_bytes_at_the_end_of_pages(tmp_path: Path, native: bool) -> None:
    path = with_reserved_bytes(tmp_path / "reserved.db", 32)
    database = Database(path)
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)")
    database.run("INSERT INTO t VALUES (?, ?)", *((n, "z" * n * 5) for n in range(2000)))

    assert database.read(text("a"), native=native)["a"] == ["z" * n * 5 for n in range(2000)]
    assert database.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.connection.close()


values = st.one_of(
    st.none(),
    st.integers(INT64_MIN, INT64_MAX),
    st.sampled_from(INTEGERS),
    st.floats(allow_nan=False),
    st.text(max_size=30),
    st.integers(0, 3000).map(lambda n: "w" * n),
    st.binary(max_size=10),
)


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.tuples(st.integers(INT64_MIN, INT64_MAX), values, values, values),
        unique_by=lambda r: r[0],
    ),
    page_bytes=st.sampled_from([512, 1024, 8192]),
    block_rows=st.integers(1, 20),
)
def test_both_ways_agree_on_any_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], page_bytes: int, block_rows: int
) -> None:
    database = Database(tmp_path_factory.mktemp("any") / "any.db", page_bytes)
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b REAL, c TEXT)")
    if rows:
        database.run("INSERT INTO t VALUES (?, ?, ?, ?)", *rows)
    requests = [integer("id"), integer("a"), real("b"), text("c")]

    by_pages = database.read(*requests, native=True, rows=block_rows)
    by_sql = database.read(*requests, native=False)

    assert by_pages == by_sql
    assert by_pages["id"] == sorted(row[0] for row in rows)
    database.connection.close()


def test_blocks_know_their_length() -> None:
    assert ColumnBlock().row_count == 0
    assert ColumnBlock(a=np.zeros(3)).row_count == 3
