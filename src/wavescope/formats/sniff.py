"""Looks at a path and tells what it is, by content and never by suffix."""

from __future__ import annotations

import gzip
import stat
import zlib
from pathlib import Path

from wavescope.errors import UnreadableInputError
from wavescope.formats.importer import Probe
from wavescope.formats.sqlite.sqlite_open import SQLITE_MAGIC, ReadOnlyDatabase, sqlite_errors

GZIP_MAGIC = b"\x1f\x8b"
HEAD_BYTES = 64 << 10


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
    tables = _tables(path) if head.startswith(SQLITE_MAGIC[:6]) else frozenset()
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
    with sqlite_errors(path):
        database = ReadOnlyDatabase(path)
        try:
            return database.tables()
        finally:
            database.close()
