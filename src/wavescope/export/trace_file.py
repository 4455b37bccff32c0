"""Exports wavescope's own trace file: what `convert -o x.db` writes."""

from __future__ import annotations

from pathlib import Path

from wavescope.export.exporter import Exporter, ExportOptions, Progress
from wavescope.model.source import TraceSource
from wavescope.store.sqlite_writer import write_trace


def _write(source: TraceSource, path: Path, options: ExportOptions, progress: Progress) -> None:  # noqa: ARG001
    write_trace([source], path, progress)


EXPORTER = Exporter("wavescope", (".db",), "SQLite trace in the rocpd dialect", _write)
