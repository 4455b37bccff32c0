"""Runs a program with the collector in it that records only while somebody is attached."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from wavescope.collect.launcher import ProgramEnd
from wavescope.collect.record_options import RecordOptions
from wavescope.collect.recording.obstacles import other_tools_sentences
from wavescope.collect.recording.recorder import (
    describe_session,
    prepare,
    run_into,
)
from wavescope.collect.running_sessions import (
    after_a_moment,
    held,
    is_recording,
    outliving,
    pages_in,
    set_recording,
)
from wavescope.collect.session_end import end_session
from wavescope.errors import MachineError
from wavescope.formats.session.folder import DORMANT
from wavescope.formats.session.pending import remove_forgotten
from wavescope.model.progress import Tell, tell_nobody


@dataclass(frozen=True)
class DormantRun:
    """A program that ran dormant."""

    end: ProgramEnd
    running: tuple[int, ...]
    """Processes that outlive it, which nobody can attach to any more."""
    left_session: Path | None = None
    """Its session, where a `wavescope attach` that has not ended needs it: it removes it."""


def run_dormant(
    options: RecordOptions,
    environment: Mapping[str, str],
    *,
    tell: Tell = tell_nobody,
    warn: Tell = tell_nobody,
) -> DormantRun:
    """Run the command of `options`, whose output is not used; nothing is left of its session,
    unless somebody is still attached.

    `tell` hears how to attach to it; `warn` of other tools that may keep the GPU's work.
    """
    for sentence in other_tools_sentences(options.other_tools, environment):
        warn(sentence)
    program = prepare(replace(options, start_paused=True), environment, tell)
    tell(f"dormant: `wavescope attach {os.getpid()} --duration 10s` records it for 10 seconds")
    session = Path(tempfile.mkdtemp(prefix="wavescope-dormant-"))
    try:
        describe_session(session, options, **{DORMANT: "yes"})
        end = run_into(session, program, lambda: stop_forgotten(session))
        running = after_a_moment(lambda: outliving(session))
    finally:
        left = end_session(session)
        remove_forgotten()
    return DormantRun(end, running, left)


def stop_forgotten(session: Path) -> None:
    """Pause processes that nobody is attached to: who was died, or the program resumed itself."""
    for page in pages_in(session):
        with suppress(OSError, MachineError):
            if not is_recording(page):
                continue
            with held(page) as is_free:
                if is_free:
                    set_recording(page, recording=False)
