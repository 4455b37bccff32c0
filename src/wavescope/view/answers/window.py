"""A part of a trace as a file: for Perfetto's page, or as a trace of its own."""

from __future__ import annotations

import re
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from wavescope.errors import UsageError
from wavescope.formats import ExportOptions, exporter_for, open_source, write_as
from wavescope.model.progress import no_progress
from wavescope.model.selection import SelectedSource, Selection, selected_source
from wavescope.model.source import TraceSource
from wavescope.unpacking import told_when_full
from wavescope.view.answers.question import BINARY, Answer, Asked
from wavescope.view.opening import TraceView


class _FileKind(NamedTuple):
    format: str
    suffix: str
    content_type: str


_KINDS = {
    "perfetto": _FileKind("perfetto", ".pftrace", BINARY),
    "wavescope": _FileKind("wavescope", ".db", "application/vnd.sqlite3"),
}
_MOST_NAME_CHARACTERS = 80


def window(asked: Asked) -> Answer:
    """What starts from `start` to `end`, in ns from the first event, as `wavescope trim` has it."""
    view, kind = asked.view, _KINDS.get(asked.text("format"))
    if kind is None:
        raise UsageError("the format is not known", hint=f"there are: {', '.join(_KINDS)}")
    start, end = asked.integer("start"), asked.integer("end")
    if start >= end:
        raise UsageError("the window is empty")
    view.require_whole()  # until then an earlier event may be the first
    first_ns = view.loaded.first_ns
    part = Selection(start=str(first_ns + start), end=str(first_ns + end))
    with tempfile.TemporaryDirectory(prefix="wavescope-") as folder, ExitStack() as stack:
        path = Path(folder, f"window{kind.suffix}")
        exporter = exporter_for(path, kind.format)
        stack.enter_context(told_when_full(folder))
        source = selected_source(_source_of(view, stack), part)
        write_as(exporter, source, path, ExportOptions(), no_progress)
        # Its name goes with the folder, its bytes when they were sent.
        stream = path.open("rb")
    return Answer(b"", kind.content_type, _file_name(view, start, end, kind.suffix), stream)


def _source_of(view: TraceView, stack: ExitStack) -> TraceSource:
    """The rows of the view; opened once more where that is the whole file, so none need wait."""
    source = view.trace.source
    if isinstance(source, SelectedSource):
        stack.enter_context(view.turn)
        return source
    return stack.enter_context(closing(open_source(view.trace.path)))


def _file_name(view: TraceView, start: int, end: int, suffix: str) -> str:
    """A name that no header and no file system takes amiss, whatever the trace is called."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(view.label or "trace").stem).strip("-")
    return f"{plain[:_MOST_NAME_CHARACTERS] or 'trace'}-{start}-{end}{suffix}"
