"""Opens the files of a session folder: none but plain ones, for anybody may have made the folder.

A link would lead to what its maker may not read, and a pipe or a device has no end.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wavescope.formats.session.layout import PAGE_BYTES

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
    """Copy an opened file to `target`, which is new: its bytes, and its holes as holes.

    What its writer took out of it meanwhile is not in the copy; the first page, which counts that,
    is as it was afterwards.
    """
    with target.open("xb", buffering=0) as copy:
        size = os.fstat(file).st_size
        for start, end in _data_parts(file, size):
            at = start
            while at < end and (data := os.pread(file, min(_COPY_BYTES, end - at), at)):
                at += os.pwrite(copy.fileno(), data, at)
        os.truncate(copy.fileno(), size)
        done = 0
        for start, end in (*_data_parts(file, size), (size, size)):
            give_back_pages(copy.fileno(), done, start)
            done = end
        os.pwrite(copy.fileno(), os.pread(file, min(size, PAGE_BYTES), 0), 0)


def _data_parts(file: int, size: int) -> Iterator[tuple[int, int]]:
    """Where a file has data, as far as `size`."""
    end = 0
    while end < size:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
            end = min(size, os.lseek(file, start, os.SEEK_HOLE))
        except OSError:  # nothing but a hole follows, or somebody cut the file off
            return
        yield start, end


_KEEP_SIZE_AND_PUNCH_HOLE = 1 | 2
_fallocate = ctypes.CDLL(None, use_errno=True).fallocate
_fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)


_FAR_BEYOND = 1 << 40


def can_give_back(file: int) -> bool:
    """Whether the file system of an opened file can make holes."""
    return give_back_pages(file, _FAR_BEYOND, _FAR_BEYOND + PAGE_BYTES)


def give_back_pages(file: int, start: int, end: int) -> bool:
    """Make a hole of a part of an opened file; False where that cannot be done, and it stays."""
    return start >= end or _fallocate(file, _KEEP_SIZE_AND_PUNCH_HOLE, start, end - start) == 0
