"""A trace of what a running recording has so far, while it goes on."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from wavescope.collect.running_sessions import ControlPage, pages_of
from wavescope.errors import UsageError
from wavescope.formats.session.copying import copy_processes, copy_session_facts
from wavescope.formats.session.folder import DORMANT, files_of, read_session_facts
from wavescope.formats.session.reading import Window, open_session, recent_windows
from wavescope.formats.session.stillness import boottime_ns, kept_still
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.progress import Notes, Progress, no_progress
from wavescope.outputs import replaced


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
        windows, left_out = _copied(session, [page.base for page in pages], copies)
        facts = {"snapshot_at": datetime.now(timezone.utc).isoformat(timespec="seconds")}
        facts["output"] = str(output.absolute())
        with open_session(copies, windows, facts) as source:
            write_trace([source], temporary, progress)
            notes = (*left_out, *source.notes)
        shutil.rmtree(copies)
    return Snapshot(output, tuple(page.pid for page in pages), notes)


def _copied(
    session: Path, bases: Sequence[str], copies: Path
) -> tuple[Mapping[str, Window] | None, Notes]:
    """Copy the records; what of them a trace is to hold, and what had to be left out."""
    recorder = read_session_facts(session)
    try:
        there = files_of(session, [path.name for path in session.iterdir()])
        with kept_still(session) as left_out:
            copy_processes(session, bases, copies, left_out)
            # After the copies: what was recorded while they were made is in them, too.
            windows = recent_windows(session, bases, boottime_ns())
            copy_session_facts(session, copies, left_out)
            for path in there:  # the recorder waits for a copy, but not for long
                path.stat()
    except FileNotFoundError as error:
        trace = "" if DORMANT in recorder else recorder.get("output", "")
        raise UsageError(
            "the recording has ended, and its records were removed while they were copied",
            hint=f"its trace: wavescope summary {shlex.quote(trace)}" if trace else "",
        ) from error
    return windows, left_out
