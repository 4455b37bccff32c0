"""Tells on standard error how far long work is; work of under a second says nothing.

On a terminal a bar is drawn, elsewhere a plain line appears every few seconds.
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING

from wavescope.cli.terminal import say
from wavescope.render.cells.escape import shortened, visible

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

SILENT_SECONDS = 1.0
LINE_SECONDS = 5.0
_REDRAW_SECONDS = 0.2


class Progress:
    """`with Progress("reading trace.db", quiet=False) as progress: work(progress)`.

    The object is called with rows done and rows in all. A thread of its own watches the counts,
    so that work which cannot report anything still shows that it goes on.
    """

    def __init__(self, activity: str, *, quiet: bool) -> None:
        self._activity = shortened(visible(activity), 60)
        self._counts = (0, 0)
        self._finished = threading.Event()
        self._thread = None if quiet else threading.Thread(target=self._watch, daemon=True)

    def __call__(self, done: int, total: int) -> None:
        """Note that `done` of `total` rows are finished."""
        self._counts = (done, total)

    def __enter__(self) -> Progress:
        if self._thread:
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

    def _watch(self) -> None:
        if self._finished.wait(SILENT_SECONDS):
            return
        if sys.stderr.isatty():
            self._draw_bar()
        else:
            self._print_lines()

    def _print_lines(self) -> None:
        began = time.monotonic() - SILENT_SECONDS
        while not self._finished.wait(LINE_SECONDS):
            done, total = self._counts
            share = f" {100 * done // total} %," if total else ""
            say(f"{self._activity}:{share} {time.monotonic() - began:.0f} s")

    def _draw_bar(self) -> None:
        with _bar() as bar:
            task = bar.add_task(self._activity, total=None)
            while not self._finished.wait(_REDRAW_SECONDS):
                done, total = self._counts
                bar.update(task, completed=done, total=total or None)


def _bar() -> Bar:
    from rich import progress  # noqa: PLC0415  slow to import, and seldom needed
    from rich.console import Console  # noqa: PLC0415

    return progress.Progress(
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
