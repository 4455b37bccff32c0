"""Opens the trace that a command was given, and tells what had to be skipped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING

from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say
from wavescope.units import count_text

if TYPE_CHECKING:
    from wavescope.model.source import Notes, TraceSource
    from wavescope.model.trace import Trace


@contextmanager
def opened_source(path: str, *, quiet: bool) -> Iterator[TraceSource]:
    """The source of the trace at `path`, closed afterwards."""
    from wavescope.load import open_source  # noqa: PLC0415  slow to import

    with Progress(f"opening {PurePath(path).name}", quiet=quiet):
        source = open_source(path)
    try:
        yield source
    finally:
        source.close()


@contextmanager
def opened_trace(path: str, *, quiet: bool) -> Iterator[Trace]:
    """The trace at `path`, closed afterwards."""
    from wavescope.model.trace import Trace  # noqa: PLC0415

    with opened_source(path, quiet=quiet) as source:
        yield Trace(source)


def tell_notes(notes: Notes) -> None:
    """Say what a reader skipped or repaired."""
    for sentence, count in notes:
        say(f"{sentence}: {count_text(count)}", label="note")
