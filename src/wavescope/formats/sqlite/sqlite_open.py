"""Opens SQLite files that must not be changed.

A closed database is opened immutable. One with a write-ahead log left behind by a killed run is
copied, log included, to a private folder first: to read it, SQLite would write beside the original.
A gzipped database is unpacked there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from wavescope.closing import on_error
from wavescope.errors import UnreadableInputError
from wavescope.files import ByteStream
from wavescope.formats.sqlite.guarded import guarded_connection, is_overrun, raise_if_stopped
from wavescope.process import Stopping, remove_temporary
from wavescope.unpacking import Unpacking, is_full_disk, no_space_in, told_when_full

SQLITE_MAGIC = b"SQLite format 3\x00"
SMALLEST_ROW_BYTES = 6
"""The pointer to a cell, and the shortest cell there is."""
_HEADER_BYTES = 100
_BLOCK_BYTES = 1 << 20
_BYTES_PER_BLOCK = 512  # of st_blocks, whatever the file system's blocks are
_DISK_ERRORS = (
    ("disk is full", errno.ENOSPC),
    ("disk I/O error", errno.EIO),
    ("unable to open database file", errno.EIO),
)
_LONGEST_PATH = 500
"""What SQLite makes of it, with the names of its other files, may have 512 bytes."""

_KINDS = """
    SELECT name, CASE WHEN type = 'view' THEN 'a view'
                      WHEN rootpage IS NULL OR rootpage < 1 THEN 'a virtual table'
                      WHEN sql NOT LIKE 'CREATE TABLE %' THEN 'an unknown thing' ELSE '' END
    FROM sqlite_master WHERE type IN ('table', 'view')
"""
_COMPUTED = """
    SELECT DISTINCT tables.name
    FROM sqlite_master AS tables, pragma_table_xinfo(tables.name) AS columns
    WHERE tables.type = 'table' AND rootpage > 0 AND sql LIKE 'CREATE TABLE %' AND hidden <> 0
"""


class ReadOnlyDatabase:
    """A read-only connection to `path`; `file` is what is really read, perhaps a private copy."""

    def __init__(self, path: Path, *, reads_views: bool = False) -> None:
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
        self._size_bytes = self.file.stat().st_size
        if self.recovered_log:
            self._size_bytes += _log_path(self.file).stat().st_size
        mode = "mode=ro" if self.recovered_log else "mode=ro&immutable=1"
        uri = f"file:{quote(os.fsencode(self.file.absolute()))}?{mode}"
        try:
            self.connection = guarded_connection(uri, self._size_bytes, reads_views=reads_views)
        except sqlite3.Error as error:
            raise UnreadableInputError(path, str(error)) from error
        self.connection.text_factory = decoded

    def tables(self) -> frozenset[str]:
        """Names of all tables that hold nothing but rows: no views, no virtual tables."""
        return frozenset(name for name, odd in self._kinds.items() if not odd)

    def has_table(self, name: str) -> bool:
        """Whether there is a table `name`; refuses a file that has something else in its place."""
        self.require_tables(name, name)
        return name in self._kinds

    @property
    def most_rows(self) -> int:
        """More rows than this have no room in the file."""
        return self._size_bytes // SMALLEST_ROW_BYTES + 1

    def require_tables(self, beginning: str, ending: str = "") -> None:
        """Refuse a file in which a name that begins and ends so is not that of a plain table."""
        for name, odd in self._kinds.items():
            if odd and name.startswith(beginning) and name.endswith(ending):
                raise UnreadableInputError(
                    self.path,
                    f"its {name} is {odd}, not a plain table",
                    hint="a file's own code is not run: did somebody change the file?",
                )

    @cached_property
    def _kinds(self) -> dict[str, str]:
        """For each name of the schema what it is instead of a table, empty for tables."""
        with sqlite_errors(self.path):
            rows = self.connection.execute(_KINDS).fetchall()
            kinds: dict[str, str] = dict(rows)
            computed = self.connection.execute(_COMPUTED).fetchall()
        return kinds | {name: "a table with computed columns" for (name,) in computed}

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
        Stopping.temporary.add(folder)
        self._remove_copy = weakref.finalize(self, remove_temporary, folder)
        return Path(folder) / "trace.db"

    def _copy_with_log(self) -> None:
        self.file = self._private_file()
        with on_error(self.close), told_when_full(tempfile.gettempdir()):
            _require_no_bomb(self.path, _log_path(self.path))
            shutil.copyfile(self.path, self.file)
            shutil.copyfile(_log_path(self.path), _log_path(self.file))

    def _unpack(self) -> None:
        self.file = self._private_file()
        with on_error(self.close), ByteStream(self.path) as packed:
            with told_when_full(tempfile.gettempdir()), self.file.open("wb") as unpacked:
                while block := packed.read(_BLOCK_BYTES):
                    unpacked.write(block)
            if packed.was_cut:
                raise UnreadableInputError(
                    self.path,
                    "its gzip data is damaged (it ends early)",
                    hint="was it copied completely?",
                )


def has_write_ahead_log(path: Path) -> bool:
    """Whether committed rows may lie in a `-wal` file beside the database."""
    log = _log_path(path)
    return log.is_file() and log.stat().st_size > 0


def _require_no_bomb(*paths: Path) -> None:
    """Refuse to copy files with holes that would fill a disk: these take room in a copy."""
    stats = [path.stat() for path in paths]
    kept_bytes = sum(stat.st_blocks for stat in stats) * _BYTES_PER_BLOCK
    size_bytes = sum(stat.st_size for stat in stats)
    if size_bytes > kept_bytes:
        Unpacking(paths[0], kept_bytes).add(size_bytes)


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
        raise_if_stopped(error)
        if is_full_disk(error):
            raise no_space_in(tempfile.gettempdir(), error) from error
        if is_overrun(error):
            raise UnreadableInputError(
                path,
                "reading it takes more work than a file of its size can need",
                hint="the database is damaged, or made to be a trap",
            ) from error
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
        if "unable to open" in str(error) and len(os.fsencode(path.absolute())) > _LONGEST_PATH:
            code = errno.ENAMETOOLONG
        raise OSError(code, os.strerror(code), str(path)) from error


def quoted(identifier: str) -> str:
    """An SQL identifier that came from a file, quoted."""
    return '"' + identifier.replace('"', '""') + '"'


def _log_path(path: Path) -> Path:
    return path.with_name(path.name + "-wal")
