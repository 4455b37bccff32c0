"""Copies of a session's files, so that a trace is made of what does not change any more.

The session itself is only read; its writer may go on, and its maker may be anybody.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from wavescope.formats.session.folder import (
    RECENT_PART,
    SESSION_FACTS,
    recorded_bases,
    still_runs,
)
from wavescope.formats.session.layout import (
    CALLS,
    COUNTERS,
    FACTS_SUFFIX,
    MARKERS,
    OPS,
    PENDING,
    TEXT_SUFFIX,
)
from wavescope.formats.session.pending import pending_path
from wavescope.formats.session.plain_file import DamagedStreamError, copy_plain, opened_plain
from wavescope.model.progress import Notes

_IN_ORDER = (
    OPS.suffix,
    CALLS.suffix,
    MARKERS.suffix,
    COUNTERS.suffix,
    TEXT_SUFFIX,
    FACTS_SUFFIX,
)
"""What is referred to is copied after what refers to it."""


def copy_session(session: Path, target: Path) -> Notes:
    """Copy the records of all processes, and what the recorder left; what had to be left out."""
    notes = Notes()
    bases = recorded_bases(session)
    for base in bases:
        _copy_pending(session, base, target, notes)
    copy_processes(session, bases, target, notes)
    for name in (RECENT_PART, SESSION_FACTS):
        _copy_noted(session / name, target / name, notes)
    return notes


def copy_processes(session: Path, bases: Iterable[str], target: Path, notes: Notes) -> None:
    """Copy the records of some processes, which may go on recording."""
    for base in bases:
        for suffix in _IN_ORDER:
            name = f"{base}.{suffix}"
            _copy_noted(session / name, target / name, notes)


def copy_session_facts(session: Path, target: Path, notes: Notes) -> None:
    """Copy what the recorder knows of a session."""
    _copy_noted(session / SESSION_FACTS, target / SESSION_FACTS, notes)


def _copy_pending(session: Path, base: str, target: Path, notes: Notes) -> None:
    """What a process that is gone had in flight, which may still lie in shared memory."""
    if still_runs(base):
        return
    path = pending_path(session, base)
    if path is not None:
        _copy_noted(path, target / f"{base}.{PENDING.suffix}", notes)


def _copy_noted(source: Path, target: Path, notes: Notes) -> None:
    try:
        with suppress(FileNotFoundError), opened_plain(source) as file:
            copy_plain(file, target)
    except DamagedStreamError as error:
        notes.add(f"file {source.name} is {error}: left out")
    except PermissionError as error:
        notes.add(f"file {source.name} is closed to this user ({error.strerror}): left out")
