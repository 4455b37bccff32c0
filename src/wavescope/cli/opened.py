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
    from wavescope.model.notes import Notes
    from wavescope.model.selection import Selection
    from wavescope.model.source import TraceSource
    from wavescope.model.trace import Trace

_NO_OPS_LEFT = "no op is left by the filters: `wavescope info` shows what the trace holds"
_NO_OPS = "there are no GPU ops in the trace: `wavescope info` shows what it holds"


@contextmanager
def opened_source(path: str, *, quiet: bool) -> Iterator[TraceSource]:
    """The source of the trace at `path`, closed afterwards."""
    from wavescope.formats import open_source  # noqa: PLC0415  slow to import

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


def chosen_rows(source: TraceSource, selection: Selection, *, quiet: bool) -> TraceSource:
    """The rows of `source` that the filters keep; says so when no op is among them."""
    from wavescope.model.selected_source import SelectedSource, selected_source  # noqa: PLC0415

    chosen = selected_source(source, selection)
    if isinstance(chosen, SelectedSource) and not chosen.has_ops:
        tell_no_ops(selection, quiet=quiet)
    return chosen


def tell_no_ops(selection: Selection, *, quiet: bool) -> None:
    """Say why there is nothing to see: the filters, or the trace itself."""
    if not quiet:
        say(_NO_OPS if selection.is_everything else _NO_OPS_LEFT, label="note")


def tell_notes(notes: Notes) -> None:
    """Say what a reader skipped or repaired."""
    for sentence, count in notes:
        say(f"{sentence}: {count_text(count)}", label="note")
