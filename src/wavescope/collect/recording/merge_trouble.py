"""Why the records of a program did not become a trace, and where they are."""

from __future__ import annotations

import errno
import resource
import shlex
from pathlib import Path

from wavescope.errors import WavescopeError
from wavescope.units import bytes_text


def merge_error(session: Path, error: BaseException) -> WavescopeError:
    """The error to end with when `error` kept the records in `session` from being merged."""
    if not session.exists():
        return WavescopeError(
            f"the program ran, but its records are gone: somebody removed {session}",
            hint="record again, and leave the folder alone until the program has ended",
        )
    if isinstance(error, KeyboardInterrupt):
        reason = "interrupted"
    else:
        reason = (str(error) or type(error).__name__) + _of_small_files(error)
    return WavescopeError(
        f"the program was recorded, but its records could not be merged: {reason}",
        hint=f"they are kept: wavescope recover {shlex.quote(str(session))}",
    )


def _of_small_files(error: BaseException) -> str:
    """What SQLite does not tell: a file that may not become larger looks like a broken disk."""
    most_bytes, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if not isinstance(error, OSError) or error.errno not in (errno.EIO, errno.EFBIG):
        return ""
    if most_bytes == resource.RLIM_INFINITY:
        return ""
    return f"; ulimit -f allows no file of more than {bytes_text(most_bytes)}"
