"""Looks at a path and tells what it is, by content and never by suffix."""

from __future__ import annotations

import gzip
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path

from wavescope.errors import UnreadableInputError
from wavescope.formats.files import GZIP_MAGIC

HEAD_BYTES = 64 << 10
_SQLITE_HEAD = b"SQLite"


@dataclass(frozen=True)
class Probe:
    """What is known of a path before its format is."""

    path: Path
    head: bytes
    """The first bytes of the file, after gzip was undone; empty for a folder."""
    is_gzip: bool = False
    is_cut: bool = False
    """Whether gzip data ended before as much was read as is looked at."""
    is_folder: bool = False
    sqlite_tables: frozenset[str] = frozenset()
    """Names of tables when the file is an SQLite database."""
    siblings: tuple[Path, ...] = ()
    """Files of the folder, when the path is one."""


def probe(path: Path) -> Probe:
    """What can be known of `path` by looking at its first bytes; errors name what is wrong."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return Probe(path, b"", is_folder=True, siblings=tuple(sorted(path.iterdir())))
        if not stat.S_ISREG(mode):
            raise UnreadableInputError(
                path,
                "it is not a regular file",
                hint="save the data to a file first: a trace is read more than once",
            )
        return _probe_file(path)
    except FileNotFoundError as error:
        raise UnreadableInputError(path, "there is no such file") from error
    except PermissionError as error:
        raise UnreadableInputError(
            path, "no permission to read it", hint="check its owner and mode with `ls -l`"
        ) from error
    except OSError as error:
        raise UnreadableInputError(path, error.strerror or str(error)) from error
    except ValueError as error:  # a NUL in the name
        raise UnreadableInputError(path, str(error)) from error


def _probe_file(path: Path) -> Probe:
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise UnreadableInputError(path, "the file is empty", hint="did the recording fail?")
    is_gzip, is_cut = head.startswith(GZIP_MAGIC), False
    if is_gzip:
        head, is_cut = _inflated_head(path)
    tables = _tables(path) if head.startswith(_SQLITE_HEAD) else frozenset()
    return Probe(path, head, is_gzip, is_cut, sqlite_tables=tables)


def _inflated_head(path: Path) -> tuple[bytes, bool]:
    """The first bytes after gzip is undone, and whether the data ended before there were enough."""
    head = b""
    try:
        with gzip.open(path) as file:
            while len(head) < HEAD_BYTES:
                part = file.read1(HEAD_BYTES - len(head))
                if not part:
                    break
                head += part
    except EOFError:
        return head, True
    except (zlib.error, gzip.BadGzipFile) as error:
        raise UnreadableInputError(path, f"its gzip data is damaged ({error})") from error
    return head, False


def _tables(path: Path) -> frozenset[str]:
    from wavescope.formats.sqlite.sqlite_open import (  # noqa: PLC0415  most formats need no SQLite
        ReadOnlyDatabase,
        sqlite_errors,
    )

    with sqlite_errors(path):
        database = ReadOnlyDatabase(path)
        try:
            return database.tables()
        finally:
            database.close()
