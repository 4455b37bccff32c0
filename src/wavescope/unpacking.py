"""How much a packed input may unpack to: one limit for gzip files, archives and databases.

A few kilobytes can unpack to terabytes. `--max-unpacked` sets the limit for a command; it travels
as an environment variable, so that processes that help to read have it too.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from wavescope.errors import MachineError, UnreadableInputError, UsageError
from wavescope.units import bytes_text

VARIABLE = "WAVESCOPE_MAX_UNPACKED"
MOST_TIMES_PACKED = 250
"""Traces pack ten- to a hundredfold; gzip can do a thousandfold, with nothing but repetition."""
_LEAST_LIMIT_BYTES, _MOST_LIMIT_BYTES = 10**9, 64 * 10**9
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


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


@contextmanager
def room_for_unpacking(path: str | os.PathLike[str]) -> Iterator[None]:
    """A disk that is full is this machine's trouble, and not the fault of the file at `path`."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        import tempfile  # noqa: PLC0415  every command would wait for it

        folder = tempfile.gettempdir()
        raise MachineError(
            f"no space is left in {folder} to unpack {os.fspath(path)}",
            hint="set TMPDIR to a folder with more space, or free some",
        ) from error
