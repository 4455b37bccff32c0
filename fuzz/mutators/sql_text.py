"""Damage to a statement of SQL: words swapped, what only hostile ones have, huge values."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from fuzz.mutators import values

_WORD = re.compile(r"\w+|\s+|'(?:[^']|'')*'|.", re.DOTALL)
_EXPRESSIONS = (
    "NULL",
    "9e999",
    "-0.0",
    "x'00ff'",
    "zeroblob(70000)",
    "zeroblob(2000000000)",
    "randomblob(-1)",
    "9223372036854775807",
    "-9223372036854775808 - 1",
    "1 / 0",
    "abs(-9223372036854775808)",
    "char(0, 27, 55296, 1114111, 8238)",
    "CAST(x'fffe00' AS TEXT)",
    "printf('%.*c', 100000, 'x')",
    "printf('%n%s%d', 1)",
    "json_extract('[1', '$')",
    "json('{\"a\":' || '[')",
    "load_extension('x')",
    "readfile('/etc/passwd')",
    "writefile('x', 'y')",
    "fts3_tokenizer('simple')",
    "(SELECT count(*) FROM sqlite_master, sqlite_master)",
    "group_concat(zeroblob(9000)) OVER ()",
    "replace(hex(zeroblob(1000)), '0', hex(zeroblob(1000)))",
    "'a' REGEXP '(a+)+$'",
    "'x' LIKE '%_%_%_%_%' || zeroblob(99999)",
    "julianday('now', '+999999999999 days')",
    "sqlite_version()",
    "?1",
    ":name",
    "@x",
    "(" * 120 + "1" + ")" * 120,
    "(" * 2_000 + "1" + ")" * 2_000,
    "1" + " + 1" * 5_000,
)
_SOURCES = (
    "rocpd_op, rocpd_op AS a2, rocpd_op AS a3, rocpd_op AS a4, rocpd_op AS a5",
    "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n)",
    "pragma_table_info('rocpd_op')",
    "pragma_database_list",
    "pragma_integrity_check",
    "pragma_function_list",
    "json_each('[1,2]')",
    "generate_series(1, 1e18)",
    "dbstat",
    "sqlite_master",
    "sqlite_dbpage",
    "temp.sqlite_master",
    "nosuch.table_",
)
_STATEMENTS = (
    "PRAGMA journal_mode = DELETE",
    "PRAGMA writable_schema = 1",
    "PRAGMA table_info(rocpd_op)",
    "PRAGMA user_version = 7",
    "PRAGMA user_version",
    "PRAGMA temp_store_directory = '/'",
    "PRAGMA mmap_size = 1",
    "ATTACH '/tmp/x.db' AS other",
    "DETACH main",
    "VACUUM INTO 'copy.db'",
    "DELETE FROM rocpd_op",
    "UPDATE rocpd_op SET start = 0 RETURNING *",
    "CREATE TEMP TABLE x AS SELECT 1",
    "CREATE VIRTUAL TABLE x USING fts5(a)",
    "DROP TABLE rocpd_op",
    "BEGIN EXCLUSIVE",
    "EXPLAIN SELECT 1",
    "EXPLAIN QUERY PLAN SELECT * FROM top",
    "ANALYZE",
    "REINDEX",
    "VALUES (1, 2), (3)",
    "-- nothing",
    "/* never closed",
    ";",
    "",
)


def mutate(random: Random, content: bytes) -> bytes:
    """The statement after some words were changed."""
    words = _WORD.findall(content.decode("utf-8", "surrogateescape"))
    for _ in range(random.choice((1, 1, 2, 4))):
        words = random.choice(_CHANGES)(random, words)
    return "".join(words).encode("utf-8", "surrogateescape")


def _at(random: Random, words: list[str]) -> int:
    return random.randrange(len(words) + 1)


def _expression(random: Random, words: list[str]) -> list[str]:
    at = _at(random, words)
    return [*words[:at], f" {random.choice(_EXPRESSIONS)} ", *words[at + 1 :]]


def _column(random: Random, words: list[str]) -> list[str]:
    """One more column, so that the rest is still a statement."""
    if "SELECT" not in words:
        return _expression(random, words)
    at = words.index("SELECT") + 1
    named = random.choice(("", "", f' AS "{values.text(random)[:99].replace(chr(34), "")}"'))
    return [*words[:at], f" {random.choice(_EXPRESSIONS)}{named},", *words[at:]]


def _source(random: Random, words: list[str]) -> list[str]:
    if "FROM" not in words:
        return [*words, " FROM ", random.choice(_SOURCES)]
    at = words.index("FROM") + 1
    return [*words[:at], f" {random.choice(_SOURCES)}, ", *words[at:]]


def _statement(random: Random, words: list[str]) -> list[str]:
    statement = random.choice(_STATEMENTS)
    return random.choice(([statement], [*words, "; ", statement], [statement, "; ", *words]))


def _text(random: Random, words: list[str]) -> list[str]:
    at = _at(random, words)
    return [*words[:at], values.text(random), *words[at + random.choice((0, 1)) :]]


def _moved(random: Random, words: list[str]) -> list[str]:
    first, second = sorted((_at(random, words), _at(random, words)))
    return random.choice(
        (
            words[:first] + words[second:],
            words[first:] + words[:second],
            words + words[first:second],
        )
    )


_CHANGES: tuple[Callable[[Random, list[str]], list[str]], ...] = (
    _expression,
    _column,
    _column,
    _column,
    _column,
    _column,
    _column,
    _source,
    _source,
    _statement,
    _text,
    _moved,
)
