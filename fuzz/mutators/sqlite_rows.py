"""Damage to SQLite files: cells of other types, tables and columns missing, views in their place."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

from fuzz.mutators import raw_bytes, values

Table = tuple[str, list[str]]
"""A table's name and its columns."""
_REFUSED = (sqlite3.Error, OverflowError, UnicodeDecodeError)
"""What SQLite says of damage; the last where it quotes bytes of the file that are no text."""


def mutate(random: Random, content: bytes) -> bytes:
    """The file after some statements, or with damaged pages where SQLite refuses it."""
    if random.random() < 0.35:
        return _damaged_page(random, content)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "changed.db"
        path.write_bytes(content)
        try:
            _change(random, path)
        except _REFUSED:
            return _damaged_page(random, path.read_bytes())
        return path.read_bytes()


def _change(random: Random, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = OFF")
        for _ in range(random.choice((1, 1, 2, 4))):
            table = random.choice(_tables(connection))
            try:
                random.choice(_CHANGES)(random, connection, table)
            except _REFUSED:
                continue


def _tables(connection: sqlite3.Connection) -> list[Table]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    names = [row[0] for row in connection.execute(f"{query} ORDER BY name")]
    filled = [
        name for name in names if connection.execute(f"SELECT 1 FROM {_quoted(name)}").fetchone()
    ]
    return [
        (name, [row[1] for row in connection.execute(f"PRAGMA table_info({_quoted(name)})")])
        for name in (filled or names)
    ]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _cell(random: Random) -> object:
    return random.choice(
        (
            values.integer(random),
            values.integer(random),
            values.integer(random),
            None,
            values.text(random),
            values.text(random),
            b"\xff\xfe" * random.choice((1, 3_000)),
            0.5,
            -1e300,
            float("inf"),
        )
    )


def _cells(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    name, columns = table
    column = _quoted(random.choice(columns))
    where = random.choice(("", "WHERE rowid = 1", "WHERE rowid % 2", "WHERE rowid = ?2"))
    sql = f"UPDATE {_quoted(name)} SET {column} = ?1 {where}"
    given = (_cell(random), random.randint(1, 40)) if "?2" in where else (_cell(random),)
    connection.execute(sql, given)


def _text_cells(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    """Text that is no UTF-8, in one column of some rows."""
    name, columns = table
    column = _quoted(random.choice(columns))
    connection.execute(
        f"UPDATE {_quoted(name)} SET {column} = CAST(x'ff00' || {column} AS TEXT)"
        f" WHERE rowid % {random.choice((1, 2, 5))} = 0"
    )


def _ids(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    change = random.choice(
        ("-rowid", "rowid + 1000000", "rowid * 1099511627776", "9223372036854775807")
    )
    connection.execute(f"UPDATE {_quoted(table[0])} SET rowid = {change} WHERE rowid % 3 = 1")


def _rows_gone(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    where = random.choice(("", "WHERE rowid % 2", "WHERE rowid > 3", "WHERE rowid = 1"))
    connection.execute(f"DELETE FROM {_quoted(table[0])} {where}")


def _rows_again(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    name = _quoted(table[0])
    others = ", ".join(map(_quoted, table[1][1:]))
    if others:
        connection.execute(f"INSERT INTO {name} ({others}) SELECT {others} FROM {name} LIMIT 99")


def _column_gone(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    _without_views(connection)
    column = _quoted(random.choice(table[1]))
    connection.execute(f"ALTER TABLE {_quoted(table[0])} DROP COLUMN {column}")


def _column_renamed(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    _without_views(connection)
    new = _quoted(random.choice((values.text(random) or "x", random.choice(table[1]).upper())))
    column = _quoted(random.choice(table[1]))
    connection.execute(f"ALTER TABLE {_quoted(table[0])} RENAME COLUMN {column} TO {new}")


def _table_gone(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    del random
    connection.execute(f"DROP TABLE {_quoted(table[0])}")


def _table_renamed(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    _without_views(connection)
    new = random.choice((f"{table[0]}_old", table[0].upper() + "X", values.text(random) or "x"))
    connection.execute(f"ALTER TABLE {_quoted(table[0])} RENAME TO {_quoted(new)}")


def _columns_in_other_order(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    name = _quoted(table[0])
    columns = ", ".join(map(_quoted, random.sample(table[1], len(table[1]))))
    connection.execute(f"CREATE TABLE fuzz_copy AS SELECT {columns} FROM {name}")
    connection.execute(f"DROP TABLE {name}")
    connection.execute(f"ALTER TABLE fuzz_copy RENAME TO {name}")


def _view_in_place(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    name = _quoted(table[0])
    rows = random.choice(("SELECT * FROM fuzz_data", "SELECT * FROM fuzz_data, fuzz_data AS b"))
    connection.execute("PRAGMA legacy_alter_table = ON")
    connection.execute(f"ALTER TABLE {name} RENAME TO fuzz_data")
    connection.execute(f"CREATE VIEW {name} AS {rows}")


def _endless_view(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    del random
    name = _quoted(table[0])
    columns = ", ".join(f"n AS {_quoted(column)}" for column in table[1])
    connection.execute(f"DROP TABLE {name}")
    connection.execute(
        f"CREATE VIEW {name} AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"
        f" SELECT {columns} FROM r"
    )


def _without_rowid(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    del random
    name = _quoted(table[0])
    columns = ", ".join(map(_quoted, table[1]))
    connection.execute(f"CREATE TABLE fuzz_copy ({columns}, PRIMARY KEY ({columns})) WITHOUT ROWID")
    connection.execute(f"INSERT OR IGNORE INTO fuzz_copy SELECT * FROM {name}")
    connection.execute(f"DROP TABLE {name}")
    connection.execute(f"ALTER TABLE fuzz_copy RENAME TO {name}")


def _computed(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    """Columns that are computed, each from the first one: cheap, or large."""
    _without_views(connection)
    name, first = _quoted(table[0]), _quoted(table[1][0])
    value = random.choice((f"abs({first}) * 7", "hex(zeroblob(100000))", f"{first} || 'x'"))
    others = (f"{_quoted(column)} GENERATED ALWAYS AS ({value})" for column in table[1][1:])
    connection.execute(f"CREATE TABLE fuzz_copy ({', '.join((f'{first} INTEGER', *others))})")
    connection.execute(f"INSERT INTO fuzz_copy ({first}) SELECT {first} FROM {name}")
    connection.execute(f"DROP TABLE {name}")
    connection.execute(f"ALTER TABLE fuzz_copy RENAME TO {name}")


def _virtual_table(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    """A table of a module, known or not, in place of another or beside it."""
    module = random.choice(("fts5(a, b)", "rtree(id, a, b)", "dbstat(main)", "nosuchmodule(x)"))
    name = random.choice((table[0], "fuzz_virtual"))
    sql = f"CREATE VIRTUAL TABLE {_quoted(name)} USING {module}"
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("DELETE FROM sqlite_master WHERE name = ?", (name,))
    connection.execute(
        "INSERT INTO sqlite_master VALUES ('table', ?1, ?1, 0, ?2)",
        (name, sql),
    )
    connection.execute("PRAGMA writable_schema = RESET")


def _collation(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    """Columns that are compared by what is not there; an index that computes."""
    if random.random() < 0.5:
        column = _quoted(random.choice(table[1]))
        value = random.choice((f"length({column})", f"hex({column})", f"abs({column}) % 3"))
        connection.execute(f"CREATE INDEX fuzz_index ON {_quoted(table[0])} ({value})")
        return
    change = "sql = replace(replace(sql, 'TEXT', 'TEXT COLLATE x'), 'varchar', 'text COLLATE x')"
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(f"UPDATE sqlite_master SET {change} WHERE name = ?", (table[0],))
    connection.execute("PRAGMA writable_schema = RESET")


def _schema_text(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    """Another statement for a table, as only a hostile file has it."""
    change = random.choice(
        (
            ("sql = replace(sql, 'integer', 'text')",),
            ("sql = 'CREATE TABLE nonsense ('",),
            ("sql = NULL",),
            ("rootpage = rootpage + 1",),
            ("rootpage = 1",),
            ("rootpage = 0",),
            ("rootpage = 99999999",),
            ("name = 'sqlite_x'",),
            ("type = 'view'",),
        )
    )[0]
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(f"UPDATE sqlite_master SET {change} WHERE name = ?", (table[0],))
    connection.execute("PRAGMA writable_schema = RESET")


def _settings(random: Random, connection: sqlite3.Connection, table: Table) -> None:
    del table
    statement = random.choice(
        (
            "PRAGMA user_version = 2000000000",
            "PRAGMA application_id = -1",
            "PRAGMA page_size = 512",
            "PRAGMA page_size = 65536",
            "PRAGMA auto_vacuum = FULL",
            "PRAGMA journal_mode = WAL",
        )
    )
    connection.execute(statement)
    connection.execute("VACUUM")


def _without_views(connection: sqlite3.Connection) -> None:
    """Nothing that refers to a column, which would keep it from being changed."""
    query = "SELECT type, name FROM sqlite_master WHERE type IN ('view', 'trigger', 'index')"
    for kind, name in connection.execute(f"{query} AND sql IS NOT NULL").fetchall():
        connection.execute(f"DROP {kind} {_quoted(name)}")


def _damaged_page(random: Random, content: bytes) -> bytes:
    """Bytes of one page changed where they matter most: its head and the places of its cells."""
    if len(content) < 1024 or random.random() < 0.2:
        return raw_bytes.mutate(random, content)
    changed = bytearray(content)
    size = int.from_bytes(content[16:18], "big")
    size = 65_536 if size == 1 else size if size >= 512 else 4_096
    for _ in range(random.choice((1, 2, 6))):
        page = random.randrange(max(1, len(content) // size)) * size
        at = page + random.choice((0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
        at += 100 if page == 0 and random.random() < 0.7 else 0
        at += random.choice((0, 0, random.randrange(64), random.randrange(size)))
        if at < len(changed):
            changed[at] = random.choice(
                (0, 1, 2, 5, 10, 13, 0x7F, 0x80, 0xFF, random.randrange(256))
            )
    return bytes(changed)


_CHANGES: tuple[Callable[[Random, sqlite3.Connection, Table], None], ...] = (
    _cells,
    _cells,
    _cells,
    _cells,
    _cells,
    _cells,
    _text_cells,
    _ids,
    _rows_gone,
    _rows_again,
    _column_gone,
    _column_renamed,
    _table_gone,
    _table_renamed,
    _columns_in_other_order,
    _view_in_place,
    _endless_view,
    _without_rowid,
    _computed,
    _virtual_table,
    _collation,
    _schema_text,
    _settings,
)
