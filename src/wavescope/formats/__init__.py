"""Traces as files of any format: opened whatever they are, written as whatever is asked for.

Each format has a folder with its reader and writer, which `registry` names and nobody else
imports; what several share lies beside the folders.

More than six names go out: users add formats of their own, so that what a format is goes out with
opening and writing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from wavescope.errors import UnknownFormatError, UnreadableInputError, UsageError
from wavescope.formats.registry import (
    Exporter,
    ExportOptions,
    Importer,
    exporter_for,
    exporters,
    importer_of,
    importers,
)
from wavescope.formats.sniff import probe
from wavescope.model.progress import Progress, no_progress
from wavescope.model.source import TraceSource
from wavescope.model.trace import Trace

__all__ = [
    "ExportOptions",
    "Exporter",
    "Importer",
    "exporter_for",
    "exporters",
    "importers",
    "is_trace",
    "open_source",
    "open_trace",
    "write_as",
    "write_source",
]


def is_trace(path: str | os.PathLike[str]) -> bool:
    """Whether what is at `path` has a known trace format; an error when it cannot be read."""
    return importer_of(probe(Path(path))) is not None


def open_source(path: str | os.PathLike[str], *, counter_instances: bool = False) -> TraceSource:
    """The trace at `path` as a source of batches; the format is told from the content.

    With `counter_instances` hardware counters are by instance of their block, not summed up.
    """
    seen = probe(Path(path))
    importer = importer_of(seen)
    if importer is not None:
        opens = _instances_opener(importer, seen.path) if counter_instances else importer.open
        return opens(seen.path)
    if seen.is_cut:
        raise UnreadableInputError(
            path, "its gzip data is damaged (it ends early)", hint="was it copied completely?"
        )
    raise UnknownFormatError(
        path,
        "no known trace format",
        hint="`wavescope info --formats` lists what can be read",
    )


def _instances_opener(importer: Importer, path: Path) -> Callable[[Path], TraceSource]:
    if importer.open_counter_instances is None:
        raise UsageError(
            f"the counters of {path}, which is {importer.name}, cannot be split into hardware "
            "instances",
            hint="rocprofv3 --pmc ... -f json writes a value for each of them",
        )
    return importer.open_counter_instances


def open_trace(path: str | os.PathLike[str], *, counter_instances: bool = False) -> Trace:
    """The trace at `path`; columns are loaded when they are first used."""
    return Trace(open_source(path, counter_instances=counter_instances))


def write_as(
    exporter: Exporter,
    source: TraceSource,
    path: Path,
    options: ExportOptions,
    progress: Progress,
) -> None:
    """Write `source` to `path` itself; what the format has no place for becomes notes of it.

    So it is told with all other notes, and written where the format has room for notes.
    """
    from wavescope.formats.left_out import losses  # noqa: PLC0415  who only reads needs none of it

    for sentence, rows in losses(source, exporter.name, exporter.leaves_out()):
        source.notes.set(sentence, rows)
    exporter.write(source, path, options, progress)


def write_source(
    source: TraceSource,
    target: Path,
    exporter: Exporter,
    options: ExportOptions = ExportOptions(),  # noqa: B008  frozen
    *,
    inputs: Sequence[Path],
    force: bool = False,
    progress: Progress = no_progress,
) -> None:
    """Write `source` in the format of `exporter` to `target`, which is whole or untouched.

    It is compressed when its name ends in .gz, too. Nothing is written over one of `inputs`, and
    over anything else only with `force`.
    """
    from wavescope.outputs import replaced  # noqa: PLC0415  who only reads needs none of it

    is_packed = options.gzip or target.name.endswith(".gz")
    with replaced(target, inputs, force=force, is_folder=exporter.is_folder) as temporary:
        write_as(exporter, source, temporary, replace(options, gzip=is_packed), progress)
