"""Traces as files: converted and merged."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from wavescope.api.opened import PathLike
from wavescope.formats import open_source, selected_source
from wavescope.formats.exporter import ExportOptions
from wavescope.formats.exporters import exporter_for
from wavescope.formats.output import replaced, require_free
from wavescope.formats.wavescope.merge_plan import RankFrom
from wavescope.formats.wavescope.writer import write_trace
from wavescope.formats.write_output import write_output
from wavescope.model.progress import no_progress
from wavescope.model.selection import Selection


def convert(
    path: PathLike,
    output: PathLike,
    *,
    format: str = "",  # noqa: A002  named as on the command line
    selection: Selection | None = None,
    force: bool = False,
) -> Path:
    """Write the trace at `path` to `output`, in the format its suffix or `format` names."""
    target = Path(output)
    exporter = exporter_for(target, format)
    require_free(target, [Path(path)], force=force)
    options = ExportOptions(gzip=target.name.endswith(".gz"))
    with closing(open_source(path)) as source:
        chosen = selected_source(source, selection or Selection())
        write_output(
            exporter, chosen, target, [Path(path)], options, force=force, progress=no_progress
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
