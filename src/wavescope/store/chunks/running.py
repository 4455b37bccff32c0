"""Whether a recorded process still runs: it holds a lock on its facts as long as it does."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def is_running(facts: Path, pid: int) -> bool:
    """Whether the process that writes `facts` is alive and has not become another program.

    A forked child that outlives it keeps the lock, a program it became keeps the process id.
    """
    return _is_alive(pid) and is_locked(facts)


def is_locked(path: Path) -> bool:
    """Whether the process that made the file lives, or a forked child of it."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(file)
    return False


def _is_alive(pid: int) -> bool:
    """Whether there is such a process: one that ended and was not yet waited for is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    state = text.rpartition(")")[2].split()
    return bool(state) and state[0] not in {"Z", "X"}
