"""A trace of what a running recording has so far, while it goes on."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from wavescope.collect.running_sessions import ControlPage, pages_of
from wavescope.errors import UsageError
from wavescope.formats.session.copying import copy_processes, copy_session_facts
from wavescope.formats.session.reading import open_session, recent_windows
from wavescope.formats.session.stillness import boottime_ns, kept_still
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.progress import Progress, no_progress
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
        with kept_still(session) as left_out:
            copy_processes(session, [page.base for page in pages], copies, left_out)
            # After the copies: what was recorded while they were made is in them, too.
            windows = recent_windows(session, [page.base for page in pages], boottime_ns())
        copy_session_facts(session, copies, left_out)
        facts = {"snapshot_at": datetime.now(timezone.utc).isoformat(timespec="seconds")}
        facts["output"] = str(output.absolute())
        with open_session(copies, windows, facts) as source:
            write_trace([source], temporary, progress)
            notes = (*left_out, *source.notes)
        shutil.rmtree(copies)
    return Snapshot(output, tuple(page.pid for page in pages), notes)
