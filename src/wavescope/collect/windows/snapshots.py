"""A trace of what a running recording has so far, while it goes on."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from wavescope.collect.recent_part import boottime_ns, kept_still
from wavescope.collect.running_sessions import ControlPage, pages_of
from wavescope.errors import UsageError
from wavescope.files import replaced
from wavescope.formats.session.folder import SESSION_FACTS
from wavescope.formats.session.layout import (
    CALLS,
    CONTROL_SUFFIX,
    COUNTERS,
    FACTS_SUFFIX,
    MARKERS,
    OPS,
    TEXT_SUFFIX,
)
from wavescope.formats.session.reading import open_session, recent_windows
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.progress import Progress, no_progress

_COPY_BYTES = 1 << 20
_IN_ORDER = (
    OPS.suffix,
    CALLS.suffix,
    MARKERS.suffix,
    COUNTERS.suffix,
    TEXT_SUFFIX,
    FACTS_SUFFIX,
)
"""What is referred to is copied after what refers to it."""


@dataclass(frozen=True)
class Snapshot:
    """What is in the trace."""

    output: Path
    pids: tuple[int, ...]
    notes: tuple[tuple[str, int], ...]


def snapshot(
    process: int,
    output: Path,
    environment: Mapping[str, str],
    *,
    force: bool,
    progress: Progress = no_progress,
) -> Snapshot:
    """Write a trace of what the recording of a process has by now."""
    pages = pages_of(process, environment)
    if len({page.session for page in pages}) > 1:
        raise UsageError(
            f"several recordings run below process {process}",
            hint="give the process id of one `wavescope trace` or of a program it records",
        )
    return write_snapshot(pages[0].session, pages, output, force=force, progress=progress)


def write_snapshot(
    session: Path,
    pages: list[ControlPage],
    output: Path,
    *,
    force: bool,
    progress: Progress = no_progress,
) -> Snapshot:
    """The same of a session, of these processes."""
    with replaced(output, [session], force=force) as temporary:
        copies = Path(tempfile.mkdtemp(prefix="records-", dir=temporary.parent))
        with kept_still(session):
            for page in pages:
                _copy_process(session, page.base, copies)
            # After the copies: what was recorded while they were made is in them, too.
            windows = recent_windows(session, [page.base for page in pages], boottime_ns())
        _copy(session / SESSION_FACTS, copies / SESSION_FACTS)
        facts = {"snapshot_at": datetime.now(timezone.utc).isoformat(timespec="seconds")}
        facts["output"] = str(output.absolute())
        with open_session(copies, windows, facts) as source:
            write_trace([source], temporary, progress)
            notes = tuple(source.notes)
        shutil.rmtree(copies)
    return Snapshot(output, tuple(page.pid for page in pages), notes)


def _copy_process(session: Path, base: str, target: Path) -> None:
    for suffix in _IN_ORDER:
        name = f"{base}.{suffix}"
        if (session / name).exists() and suffix != CONTROL_SUFFIX:
            _copy(session / name, target / name)


def _copy(source: Path, target: Path) -> None:
    """Only what the file holds: space that was given back stays so."""
    with source.open("rb", buffering=0) as file, target.open("wb", buffering=0) as copy:
        size = os.fstat(file.fileno()).st_size
        at = 0
        while at < size:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:  # nothing but a hole follows
                break
            end = min(size, os.lseek(file.fileno(), at, os.SEEK_HOLE))
            while at < end and (data := os.pread(file.fileno(), min(_COPY_BYTES, end - at), at)):
                os.pwrite(copy.fileno(), data, at)
                at += len(data)
        os.truncate(copy.fileno(), size)
