"""The folder of kept lanes: only its owner can read it, and it stays within a size.

Each entry is a folder with two files, `columns` and `manifest`, that gets its name when both are
whole. The manifest begins with a digest of itself, and says how long `columns` is and what some of
its blocks hold.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np

from wavescope.arrays import Array
from wavescope.closing import on_error
from wavescope.view.opening.cache.kept_lanes import KeptLanes, kept_lanes
from wavescope.view.opening.opening_options import CacheOptions

_KEY = re.compile(r"[0-9a-f]{40}")
_COLUMNS = "columns"
_MANIFEST = "manifest"
_UNFINISHED = ".unfinished-"
_UNFINISHED_SECONDS = 24 * 3600.0
_ALIGNMENT = 64
_BLOCK_BYTES = 1 << 12
_BLOCKS = 64
_WRITTEN_BYTES = 1 << 25
"""Between two looks at whether the lanes are still wanted."""
_LARGEST_MANIFEST = 1 << 28
_MANIFEST_HEAD = 256
_PRIVATE = 0o700


class _UnwantedError(Exception):
    """The trace is closed: the lanes need not be kept."""


class LaneCache:
    """Kept lanes by the key of a trace's content."""

    def __init__(
        self,
        options: CacheOptions,
        environment: Mapping[str, str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._options = options
        self._folder = options.folder or _users_folder(environment)
        self._clock = clock

    def find(self, key: str) -> KeptLanes | None:
        """What was kept under `key`; None where there is nothing that can be trusted."""
        if not key or self._folder is None or not _is_private(self._folder):
            return None
        entry = self._folder / key
        if not os.path.lexists(entry):
            return None
        try:
            found = _opened(entry, key)
        except (OSError, KeyError, TypeError, ValueError, RecursionError):
            _remove(entry)
            return None
        now = self._clock()
        with suppress(OSError):  # a disk that cannot be written to is good enough to read from
            os.utime(entry, (now, now))
        return found

    def keep(self, key: str, kept: KeptLanes, is_wanted: Callable[[], bool] = lambda: True) -> bool:
        """Keep lanes under `key`; whether there was room and nothing went wrong.

        It ends soon, and leaves nothing behind, when `is_wanted` says no.
        """
        if not key or self._folder is None or kept.range_count < self._options.fewest_ranges:
            return False
        described = kept.described()
        size = sum(_padded(column.nbytes) for column in kept.columns())
        size += len(json.dumps(described)) + _MANIFEST_HEAD
        if size > self._options.largest_bytes:
            return False
        try:
            self._folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            if not _is_private(self._folder) or not self._make_room(size):
                return False
            self._write(key, kept, is_wanted)
        except (OSError, ValueError, _UnwantedError):
            return False
        return True

    def _write(self, key: str, kept: KeptLanes, is_wanted: Callable[[], bool]) -> None:
        assert self._folder is not None
        entry = self._folder / key
        folder = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self._folder))
        with on_error(lambda: _remove(folder)):
            with (folder / _COLUMNS).open("wb") as file:
                for column in kept.columns():
                    _write_padded(file, column, is_wanted)
                _to_disk(file)
            with (folder / _COLUMNS).open("rb") as written:
                size = os.fstat(written.fileno()).st_size
                digest = _digest_of_blocks(written, size)
            facts = {"key": key, "bytes": size, "digest": digest, **kept.described()}
            text = json.dumps(facts).encode()
            with (folder / _MANIFEST).open("wb") as file:
                file.write(_digest(text).encode() + b"\n" + text)
                _to_disk(file)
            now = self._clock()
            os.utime(folder, (now, now))
            # Where another process was quicker, its entry stays: both hold the same.
            if os.path.lexists(entry):
                _remove(folder)
            else:
                folder.rename(entry)

    def _make_room(self, size: int) -> bool:
        """Remove what was not used for longest until `size` bytes fit; whether they do."""
        assert self._folder is not None
        entries = []
        for entry in os.scandir(self._folder):
            if not entry.is_dir(follow_symlinks=False):
                continue
            used_at = entry.stat(follow_symlinks=False).st_mtime
            if entry.name.startswith(_UNFINISHED):
                if self._clock() - used_at > _UNFINISHED_SECONDS:
                    _remove(Path(entry.path))
                continue
            if _KEY.fullmatch(entry.name) is None:
                continue  # whatever it is, it was not kept here
            entries.append((used_at, _bytes_in(Path(entry.path)), Path(entry.path)))
        total = sum(each for _, each, _ in entries)
        for _, entry_bytes, path in sorted(entries):
            if total + size <= self._options.largest_bytes:
                break
            _remove(path)
            total -= entry_bytes
        free = shutil.disk_usage(self._folder).free
        # A full disk would harm other programs more than a slow opening does.
        return free >= 2 * size


