"""What SQLite says of a disk that refuses a file becomes what the system would have said."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest

from wavescope.formats.sqlite.sqlite_open import sqlite_writing_errors


def written(path: Path, error: Exception) -> None:
    with sqlite_writing_errors(path):
        raise error


@pytest.mark.parametrize(
    ("words", "path", "number"),
    [
        ("database or disk is full", Path("/t.db"), errno.ENOSPC),
        ("disk I/O error", Path("/t.db"), errno.EIO),
        ("unable to open database file", Path("/t.db"), errno.EIO),
        ("unable to open database file", Path("/", *["d" * 100] * 6, "t.db"), errno.ENAMETOOLONG),
    ],
)
def test_an_error_of_the_disk_has_the_systems_number(words: str, path: Path, number: int) -> None:
    with pytest.raises(OSError) as raised:
        written(path, sqlite3.OperationalError(words))

    assert (raised.value.errno, raised.value.filename) == (number, str(path))


def test_another_error_stays_as_it_is() -> None:
    with pytest.raises(sqlite3.OperationalError, match="syntax"):
        written(Path("/t.db"), sqlite3.OperationalError("syntax error"))
