"""Processes that live on after the program that was recorded: daemons, and what they started."""

from __future__ import annotations

import os
from pathlib import Path

_PROCESSES = Path("/proc")


def outliving(session: Path) -> tuple[int, ...]:
    """Processes of this user that record into `session` as soon as there is anything to record."""
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
