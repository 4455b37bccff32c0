"""Traces as files: converted, and trimmed to a part."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from wavescope.errors import UsageError
from wavescope.formats import Exporter, ExportOptions, exporter_for, open_source, write_as
from wavescope.model.paths import PathLike
from wavescope.model.progress import Notes, Progress, Tell, no_progress, tell_nobody
from wavescope.model.selection import SelectedSource, Selection, selected_source
from wavescope.outputs import replaced
from wavescope.units import count_text

OWN_FORMAT = "wavescope"
_NO_OPS_LEFT = "no GPU op passes the filters: `wavescope info` shows what the trace holds"


def export_format(output: PathLike, name: str = "") -> Exporter:
    """The format called `name`, or the one that the suffix of `output` chooses."""
    return exporter_for(Path(output), name)


def convert(
    path: PathLike,
    output: PathLike,
    *,
    format: str = "",  # noqa: A002  named as on the command line
    selection: Selection | None = None,
    short_names: bool = True,
    raw_text: bool = False,
    counter_instances: bool = False,
    force: bool = False,
    progress: Progress = no_progress,
    tell: Tell = tell_nobody,
) -> Path:
    """Write the trace at `path` to `output`, in the format its suffix or `format` names.

    Timelines show short kernel names, unless `short_names` is false, and keep the whole ones. CSV
    is safe to open in a spreadsheet; with `raw_text` its texts are exactly those of the trace.
    `counter_instances` keeps hardware counters by instance of their block, not summed up. What the
    format has no place for is told, and noted in the file where it can be.
    """
    target, inputs = Path(output), [Path(path)]
    exporter = export_format(target, format)
    is_packed = target.name.endswith(".gz")
    options = ExportOptions(gzip=is_packed, short_names=short_names, raw_text=raw_text)
    with (
        replaced(target, inputs, force=force, is_folder=exporter.is_folder) as temporary,
        closing(open_source(path, counter_instances=counter_instances)) as source,
    ):
        chosen = selected_source(source, selection or Selection())
        if isinstance(chosen, SelectedSource) and not chosen.has_ops:
            tell(_NO_OPS_LEFT)
        write_as(exporter, chosen, temporary, options, progress)
        tell_notes(source.notes, tell)
    return target


def trim(
    path: PathLike,
    output: PathLike,
    selection: Selection,
    *,
    force: bool = False,
    progress: Progress = no_progress,
    tell: Tell = tell_nobody,
) -> Path:
    """Write the part of the trace at `path` that `selection` keeps as a trace file of its own."""
    if selection.is_everything:
        raise UsageError(
            "no filter was given, so there is no part to keep",
            hint="add for example --start 25% --end 50%, --marker decode or --gpu 0",
        )
    return convert(
        path,
        output,
        format=OWN_FORMAT,
        selection=selection,
        force=force,
        progress=progress,
        tell=tell,
    )


def tell_notes(notes: Notes, tell: Tell) -> None:
    """Tell what a reader skipped or repaired."""
    for sentence, count in notes:
        tell(f"{sentence}: {count_text(count)}")
