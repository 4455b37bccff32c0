"""`wavescope trim`: a part of a trace as a new trace file."""

from __future__ import annotations

import argparse
from pathlib import Path

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
from wavescope.cli.outputs import tell_written
from wavescope.cli.progress import Progress
from wavescope.errors import UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_trace_argument(parser)
    add_output_path(parser, required=True, meaning="trace file to write, such as part.db")
    add_filter_flags(parser)
    add_force_flag(parser)
    add_quiet_flag(parser)
    add_json_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.formats.files import replaced  # noqa: PLC0415  slow to import
    from wavescope.formats.wavescope.writing import write_trace  # noqa: PLC0415

    selection = selection_from(arguments)
    if selection.is_everything:
        raise UsageError(
            "trim to what? no filter is given",
            hint="add for example --start 25% --end 50%, --marker decode or --gpu 0",
        )
    target: Path = arguments.output
    with (
        replaced(target, [Path(arguments.trace)], force=arguments.force) as temporary,
        opened_source(arguments.trace, quiet=arguments.quiet) as source,
        Progress(f"trimming {Path(arguments.trace).name}", quiet=arguments.quiet) as progress,
    ):
        write_trace([chosen_rows(source, selection, quiet=arguments.quiet)], temporary, progress)
        if not arguments.quiet:
            tell_notes(source.notes)
    tell_written(target, "wavescope", arguments)
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
