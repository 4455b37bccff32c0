"""Exports wavescope's own trace file: what `convert -o x.db` writes."""

from __future__ import annotations

from pathlib import Path

from wavescope.formats.exporter import Exporter, ExportOptions
from wavescope.formats.wavescope.writer import write_trace
from wavescope.model.progress import Progress
from wavescope.model.source import TraceSource


def _write(source: TraceSource, path: Path, options: ExportOptions, progress: Progress) -> None:  # noqa: ARG001
    write_trace([source], path, progress)


EXPORTER = Exporter("wavescope", (".db",), "SQLite trace in the rocpd dialect", _write)
