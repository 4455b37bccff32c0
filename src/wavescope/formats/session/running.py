"""Whether a recorded process still runs: it has its facts mapped as long as it does."""

from __future__ import annotations

import os
from pathlib import Path

_PROCESSES = Path("/proc")
_STATE, _STARTED = 0, 19
"""Places in /proc/PID/stat, counted from behind the name."""
_NS_PER_S = 1_000_000_000


def is_running(pid: int, start_ns: int, file_name: str) -> bool:
    """Whether the process that maps `file_name` since `start_ns` lives and is the same program.

    Neither a later process of the same number nor a program that the process became has it mapped.
    Of a process that may not be looked into, as one that changed its user, the start must do.
    """
    if not _has_lived_since(pid, start_ns):
        return False
    try:
        maps = (_PROCESSES / str(pid) / "maps").read_bytes()
    except PermissionError:
        return True
    except OSError:
        return False
    return b"/" + os.fsencode(file_name) in maps


def _has_lived_since(pid: int, start_ns: int) -> bool:
    """Whether the process was there then; one that ended and was not yet waited for is none."""
    try:
        text = (_PROCESSES / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return False
    fields = text.rpartition(")")[2].split()
    if len(fields) <= _STARTED or fields[_STATE] in {"Z", "X"}:
        return False
    started_ns = int(fields[_STARTED]) * _NS_PER_S // os.sysconf("SC_CLK_TCK")
    return started_ns <= start_ns
