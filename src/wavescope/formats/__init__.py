"""Opens any known trace, whatever its format."""

from __future__ import annotations

import os
from pathlib import Path

from wavescope.errors import UnknownFormatError, UnreadableInputError
from wavescope.formats.importers import importers
from wavescope.formats.sniff import probe
from wavescope.model.selected_source import selected_source
from wavescope.model.source import TraceSource
from wavescope.model.trace import Trace

__all__ = ["open_source", "open_trace", "selected_source"]


def open_source(path: str | os.PathLike[str]) -> TraceSource:
    """The trace at `path` as a source of batches; the format is told from the content."""
    seen = probe(Path(path))
    for importer in importers(seen):
        if importer.matches(seen):
            return importer.open(seen.path)
    if seen.is_cut:
        raise UnreadableInputError(
            path, "its gzip data is damaged (it ends early)", hint="was it copied completely?"
        )
    raise UnknownFormatError(
        path,
        "no known trace format",
        hint="`wavescope info --formats` lists what can be read",
    )


def open_trace(path: str | os.PathLike[str]) -> Trace:
    """The trace at `path`; columns are loaded when they are first used."""
    return Trace(open_source(path))
