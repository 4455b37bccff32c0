"""Traces as files: converted and merged."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from wavescope.api.opened import PathLike
from wavescope.formats import ExportOptions, exporter_for, open_source, write_source
from wavescope.formats.files import replaced, require_free
from wavescope.formats.wavescope.writing import RankFrom, write_trace
from wavescope.model.progress import Progress, no_progress
from wavescope.model.selected_source import selected_source
from wavescope.model.selection import Selection


def convert(
    path: PathLike,
    output: PathLike,
    *,
    format: str = "",  # noqa: A002  named as on the command line
    selection: Selection | None = None,
    short_names: bool = True,
    force: bool = False,
    progress: Progress = no_progress,
) -> Path:
    """Write the trace at `path` to `output`, in the format its suffix or `format` names.

    Timelines show short kernel names, unless `short_names` is false, and keep the whole ones.
    """
    target, inputs = Path(output), [Path(path)]
    exporter = exporter_for(target, format)
    require_free(target, inputs, force=force)
    options = ExportOptions(short_names=short_names)
    with closing(open_source(path)) as source:
        chosen = selected_source(source, selection or Selection())
        write_source(
            chosen, target, exporter, options, inputs=inputs, force=force, progress=progress
        )
    return target


def merge(
    paths: Sequence[PathLike],
    output: PathLike,
    *,
    rank_from: RankFrom = RankFrom.NOWHERE,
    force: bool = False,
) -> Path:
    """Write the traces at `paths` into one trace file, losing nothing."""
    target = Path(output)
    with ExitStack() as stack:
        inputs = [Path(path) for path in paths]
        temporary = stack.enter_context(replaced(target, inputs, force=force))
        sources = [stack.enter_context(closing(open_source(path))) for path in paths]
        write_trace(sources, temporary, rank_from=rank_from)
    return target