def _users_folder(environment: Mapping[str, str]) -> Path | None:
    """Where this user's caches are, by the XDG base directory specification."""
    named = environment.get("XDG_CACHE_HOME", "")
    home = environment.get("HOME", "")
    if named and Path(named).is_absolute():
        base = Path(named)
    elif home and Path(home).is_absolute():
        base = Path(home) / ".cache"
    else:
        return None
    return base / "wavescope" / "view"


def _is_private(path: Path, *, follow: bool = True) -> bool:
    """Whether a folder is this user's, and nobody else can look into it or change it."""
    try:
        facts = path.stat(follow_symlinks=follow)
    except OSError:
        return False
    is_mine = facts.st_uid == os.geteuid() and not facts.st_mode & 0o077
    return stat.S_ISDIR(facts.st_mode) and is_mine


def _opened(entry: Path, key: str) -> KeptLanes:
    """The entry, its columns mapped into memory; ValueError where it is not as it was written."""
    if not _is_private(entry, follow=False):
        raise ValueError(entry)
    with _own_file(entry / _MANIFEST) as file:
        stated, _, text = file.read(_LARGEST_MANIFEST).partition(b"\n")
    if stated.decode("ascii") != _digest(text):
        raise ValueError(entry)
    facts = json.loads(text)
    with _own_file(entry / _COLUMNS) as file:
        size = os.fstat(file.fileno()).st_size
        is_same = facts["key"] == key and facts["bytes"] == size
        if not is_same or facts["digest"] != _digest_of_blocks(file, size):
            raise ValueError(entry)
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    columns = _Columns(data, size)
    found = kept_lanes(facts, columns.take)
    if columns.offset != size:
        raise ValueError(entry)
    return found


def _own_file(path: Path) -> BinaryIO:
    """A regular file of this user, no link to another."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    file = os.fdopen(descriptor, "rb")
    with on_error(file.close):
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
            raise ValueError(path)
    return file


class _Columns:
    """Columns that lie one after the other."""

    def __init__(self, data: mmap.mmap | bytes, size: int) -> None:
        self._data = data
        self._size = size
        self.offset = 0

    def take(self, kind: type, count: int) -> Array:
        """The next column; ValueError where it would be longer than the file."""
        dtype = np.dtype(kind)
        if count < 0 or self.offset + _padded(count * dtype.itemsize) > self._size:
            raise ValueError(count)
        column: Array = np.frombuffer(self._data, dtype, count, self.offset)
        self.offset += _padded(count * dtype.itemsize)
        return column


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _write_padded(file: BinaryIO, column: Array, is_wanted: Callable[[], bool]) -> None:
    data = np.ascontiguousarray(column).data.cast("B")
    for begin in range(0, len(data), _WRITTEN_BYTES):
        if not is_wanted():
            raise _UnwantedError
        file.write(data[begin : begin + _WRITTEN_BYTES])
        if len(data) > _WRITTEN_BYTES:
            _to_disk(file)  # now, because at the end it would take long
    file.write(bytes(_padded(len(data)) - len(data)))


def _to_disk(file: BinaryIO) -> None:
    """A name must not outlive a crash that the content does not."""
    file.flush()
    os.fsync(file.fileno())


def _digest(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=20).hexdigest()


def _digest_of_blocks(file: BinaryIO, size: int) -> str:
    """Of blocks that are spread over the file, its first and last among them."""
    digest = hashlib.blake2b(digest_size=20)
    for block in range(_BLOCKS):
        file.seek(max(0, (size - _BLOCK_BYTES) * block // (_BLOCKS - 1)))
        digest.update(file.read(_BLOCK_BYTES))
    return digest.hexdigest()


def _bytes_in(folder: Path) -> int:
    return sum(
        entry.stat(follow_symlinks=False).st_size
        for entry in os.scandir(folder)
        if entry.is_file(follow_symlinks=False)
    )


def _remove(path: Path) -> None:
    """Take away an entry whatever it is; a link goes, what it names stays."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
