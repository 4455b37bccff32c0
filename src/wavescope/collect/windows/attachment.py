"""Records a window of a program that runs with the collector in it, and lets it run on."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from wavescope.collect.launcher import do_nothing
from wavescope.collect.record_options import AttachOptions
from wavescope.collect.running_sessions import (
    ControlPage,
    found_pages,
    held,
    is_dormant,
    is_recording,
    set_recording,
)
from wavescope.collect.session_end import remove_if_left
from wavescope.collect.windows.recorded_window import (
    OpenWindow,
    StoppedWindow,
    close_window,
    open_window,
    runs,
    stop_window,
)
from wavescope.errors import MachineError, UsageError
from wavescope.formats.session.layout import OPS
from wavescope.formats.session.reading import Window, open_session
from wavescope.formats.session.spent_records import forget_finished, forget_ops, opened_stream
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.progress import Progress, no_progress
from wavescope.outputs import replaced, require_free
from wavescope.process import interrupts_wait, stop_was_obeyed
from wavescope.units import duration_text

_LOOK_AGAIN_S = 0.05
_IN_FLIGHT_PATIENCE_S = 30.0
_COLLECTOR_LIBRARY = "/libwavescope_collector"


@dataclass(frozen=True)
class Attached:
    """What came of it."""

    output: Path
    pids: tuple[int, ...]
    """The recorded processes."""
    start_ns: int
    end_ns: int
    is_over: bool
    """Whether the program ended meanwhile."""
    notes: tuple[tuple[str, int], ...]


@dataclass
class Attachment:
    """The processes that are recorded now; more of them may be started meanwhile."""

    session: Path
    _stack: ExitStack
    _windows: dict[ControlPage, OpenWindow] = field(default_factory=dict)
    _stopped: list[StoppedWindow] = field(default_factory=list)

    def take(self, page: ControlPage) -> None:
        """Begin to record a process; refused when it is recorded already."""
        if not self._stack.enter_context(held(page)):
            raise UsageError(
                f"process {page.pid} is being recorded by another `wavescope attach`",
                hint="wait until it has ended",
            )
        if is_recording(page):
            raise UsageError(
                f"process {page.pid} is already being recorded from start to end",
                hint=f"`wavescope snapshot {page.pid}` writes a trace of what was recorded so far",
            )
        self._stack.callback(_pause, page)
        with interrupts_wait():  # what was begun is known, so that it can be ended
            self._windows[page] = open_window(page)

    def wait(self, process: int, environment: Mapping[str, str], duration_ms: int) -> None:
        """Until the time is over or all processes have ended; new ones are recorded too."""
        deadline = time.monotonic() + duration_ms / 1000
        while any(map(runs, self._windows)) and (left_s := deadline - time.monotonic()) > 0:
            time.sleep(min(left_s, _LOOK_AGAIN_S))
            for page in found_pages(process, environment):
                if page.session == self.session and page not in self._windows:
                    with suppress(UsageError, OSError):  # it records itself, or is gone again
                        self.take(page)

    def stop(self) -> None:
        """Pause all processes."""
        self._stopped = [stop_window(window) for window in self._windows.values()]

    def close(self) -> dict[str, Window]:
        """Wait for what is in flight; the windows by `<pid>-<start>`."""
        return {
            stopped.opened.page.base: close_window(stopped, _IN_FLIGHT_PATIENCE_S)
            for stopped in self._stopped
        }

    @property
    def pages(self) -> tuple[ControlPage, ...]:
        """Of the processes that are recorded."""
        return tuple(self._windows)


def attach(
    options: AttachOptions,
    environment: Mapping[str, str],
    progress: Progress = no_progress,
    begun: Callable[[], None] = do_nothing,
) -> Attached:
    """Record the window and write its trace; an interruption ends the window early."""
    require_free(options.output, [], force=options.force)
    with attachable(options.process, environment) as (attachment, found):
        with suppress(KeyboardInterrupt):  # that is how the window ends
            for page in found:
                attachment.take(page)
            begun()
            attachment.wait(options.process, environment, options.duration_ms)
        if not attachment.pages:
            raise KeyboardInterrupt
        stop_was_obeyed()
        attachment.stop()
        windows = attachment.close()
        notes = _write(attachment.session, windows, options, progress)
        if is_dormant(attachment.session):
            _give_back_space(attachment.session, windows)
        pages = attachment.pages
        is_over = not any(map(runs, pages))
    remove_if_left(attachment.session)
    start_ns, end_ns = _span_ns(windows)
    pids = tuple(page.pid for page in pages)
    return Attached(options.output, pids, start_ns, end_ns, is_over, notes)


@contextmanager
def attachable(
    process: int, environment: Mapping[str, str]
) -> Iterator[tuple[Attachment, list[ControlPage]]]:
    """The process and those below it; those that are taken are paused after the block."""
    pages = found_pages(process, environment)
    if not pages:
        raise _not_attachable(process)
    sessions = {page.session for page in pages}
    if len(sessions) > 1:
        raise UsageError(
            f"{len(sessions)} recordings run below process {process}",
            hint="give the process id of one `wavescope run` or of a program it runs",
        )
    with ExitStack() as stack:
        yield Attachment(sessions.pop(), stack), pages


def _write(
    session: Path, windows: Mapping[str, Window], options: AttachOptions, progress: Progress
) -> tuple[tuple[str, int], ...]:
    start_ns, end_ns = _span_ns(windows)
    facts = {
        "recorded_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "recorded_window": duration_text(end_ns - start_ns),
        "output": str(options.output.absolute()),
    }
    with (
        open_session(session, windows, facts) as source,
        replaced(options.output, [session], force=options.force) as temporary,
    ):
        write_trace([source], temporary, progress)
        return tuple(source.notes)


def _span_ns(windows: Mapping[str, Window]) -> tuple[int, int]:
    """From the first process's begin to the last one's end."""
    return (
        min(window.start_ns for window in windows.values()),
        max(window.end_ns for window in windows.values()),
    )


def _give_back_space(session: Path, windows: Mapping[str, Window]) -> None:
    for base, window in windows.items():
        ops = opened_stream(session, base, OPS)
        if ops is not None:
            forget_ops(session, base, ops.filled_count)
        forget_finished(session, base, window.end_ns)


def _pause(page: ControlPage) -> None:
    if page.path.exists():
        set_recording(page, recording=False)


_RUNTIMES = (
    (
        "libhsa-runtime64.so",
        (
            "ROCm's runtime lets a queue be watched only from the moment it is made, and a program "
            "finds the functions of HIP and of markers when it starts"
        ),
    ),
    ("libcuda.so", "the CUDA driver loads a tool only at a program's first use of CUDA"),
)
"""By a library that a process has loaded, why nothing can watch its GPU any more."""
_OTHERWISE = (
    "it has loaded no GPU runtime yet, and what watches one is loaded when a program starts"
)


def _why_too_late(maps: str) -> str:
    """Of a process that has these files mapped."""
    for library, reason in _RUNTIMES:
        found = re.search(rf"/({re.escape(library)}[^/\s]*)(?: \(deleted\))?$", maps, re.MULTILINE)
        if found is not None:
            return f"it has {found[1]} loaded, and {reason}"
    return _OTHERWISE


def _not_attachable(process: int) -> UsageError | MachineError:
    """Why there is nothing to attach to, and what can be done."""
    try:
        maps = Path(f"/proc/{process}/maps").read_text(errors="replace")
    except FileNotFoundError:
        return UsageError(
            f"there is no process {process}",
            hint="`wavescope run --dormant CMD` prints the process id to attach to",
        )
    except PermissionError:
        return MachineError(
            f"process {process} belongs to another user", hint="attach as the user who started it"
        )
    if _COLLECTOR_LIBRARY in maps or process == os.getpid():
        return UsageError(
            f"process {process} has the collector in it, but nothing to record yet",
            hint="try again when the program has used the GPU or a marker; if its `wavescope "
            "run` has ended, it can no longer be recorded",
        )
    return UsageError(
        f"process {process} runs without the collector, so neither its GPU's work nor its markers "
        f"or calls can be recorded: {_why_too_late(maps)}",
        hint="start it with `wavescope run --dormant CMD`, then attach as often as you like",
    )
