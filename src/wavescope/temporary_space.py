"""A full disk while something is unpacked or kept aside: told as such, and where it is.

Readers take errors of the system for damage of the input they read. That there is no space left is
none: the same input can be read with more room.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from wavescope.errors import MachineError

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
