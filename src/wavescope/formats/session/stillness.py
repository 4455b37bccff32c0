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
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from wavescope.errors import MachineError
from wavescope.formats.session.layout import (
    CONTROL_PAGE,
    CONTROL_SUFFIX,
    DROPPING_OFFSET,
    MAGIC,
    STILL_UNTIL_OFFSET,
    VERSION,
)

_CONTROL_NAME = re.compile(rf"\d{{1,10}}-\d{{1,20}}\.{CONTROL_SUFFIX}", re.ASCII)
_LONGEST_NS = 60_000_000_000
"""A process waits no longer for a reader, which may have been killed."""
_DROPPING_PATIENCE_S = 1.0
_LOOK_AGAIN_S = 0.001


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
def kept_still(session: Path, *, wait: bool = True) -> Iterator[None]:
    """Nothing is taken out of the session's files by others while the block runs.

    Without `wait` an error where others need them to be still.
    """
    with recorder_kept_still(session, wait=wait), ExitStack() as stack:
        for name in control_names(session):
            with suppress(OSError, MachineError):
                stack.enter_context(_process_kept_still(session / name))
        yield


@contextmanager
def recorder_kept_still(session: Path, *, wait: bool = True) -> Iterator[None]:
    """The same by the recorder, for which nothing is written into the session."""
    folder = os.open(session, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(folder)


@contextmanager
def _process_kept_still(control_page: Path) -> Iterator[None]:
    with opened_control_page(control_page) as file:
        _ask(file, boottime_ns() + _LONGEST_NS)
        try:
            _wait_while_dropping(file)
            yield
        finally:
            _ask(file, 0)


def _ask(file: int, until_ns: int) -> None:
    os.pwrite(file, until_ns.to_bytes(8, "little"), STILL_UNTIL_OFFSET)


def _wait_while_dropping(file: int) -> None:
    """Of a process that was killed meanwhile this stays as it was."""
    deadline = time.monotonic() + _DROPPING_PATIENCE_S
    while any(os.pread(file, 4, DROPPING_OFFSET)) and time.monotonic() < deadline:
        time.sleep(_LOOK_AGAIN_S)
