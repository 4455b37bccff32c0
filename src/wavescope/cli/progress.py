"""Tells on standard error how far long work is; work of under a second says nothing.

On a terminal a bar is drawn, elsewhere a plain line appears every few seconds.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from types import TracebackType

from wavescope.cli.terminal import say, terminal_width
from wavescope.process import interrupts_wait
from wavescope.render.cells.escape import cell_width, shortened, visible

SILENT_SECONDS = 1.0
LINE_SECONDS = 5.0
_REDRAW_SECONDS = 0.2
_KNOWN_SECONDS = 5.0
"""Before that the start of the work tells too little of the rest."""
_ACTIVITY_WIDTH = 60
_BAR_WIDTH = 30
_BLANK_LINE = "\r\x1b[2K"


class Progress:
    """`with Progress("reading trace.db", quiet=False) as progress: work(progress, progress.tell)`.

    The object is called with rows done and rows in all. A thread of its own watches the counts,
    so that work which cannot report anything still shows that it goes on. What the work tells is
    said when it has succeeded.
    """

    def __init__(self, activity: str, *, quiet: bool) -> None:
        self._activity = shortened(visible(activity), _ACTIVITY_WIDTH)
        self._counts = (0, 0)
        self._told: list[str] = []
        self._quiet = quiet
        self._finished = threading.Event()
        self._thread = None if quiet else threading.Thread(target=self._watch, daemon=True)

    def __call__(self, done: int, total: int) -> None:
        """Note that `done` of `total` rows are finished."""
        self._counts = (done, total)

    def tell(self, sentence: str) -> None:
        """Note a sentence that is worth saying at the end."""
        self._told.append(sentence)

    @property
    def told(self) -> tuple[str, ...]:
        """What the work told so far."""
        return tuple(self._told)

    def __enter__(self) -> Progress:
        if self._thread:
            # Ctrl-C is for the thread that works: it may have a reason to wait for it.
            with interrupts_wait():
                self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._finished.set()
        if self._thread:
            self._thread.join()
        if kind is None and not self._quiet:
            for sentence in self._told:
                say(sentence, label="note")

    def _watch(self) -> None:
        if self._finished.wait(SILENT_SECONDS):
            return
        began = time.monotonic() - SILENT_SECONDS
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            self._draw_bar(began)
        else:
            self._print_lines(began)

    def _print_lines(self, began: float) -> None:
        while not self._finished.wait(LINE_SECONDS):
            done, total = self._counts
            seconds = time.monotonic() - began
            share = f" {100 * done // total} %," if total else ""
            say(f"{self._activity}:{share} {seconds:.0f} s{left_text(done, total, seconds)}")

    def _draw_bar(self, began: float) -> None:
        """Draw one line over and over, and wipe it in the end."""
        while True:
            line = bar_line(
                self._activity, *self._counts, time.monotonic() - began, terminal_width()
            )
            sys.stderr.write(_BLANK_LINE + line)
            sys.stderr.flush()
            if self._finished.wait(_REDRAW_SECONDS):
                break
        sys.stderr.write(_BLANK_LINE)
        sys.stderr.flush()


def bar_line(activity: str, done: int, total: int, seconds: float, width: int) -> str:
    """The line that shows how far `activity` is, no wider than a terminal of `width` columns.

    Where nobody knows how much there is, the time alone shows that work goes on.
    """
    bar, figures = "", f"{seconds:.0f} s"
    if total > 0:
        share = min(max(done / total, 0.0), 1.0)
        filled = int(share * _BAR_WIDTH)
        bar = f"[{'#' * filled}{'-' * (_BAR_WIDTH - filled)}] "
        figures = f"{int(100 * share)} %, {figures}{left_text(done, total, seconds)}"
    room = width - 1  # many terminals go to the next line behind the last column
    line = f"{activity} {bar}{figures}"
    return line if cell_width(line) <= room else shortened(f"{activity} {figures}", room)


def left_text(done: int, total: int, seconds: float) -> str:
    """About how long the rest takes if it goes on as before; nothing where that is a guess."""
    if not 0 < done < total or seconds < _KNOWN_SECONDS or 50 * done < total:
        return ""
    return f", about {seconds * (total - done) / done:.0f} s left"
