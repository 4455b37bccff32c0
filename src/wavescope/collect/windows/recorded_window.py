"""Records one process from now until it is closed: which of its records are of that time.

What was counted is known exactly: while a process is paused and nothing of it is in flight, what
it saw is the sum of what became of it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from wavescope.collect.running_sessions import ControlPage, set_recording
from wavescope.formats.session.folder import is_running
from wavescope.formats.session.layout import COUNTERS, FACTS_SUFFIX, SKIP_PAUSED
from wavescope.formats.session.reading import Window
from wavescope.formats.session.record_file import Records
from wavescope.formats.session.spent_records import opened_stream

_SETTLED_BEFORE_S = 1.0
_LOOK_AGAIN_S = 0.002


@dataclass(frozen=True)
class OpenWindow:
    """A process that is recorded since `start_ns`."""

    page: ControlPage
    start_ns: int
    before: Records
    """Counters before it was told to record."""
    begun: Records
    """Counters after that."""


@dataclass(frozen=True)
class StoppedWindow:
    """A process that was told to pause at `end_ns`; what it has in flight is still recorded."""

    opened: OpenWindow
    end_ns: int
    stopped: Records
    """Counters before it was told to pause."""


def open_window(page: ControlPage) -> OpenWindow:
    """Begin to record a paused process."""
    before = _settled_counters(page, _SETTLED_BEFORE_S)
    start_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    set_recording(page, recording=True)
    return OpenWindow(page, start_ns, before, counters_of(page))


def stop_window(window: OpenWindow) -> StoppedWindow:
    """Pause the process again."""
    stopped = counters_of(window.page)
    end_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    set_recording(window.page, recording=False)
    return StoppedWindow(window, end_ns, stopped)


def close_window(window: StoppedWindow, patience_s: float) -> Window:
    """Wait for what is in flight; the part of the recording that is of the window."""
    opened = window.opened
    after = _settled_counters(opened.page, patience_s)
    counters = counted_between(opened.before, opened.begun, window.stopped, after)
    return Window(opened.start_ns, window.end_ns, counters)


def counted_between(before: Records, begun: Records, stopped: Records, after: Records) -> Records:
    """What was counted in a window, by queue.

    Dispatches that passed a paused process are of the window only if they passed while it was told
    to record: the program itself can pause.
    """
    begin, first, last = (_as_long_as(after, records) for records in (before, begun, stopped))
    counted = after.copy()
    for member in ("packets", "seen", "timed", "skipped", "lost"):
        counted[member] = after[member] - begin[member]
    paused = last["skipped"][:, SKIP_PAUSED] - first["skipped"][:, SKIP_PAUSED]
    counted["seen"] += paused - counted["skipped"][:, SKIP_PAUSED]
    counted["skipped"][:, SKIP_PAUSED] = paused
    return counted


def counters_of(page: ControlPage) -> Records:
    """The counters of a process as they are now, by queue."""
    file = opened_stream(page.session, page.base, COUNTERS)
    if file is None:
        return np.zeros(0, COUNTERS.record)
    return file.records_at(np.arange(file.slot_count)).astype(COUNTERS.record)


def runs(page: ControlPage) -> bool:
    """Whether the process still does."""
    start_ns = int(page.base.partition("-")[2])
    return is_running(page.pid, start_ns, f"{page.base}.{FACTS_SUFFIX}")


def _settled_counters(page: ControlPage, patience_s: float) -> Records:
    """The counters once everything that was seen is accounted for, or when patience is over."""
    deadline = time.monotonic() + patience_s
    while True:
        is_last = time.monotonic() > deadline or not runs(page)
        counters = counters_of(page)
        accounted = counters["timed"] + counters["skipped"].sum(1) + counters["lost"].sum(1)
        if is_last or np.array_equal(accounted, counters["seen"]):
            return counters
        time.sleep(_LOOK_AGAIN_S)


def _as_long_as(reference: Records, records: Records) -> Records:
    """Queues that were not there yet had counted nothing."""
    grown = np.zeros(len(reference), reference.dtype)
    shared = min(len(reference), len(records))
    grown[:shared] = records[:shared]
    return grown
