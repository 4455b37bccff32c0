"""The end of a session folder: it is removed, or left to those who still read a window of it.

Nobody knows for how long: a `wavescope attach` may have been stopped (Ctrl-Z). The program's end
does not wait for it any longer than for one that writes its trace; who is the last to need the
records removes them.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from wavescope.collect.running_sessions import ControlPage, held
from wavescope.errors import MachineError
from wavescope.formats.session.folder import (
    INNER_RECORDERS,
    RECENT_PART,
    RECENT_PART_DRAFT,
    SESSION_FACTS,
    files_of,
)
from wavescope.formats.session.pending import remove_forgotten
from wavescope.formats.session.stillness import control_names

LEFT = "left"
"""The file that says that the recorder of a session is gone and whoever reads it removes it."""
PATIENCE_S = 5.0
_LOOK_AGAIN_S = 0.02


def end_session(session: Path) -> Path | None:
    """Remove a session that is over; where it is when it is left to those who still read it."""
    try:
        _wait(session)
    finally:  # whoever does not want to wait has nothing of it lost either
        left = _removed_or_left(session)
    return left


def _wait(session: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while (_is_attached(session) or _is_copied(session)) and time.monotonic() < deadline:
        time.sleep(_LOOK_AGAIN_S)


def _removed_or_left(session: Path) -> Path | None:
    if not _is_attached(session):
        remove_session(session)
        return None
    (session / LEFT).touch()
    # Who was attached may have let go of it before it could see that.
    return None if remove_if_left(session) else session


def remove_if_left(session: Path) -> bool:
    """Remove a session that was left to its readers, if there is none any more."""
    if not (session / LEFT).exists() or _is_attached(session):
        return False
    remove_session(session)
    remove_forgotten()
    return True


def remove_session(session: Path) -> None:
    """Remove what a recording made; a folder that holds anything else stays."""
    with suppress(FileNotFoundError):  # another reader was faster
        for path in files_of(session, [path.name for path in session.iterdir()]):
            path.unlink(missing_ok=True)
    for name in (SESSION_FACTS, INNER_RECORDERS, RECENT_PART, RECENT_PART_DRAFT, LEFT):
        (session / name).unlink(missing_ok=True)
    with suppress(OSError):
        session.rmdir()


def _is_attached(session: Path) -> bool:
    """Whether somebody records a window of one of its processes, or writes the trace of one.

    No page stays open meanwhile, for there may be thousands.
    """
    for name in control_names(session):
        page = ControlPage(int(name.partition("-")[0]), session / name)
        with suppress(OSError, MachineError), held(page) as is_free:
            if not is_free:
                return True
    return False


def _is_copied(session: Path) -> bool:
    """Whether somebody copies its records (see `kept_still`)."""
    try:
        folder = os.open(session, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # where nothing can be locked nobody can be asked
        return False
    else:
        return False
    finally:
        os.close(folder)
