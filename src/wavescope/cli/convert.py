"""`wavescope convert` (also `export`): a trace in the format of another tool."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_trace_argument, chosen_rows, opened_source, tell_notes
from wavescope.cli.options import (
    add_filter_flags,
    add_force_flag,
    add_json_flag,
    add_output_path,
    add_quiet_flag,
    selection_from,
)
from wavescope.cli.outputs import stdout_bytes, tell_written
from wavescope.cli.progress import Progress
from wavescope.errors import UsageError

if TYPE_CHECKING:
    from wavescope.formats import Exporter, ExportOptions
    from wavescope.model.selection import Selection

STANDARD_OUTPUT = Path("-")
DEFAULT_FORMAT = "perfetto"
FORMATS = (
    "wavescope",
    "perfetto",
    "chrome-json",
    "csv",
    "csv-folder",
    "parquet",
    "parquet-folder",
    "arrow",
    "arrow-folder",
    "rocprofv3",
    "rpd",
)
"""Named here for --help, which must not wait for the exporters."""
_INPUT_SUFFIXES = (
    ".json",
    ".db",
    ".rpd",
    ".sqlite",
    ".pftrace",
    ".perfetto-trace",
    ".pt.trace",
    ".csv",
)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_trace_argument(parser)
    add_output_path(
        parser,
        required=False,
        meaning="file to write; its ending chooses the format. - is standard output. Default: the "
        "input's name with the format's ending, in the current folder",
    )
    parser.add_argument(
        "-f",
        "--format",
        metavar="FORMAT",
        default="",
        help=f"format to write, whatever the ending: {', '.join(FORMATS)} "
        f"(default {DEFAULT_FORMAT} when there is no -o)",
    )
    parser.add_argument(
        "--full-names",
        action="store_true",
        help="timelines show whole kernel names (else short ones, the whole name as an argument)",
    )
    add_filter_flags(parser)
    add_force_flag(parser)
    add_quiet_flag(parser)
    add_json_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.formats import ExportOptions  # noqa: PLC0415  slow to import

    selection = selection_from(arguments)
    exporter, target = _destination(Path(arguments.trace), arguments.output, arguments.format)
    if target == STANDARD_OUTPUT and arguments.json:
        raise UsageError("-o - and --json both want standard output")
    options = ExportOptions(gzip=target.name.endswith(".gz"), short_names=not arguments.full_names)
    with _place(exporter, target, arguments) as path:
        _export(exporter, path, selection, options, arguments)
    if target != STANDARD_OUTPUT:
        tell_written(target, exporter.name, arguments)
    return 0


@contextmanager
def _place(exporter: Exporter, target: Path, arguments: argparse.Namespace) -> Iterator[Path]:
    """Where to write: beside the target, or in a temporary folder on the way to stdout.

    It is refused before the trace is opened, which may take long.
    """
    from wavescope.formats.files import replaced  # noqa: PLC0415  slow to import

    if target == STANDARD_OUTPUT:
        if exporter.is_folder:
            raise UsageError(
                f"{exporter.name} writes several files: it cannot go to standard output",
                hint="name a folder with -o, or use `wavescope query` for one table as CSV",
            )
        with tempfile.TemporaryDirectory(prefix="wavescope-") as folder:
            path = Path(folder) / f"trace{_ending(exporter)}"
            yield path
            with path.open("rb") as file:
                shutil.copyfileobj(file, stdout_bytes())
    else:
        inputs = [Path(arguments.trace)]
        with replaced(
            target, inputs, force=arguments.force, is_folder=exporter.is_folder
        ) as temporary:
            yield temporary


def _export(
    exporter: Exporter,
    path: Path,
    selection: Selection,
    options: ExportOptions,
    arguments: argparse.Namespace,
) -> None:
    quiet: bool = arguments.quiet
    with opened_source(arguments.trace, quiet=quiet) as source:
        chosen = chosen_rows(source, selection, quiet=quiet)
        with Progress(f"writing {path.name}", quiet=quiet) as progress:
            exporter.write(chosen, path, options, progress)
        if not quiet:
            tell_notes(source.notes)


def _destination(trace: Path, output: Path | None, format_name: str) -> tuple[Exporter, Path]:
    """The format to write and where to."""
    from wavescope.formats import exporter_for  # noqa: PLC0415  slow to import

    if output is None:
        exporter = exporter_for(trace, format_name or DEFAULT_FORMAT)
        return exporter, Path(default_name(trace.name, _ending(exporter)))
    if output == STANDARD_OUTPUT and not format_name:
        raise UsageError("-o - needs a format", hint="`wavescope info --formats` lists them")
    return exporter_for(output, format_name), output


def _ending(exporter: Exporter) -> str:
    """The format's own ending; folders are told apart by a word."""
    return exporter.suffixes[0] if exporter.suffixes else "-" + exporter.name.split("-")[0]


def default_name(name: str, suffix: str) -> str:
    """The input's name with its known endings replaced by `suffix`."""
    stem = name.removesuffix(".gz")
    while True:
        known = next((s for s in _INPUT_SUFFIXES if stem.lower().endswith(s) and stem != s), None)
        if known is None:
            return (stem or "trace") + suffix
        stem = stem[: -len(known)]


COMMAND = Command(
    "convert",
    "Write a trace in the format of another tool: Perfetto, Chrome JSON, CSV, Parquet, rocprofv3 "
    "JSON, RPD, or wavescope's own trace file. `wavescope export` is the same command.",
    (
        Example("wavescope convert trace.db", "trace.pftrace for https://ui.perfetto.dev"),
        Example("wavescope convert trace.db -o trace.json.gz", "Chrome JSON, compressed"),
        Example("wavescope convert profile.pt.trace.json.gz -o trace.db", "a trace file for SQL"),
        Example(
            "wavescope convert trace.db -o decode.pftrace --marker decode --gpu 0",
            "what GPU 0 did in decode ranges",
        ),
    ),
    _add_arguments,
    _run,
)
