"""Opens SQLite files that must not be changed.

A closed database is opened immutable. One with a write-ahead log left behind by a killed run is
copied, log included, to a private folder first: to read it, SQLite would write beside the original.
A gzipped database is unpacked there.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import shutil
import sqlite3
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

from wavescope.errors import UnreadableInputError
from wavescope.temporary_space import is_full_disk, no_space_in, told_when_full

SQLITE_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_DISK_ERRORS = (
    ("disk is full", errno.ENOSPC),
    ("disk I/O error", errno.EIO),
    ("unable to open database file", errno.EIO),
)


class ReadOnlyDatabase:
    """A read-only connection to `path`; `file` is what is really read, perhaps a private copy."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._remove_copy: Callable[[], object] | None = None
        self.recovered_log = has_write_ahead_log(path)
        """Whether rows came from a write-ahead log that a killed run left behind."""
        self.file = path
        if self.recovered_log:
            self._copy_with_log()
        elif _is_gzip(path):
            self._unpack()
        if not self.recovered_log:
            _require_whole(path, self.file)
        mode = "mode=ro" if self.recovered_log else "mode=ro&immutable=1"
        uri = f"file:{quote(os.fsencode(self.file.absolute()))}?{mode}"
        try:
            self.connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        except sqlite3.Error as error:
            raise UnreadableInputError(path, str(error)) from error
        self.connection.text_factory = decoded

    def columns(self, table: str) -> tuple[str, ...]:
        """Column names of a table or view; empty when there is none of that name."""
        rows = self.connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        return tuple(name for (name,) in rows)

    def tables(self) -> frozenset[str]:
        """Names of all tables; no views, which may be endless."""
        rows = self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return frozenset(name for (name,) in rows)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Give everything back; also after a failed opening, and more than once."""
        if hasattr(self, "connection"):
            self.connection.close()
        if self._remove_copy:
            self._remove_copy()

    def _private_file(self) -> Path:
        folder = tempfile.mkdtemp(prefix="wavescope-")
        self._remove_copy = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder) / "trace.db"

    def _copy_with_log(self) -> None:
        self.file = self._private_file()
        with told_when_full(self.file.parent):
            shutil.copyfile(self.path, self.file)
            shutil.copyfile(_log_path(self.path), _log_path(self.file))

    def _unpack(self) -> None:
        self.file = self._private_file()
        try:
            with (
                told_when_full(self.file.parent),
                gzip.open(self.path) as packed,
                self.file.open("wb") as unpacked,
            ):
                shutil.copyfileobj(packed, unpacked, 1 << 20)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.close()
            raise UnreadableInputError(self.path, f"its gzip data is damaged ({error})") from error


def has_write_ahead_log(path: Path) -> bool:
    """Whether committed rows may lie in a `-wal` file beside the database."""
    log = _log_path(path)
    return log.is_file() and log.stat().st_size > 0


def _require_whole(path: Path, file: Path) -> None:
    """Refuse a file that is shorter than it says: SQLite misses the end of a cut last page."""
    with file.open("rb") as opened:
        head = opened.read(_HEADER_BYTES)
    if len(head) < _HEADER_BYTES or not head.startswith(SQLITE_MAGIC):
        return  # SQLite says what is wrong with it
    page_bytes, pages = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
    is_count_valid = head[24:28] == head[92:96]
    whole_bytes = pages * (1 << 16 if page_bytes == 1 else page_bytes)
    size_bytes = file.stat().st_size
    if is_count_valid and size_bytes < whole_bytes:
        raise UnreadableInputError(
            path,
            f"the database is cut short ({size_bytes:,} of {whole_bytes:,} bytes)",
            hint="was it copied completely? if the program was killed while writing, keep its "
            "-wal file beside it",
        )


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def decoded(raw: bytes) -> str:
    """Text of a database that may hold anything: invalid UTF-8 becomes replacement characters."""
    return raw.decode("utf-8", "replace")


def as_text(value: object) -> str:
    """A value of a text column as text, whatever a damaged file holds there."""
    if isinstance(value, bytes):
        return decoded(value)
    return "" if value is None else str(value)


@contextlib.contextmanager
def sqlite_errors(path: Path | str) -> Iterator[None]:
    """Turns what SQLite says of a damaged file into a message with a way out."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if is_full_disk(error):
            raise no_space_in(tempfile.gettempdir(), error) from error
        # The second when SQLite quotes bytes of a damaged schema that are no text.
        raise UnreadableInputError(
            path,
            f"the database is damaged ({error})",
            hint="if the program was killed while writing, keep its -wal file beside it",
        ) from error


@contextlib.contextmanager
def filling(path: Path) -> Iterator[sqlite3.Connection]:
    """One transaction on a file that nobody else knows yet.

    It does not wait for the disk: the file gets its name when it is whole, a crash leaves none.
    """
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")


@contextlib.contextmanager
def sqlite_writing_errors(path: Path) -> Iterator[None]:
    """Turns what SQLite says of a disk that takes no more into the system's own error."""
    try:
        yield
    except sqlite3.OperationalError as error:
        code = next((code for words, code in _DISK_ERRORS if words in str(error)), None)
        if code is None:
            raise
        raise OSError(code, os.strerror(code), str(path)) from error


def quoted(identifier: str) -> str:
    """An SQL identifier that came from a file, quoted."""
    return '"' + identifier.replace('"', '""') + '"'


def _log_path(path: Path) -> Path:
    return path.with_name(path.name + "-wal")
