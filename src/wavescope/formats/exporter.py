"""What a format must offer to be written: names, suffixes, and a way to write a source to a file.

An exporter is a module-level `Exporter` in its own file, listed in `export/registry.py`. It writes
to a path of its own (a temporary file beside the target); `export/output.py` renames it into place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wavescope.model.progress import Progress
from wavescope.model.source import TraceSource


@dataclass(frozen=True)
class ExportOptions:
    """Choices that all exporters understand."""

    gzip: bool = False
    """Compress the output (formats that may be compressed)."""
    short_names: bool = True
    """Timelines show shortened kernel names and keep the whole name as an argument."""


@dataclass(frozen=True)
class Exporter:
    """One writable format; `is_folder` when it writes several files into a folder."""

    name: str
    suffixes: tuple[str, ...]
    meaning: str
    write: Callable[[TraceSource, Path, ExportOptions, Progress], None]
    is_folder: bool = False
