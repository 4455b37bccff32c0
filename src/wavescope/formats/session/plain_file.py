"""Opens the files of a session folder: none but plain ones, for anybody may have made the folder.

A link would lead to what its maker may not read, and a pipe or a device has no end.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_COPY_BYTES = 1 << 20


class DamagedStreamError(Exception):
    """A stream that cannot be read at all; the text says why."""


@contextmanager
def opened_plain(path: Path) -> Iterator[int]:
    """A descriptor of the regular file at `path`, for reading; what is none is refused."""
    try:
        file = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise DamagedStreamError("a link, which is not followed") from error
        raise
    try:
        _require_plain(file, path)
        yield file
    finally:
        os.close(file)


def _require_plain(file: int, path: Path) -> None:
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        raise DamagedStreamError("not a regular file")
    if found.st_nlink > 1 and found.st_uid != path.parent.stat().st_uid:
        raise DamagedStreamError("another user's file under a second name")


def plain_bytes(path: Path, most: int) -> bytes:
    """All of a small file; nothing where it has more than `most` bytes."""
    with opened_plain(path) as file:
        if os.fstat(file).st_size > most:
            return b""
        return os.pread(file, most, 0)


def copy_plain(file: int, target: Path) -> None:
    """Copy an opened file to `target`, which is new: its bytes, and its holes as holes."""
    with target.open("xb", buffering=0) as copy:
        size = os.fstat(file).st_size
        at = 0
        while at < size:
            try:
                at = os.lseek(file, at, os.SEEK_DATA)
                end = min(size, os.lseek(file, at, os.SEEK_HOLE))
            except OSError:  # nothing but a hole follows, or somebody cut the file off
                break
            while at < end and (data := os.pread(file, min(_COPY_BYTES, end - at), at)):
                at += os.pwrite(copy.fileno(), data, at)
        os.truncate(copy.fileno(), size)
