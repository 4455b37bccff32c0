"""Keeps records of a running session where they are while somebody reads them.

Records are dropped by two: the recorder, of what is older than the newest seconds, and the process
itself, of what is more than its limit. Each is asked in its own way.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from wavescope.errors import MachineError
from wavescope.formats.session.folder import still_runs
from wavescope.formats.session.layout import (
    CONTROL_PAGE,
    CONTROL_SUFFIX,
    DROPPING_OFFSET,
    MAGIC,
    STILL_UNTIL_OFFSET,
    VERSION,
)
from wavescope.model.progress import Notes

_CONTROL_NAME = re.compile(rf"\d{{1,10}}-\d{{1,20}}\.{CONTROL_SUFFIX}", re.ASCII)
LONGEST_NS = 60_000_000_000
"""Nobody waits longer for a reader, which may have been killed or stopped."""
_DROPPING_PATIENCE_S = 1.0
_READER_PATIENCE_S = 10.0
_LOOK_AGAIN_S = 0.001
_MAY_HAVE_GONE = "so records may have been dropped while they were copied"


def boottime_ns() -> int:
    """Now, on the clock of all records."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def control_names(session: Path) -> list[str]:
    """The names of the control pages in a session folder."""
    try:
        return sorted(path.name for path in session.iterdir() if _CONTROL_NAME.fullmatch(path.name))
    except OSError:
        return []


@contextmanager
def opened_control_page(path: Path) -> Iterator[int]:
    """A descriptor of a control page of this user, to read and write."""
    file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise MachineError(f"{path} is not a control page of this user")
        head = os.pread(file, CONTROL_PAGE.size, 0)
        if len(head) < CONTROL_PAGE.size or CONTROL_PAGE.unpack(head)[:2] != (MAGIC, VERSION):
            raise MachineError(f"{path} is not a control page of this version")
        yield file
    finally:
        os.close(file)


@contextmanager
def kept_still(session: Path, *, wait: bool = True) -> Iterator[Notes]:
    """Nothing is taken out of the session's files by others while the block runs.

    Where that cannot be had, what comes back notes why: who copies then does so for files that
    move. Another reader is waited for, but not for long; without `wait` it is an error that there
    is one.
    """
    notes = Notes()
    folder = os.open(session, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        is_free = _recorder_kept_still(folder, notes, wait=wait)
        # Where another reader is at it, it has asked the processes, and will tell them.
        with _processes_kept_still(session) if is_free else nullcontext():
            yield notes
    finally:
        os.close(folder)


def _recorder_kept_still(folder: int, notes: Notes, *, wait: bool) -> bool:
    """Lock an opened session, for which nothing is written into it; False when others keep it."""
    deadline = time.monotonic() + _READER_PATIENCE_S
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise
        except OSError as error:
            notes.add(f"the session cannot be locked ({error.strerror}), {_MAY_HAVE_GONE}")
            return True
        else:
            return True
        if time.monotonic() >= deadline:
            notes.add(f"another reader held the session for long, {_MAY_HAVE_GONE}")
            return False
        time.sleep(_LOOK_AGAIN_S)


@contextmanager
def _processes_kept_still(session: Path) -> Iterator[None]:
    """The same of the processes; no page stays open meanwhile, for there may be thousands."""
    pages = [session / name for name in control_names(session) if still_runs(Path(name).stem)]
    try:
        for page in pages:
            with suppress(OSError, MachineError), opened_control_page(page) as file:
                _ask(file, boottime_ns() + LONGEST_NS)
                _wait_while_dropping(file)
        yield
    finally:
        for page in pages:
            with suppress(OSError, MachineError), opened_control_page(page) as file:
                _ask(file, 0)


def _ask(file: int, until_ns: int) -> None:
    os.pwrite(file, until_ns.to_bytes(8, "little"), STILL_UNTIL_OFFSET)


def _wait_while_dropping(file: int) -> None:
    """Of a process that is killed meanwhile this stays as it was."""
    deadline = time.monotonic() + _DROPPING_PATIENCE_S
    while any(os.pread(file, 4, DROPPING_OFFSET)) and time.monotonic() < deadline:
        time.sleep(_LOOK_AGAIN_S)
