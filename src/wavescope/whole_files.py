"""Files that are read as a whole: regular ones of a bounded size, so that none takes for ever."""

from __future__ import annotations

import stat
from pathlib import Path

from wavescope.errors import UnreadableInputError


def whole_file(path: Path, most_bytes: int, purpose: str) -> bytes:
    """The bytes at `path`; pipes, devices and what is too large for its purpose are refused."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableInputError(
                path, "it is not a regular file", hint="save the data to a file first"
            )
        if status.st_size > most_bytes:
            raise UnreadableInputError(path, f"it is too large for {purpose}")
        return path.read_bytes()
    except OSError as error:
        raise UnreadableInputError(path, error.strerror or "it cannot be opened") from error
