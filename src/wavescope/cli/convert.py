"""`wavescope convert` (also `export`): a trace in the format of another tool."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_counter_instances_flag, add_trace_argument
from wavescope.cli.options import (
    add_file_flags,
    add_filter_flags,
    add_output_path,
    add_raw_text_flag,
    selection_from,
)
from wavescope.cli.output_files import tell_written
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import stdout_bytes
from wavescope.errors import UsageError
from wavescope.process import removed_in_the_end
from wavescope.unpacking import told_when_full

if TYPE_CHECKING:
    from wavescope.formats import Exporter

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
        meaning="file to write; its ending chooses the format, - is standard output (default: the "
        "input's name with the format's ending, in the current folder)",
    )
    parser.add_argument(
        "-f",
        "--format",
        metavar="FORMAT",
        default="",
        help=f"format to write, whatever the ending of -o: {', '.join(FORMATS)} "
        f"(default {DEFAULT_FORMAT} when there is no -o)",
    )
    parser.add_argument(
        "--full-names",
        action="store_true",
        help="show full kernel names on timelines (default: short ones, with the full name as an "
        "argument)",
    )
    add_raw_text_flag(parser)
    add_counter_instances_flag(
        parser,
        "keep hardware counters for each instance of their block, SQ_WAVES[0] and so on, instead "
        "of their sum (of rocprofv3 JSON)",
    )
    add_filter_flags(parser)
    add_file_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.output == STANDARD_OUTPUT:
        _write_to_stdout(arguments)
    else:
        exporter, target = _destination(Path(arguments.trace), arguments.output, arguments.format)
        path, notes = _converted(arguments, target, exporter.name)
        tell_written(path, exporter.name, arguments, notes)
    return 0


def _destination(trace: Path, output: Path | None, name: str) -> tuple[Exporter, Path]:
    """The format to write and where to."""
    if output is not None:
        return wavescope.export_format(output, name), output
    exporter = wavescope.export_format(trace, name or DEFAULT_FORMAT)
    # Folders, which have no ending, are told apart by a word.
    ending = exporter.suffixes[0] if exporter.suffixes else "-" + exporter.name.split("-")[0]
    return exporter, Path(default_name(trace.name, ending))


def _converted(
    arguments: argparse.Namespace, target: Path, format_name: str
) -> tuple[Path, tuple[str, ...]]:
    """The file that was written, and what was told of it."""
    with Progress(f"writing {target.name}", quiet=arguments.quiet) as progress:
        path = wavescope.convert(
            arguments.trace,
            target,
            format=format_name,
            selection=selection_from(arguments),
            short_names=not arguments.full_names,
            raw_text=arguments.raw_text,
            counter_instances=arguments.counter_instances,
            force=arguments.force,
            progress=progress,
            tell=progress.tell,
        )
        return path, progress.told


def _write_to_stdout(arguments: argparse.Namespace) -> None:
    """Write the file to a temporary folder, then to standard output."""
    if not arguments.format:
        raise UsageError("-o - needs a format", hint="`wavescope info --formats` lists them")
    exporter = wavescope.export_format(STANDARD_OUTPUT, arguments.format)
    if exporter.is_folder:
        raise UsageError(
            f"{exporter.name} writes several files: it cannot go to standard output",
            hint="name a folder with -o, or use `wavescope query` for one table as CSV",
        )
    if arguments.json:
        raise UsageError("-o - and --json cannot be used together: both write to standard output")
    folder = tempfile.mkdtemp(prefix="wavescope-")
    with removed_in_the_end(folder):
        with told_when_full(folder):
            path, _ = _converted(arguments, Path(folder) / "trace", exporter.name)
        with path.open("rb") as file:
            shutil.copyfileobj(file, stdout_bytes())


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
