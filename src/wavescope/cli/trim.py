"""`wavescope trim`: a part of a trace as a new trace file."""

from __future__ import annotations

import argparse
from pathlib import PurePath

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_trace_argument
from wavescope.cli.options import (
    add_file_flags,
    add_filter_flags,
    add_output_path,
    selection_from,
)
from wavescope.cli.output_files import tell_written
from wavescope.cli.progress import Progress


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_trace_argument(parser)
    add_output_path(parser, required=True, meaning="trace file to write, such as part.db")
    add_filter_flags(parser)
    add_file_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    activity = f"trimming {PurePath(arguments.trace).name}"
    with Progress(activity, quiet=arguments.quiet) as progress:
        written = wavescope.trim(
            arguments.trace,
            arguments.output,
            selection_from(arguments),
            force=arguments.force,
            progress=progress,
            tell=progress.tell,
        )
    tell_written(written, "wavescope", arguments)
    return 0


COMMAND = Command(
    "trim",
    "Write a new trace file with a part of a trace: by time, marker, GPU, process or kernel name. "
    "A row belongs to the part when it starts inside it; the input is never changed.",
    (
        Example("wavescope trim trace.db -o middle.db --start 25% --end 75%", "the middle half"),
        Example("wavescope trim trace.db -o first.db --end 100ms", "the first 100 ms"),
        Example(
            "wavescope trim trace.db -o decode.db --marker decode", "what ran in decode ranges"
        ),
        Example("wavescope trim trace.db -o gpu0.db --gpu 0", "one GPU only"),
    ),
    _add_arguments,
    _run,
)
