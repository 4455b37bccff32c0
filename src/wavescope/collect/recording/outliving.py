"""Processes that live on after the program that was recorded: daemons, and what they started."""

from __future__ import annotations

import os
from pathlib import Path

_PROCESSES = Path("/proc")
_MOST_LOOKS = 5


def outliving(session: Path) -> tuple[int, ...]:
    """Processes of this user that record into `session` as soon as there is anything to record.

    While one becomes a daemon it may end after its child was looked for: a look counts when the
    next one finds the same.
    """
    found = _look(session)
    for _ in range(_MOST_LOOKS):
        before, found = found, _look(session)
        if found == before:
            break
    return found


def _look(session: Path) -> tuple[int, ...]:
    wanted = b"WAVESCOPE_OUTPUT=" + os.fsencode(session)
    found = []
    for folder in _PROCESSES.iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            environment = (folder / "environ").read_bytes()
        except OSError:  # it ended meanwhile, or is somebody else's
            continue
        if wanted in environment.split(b"\0"):
            found.append(int(folder.name))
    return tuple(sorted(found))
