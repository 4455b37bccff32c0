"""Puts an export in its place: a temporary file beside the target, renamed when it is complete."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wavescope.formats.exporter import Exporter, ExportOptions
from wavescope.formats.output import replaced
from wavescope.model.progress import Progress
from wavescope.model.source import TraceSource


def write_output(
    exporter: Exporter,
    source: TraceSource,
    target: Path,
    inputs: Sequence[Path],
    options: ExportOptions,
    *,
    force: bool,
    progress: Progress,
) -> None:
    """Write `source` as `exporter`'s format to `target`, which is whole or untouched."""
    with replaced(target, inputs, force=force, is_folder=exporter.is_folder) as temporary:
        exporter.write(source, temporary, options, progress)
