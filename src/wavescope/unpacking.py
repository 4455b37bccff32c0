"""Room for what is unpacked or kept aside: how much it may be, and that the disk may be full.

A few kilobytes can unpack to terabytes. `--max-unpacked` sets the limit for a command; it travels
as an environment variable, so that processes that help to read have it too.

Readers take errors of the system for damage of the input they read. That there is no space left is
none: the same input can be read with more room.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from wavescope.errors import MachineError, UnreadableInputError, UsageError
from wavescope.units import bytes_text

VARIABLE = "WAVESCOPE_MAX_UNPACKED"
MOST_TIMES_PACKED = 250
"""Traces pack ten- to a hundredfold; gzip can do a thousandfold, with nothing but repetition."""
_LEAST_LIMIT_BYTES, _MOST_LIMIT_BYTES = 10**9, 64 * 10**9


class Unpacking:
    """Counts what comes out of a packed file, and refuses the file when it is too much."""

    def __init__(self, path: str | os.PathLike[str], packed_bytes: int) -> None:
        self._path = path
        self._packed_bytes = packed_bytes
        self._limit_bytes = limit_bytes(packed_bytes)
        self._unpacked_bytes = 0

    def add(self, size_bytes: int) -> None:
        """Count so many bytes more."""
        self._unpacked_bytes += size_bytes
        if self._unpacked_bytes > self._limit_bytes:
            packed, limit = bytes_text(self._packed_bytes), bytes_text(self._limit_bytes)
            raise UnreadableInputError(
                self._path,
                f"its {packed} unpack to more than {limit}",
                hint="if that is right, allow more with --max-unpacked SIZE, for example 200G",
            )


def limit_bytes(packed_bytes: int) -> int:
    """What an input of `packed_bytes` may unpack to, as the user or else its size says."""
    given = os.environ.get(VARIABLE, "")
    if not given:
        likely = MOST_TIMES_PACKED * packed_bytes
        return min(max(likely, _LEAST_LIMIT_BYTES), _MOST_LIMIT_BYTES)
    if not (given.isascii() and given.isdecimal()):
        raise UsageError(f"{VARIABLE} is '{given}', not a number of bytes")
    return int(given)


@contextmanager
def unpacking_limited(most_bytes: int | None) -> Iterator[None]:
    """In the block inputs may unpack to `most_bytes`; None leaves it as it is."""
    before = os.environ.get(VARIABLE)
    if most_bytes is not None:
        os.environ[VARIABLE] = str(most_bytes)
    try:
        yield
    finally:
        if before is not None:
            os.environ[VARIABLE] = before
        elif most_bytes is not None:
            del os.environ[VARIABLE]


_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_full_disk(error: BaseException) -> bool:
    """Whether the system, or SQLite, which has errors of its own, found no space."""
    if isinstance(error, OSError):
        return error.errno in _NO_SPACE
    sqlite3 = sys.modules.get("sqlite3")
    is_of_sqlite = sqlite3 is not None and isinstance(error, sqlite3.OperationalError)
    return is_of_sqlite and "disk is full" in str(error)


def no_space_in(folder: str | os.PathLike[str], error: BaseException) -> MachineError:
    """The error that says that temporary files had no room."""
    place = os.fspath(folder)
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return MachineError(
            f"temporary files in {place} may not grow so large",
            hint="raise the limit of a file's size: ulimit -f unlimited",
        )
    return MachineError(
        f"no space left for temporary files in {place}",
        hint="free some space, or set TMPDIR to a folder with more",
    )


@contextmanager
def told_when_full(folder: str | os.PathLike[str]) -> Iterator[None]:
    """While temporary files are written to `folder`: a full disk is told with the place."""
    try:
        yield
    except Exception as error:
        if is_full_disk(error):
            raise no_space_in(folder, error) from error
        raise
