"""The end of a command whose threads cannot be interrupted: soon, and with nothing left behind."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def temporary_files_together() -> Iterator[Callable[[], object]]:
    """A folder for all temporary files that the block makes; what comes back removes it.

    When it is gone no thread can make a file in it, so even one that goes on leaves none behind.
    """
    before = tempfile.tempdir
    try:
        folder = tempfile.mkdtemp(prefix="wavescope-view-")
    except OSError:  # whoever needs a temporary file will say so
        yield lambda: None
        return
    tempfile.tempdir = folder
    try:
        yield lambda: _remove(Path(folder))
    finally:
        tempfile.tempdir = before
        _remove(Path(folder))


@contextmanager
def no_more_stopping() -> Iterator[None]:
    """Signals that would stop the block, which is about to end, are ignored."""
    before = []
    with suppress(ValueError):  # only the main thread may set handlers
        before = [(number, signal.signal(number, signal.SIG_IGN)) for number in _STOPS]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def end_without_waiting(code: int) -> None:
    """End the program though threads are at work, which Python would trip over."""
    streams: tuple[TextIO | None, ...] = (sys.stdout, sys.stderr)
    for stream in streams:
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()
    os._exit(code)


def _remove(folder: Path) -> None:
    """Remove a folder that others may be writing into: under another name they do not find it."""
    with suppress(OSError):  # it is gone, or another user's folder lies above it
        renamed = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
        with suppress(OSError):
            folder.rename(renamed / "removed")
        shutil.rmtree(renamed, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
