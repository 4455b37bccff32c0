"""`wavescope attach`: records a window of a program that runs with the collector in it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from wavescope.cli.command import Command, Example
from wavescope.cli.options import (
    add_force_flag,
    add_json_flag,
    add_output_path,
    add_quiet_flag,
    milliseconds,
    process_id,
)
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say

_DEFAULT_OUTPUT = Path("trace.db")
_DEFAULT_DURATION = "10s"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pid",
        metavar="PID",
        type=process_id,
        help="`wavescope run --dormant` itself, or a process that it runs, with those below it",
    )
    parser.add_argument(
        "--duration",
        metavar="TIME",
        type=milliseconds,
        default=milliseconds(_DEFAULT_DURATION),
        help=f"record for so long (default {_DEFAULT_DURATION}); Ctrl-C ends it earlier",
    )
    add_output_path(
        parser, required=False, meaning=f"trace file to write (default {_DEFAULT_OUTPUT})"
    )
    add_force_flag(parser)
    add_quiet_flag(parser)
    add_json_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.cli.recorded_part import RecordedPart, tell_part  # noqa: PLC0415  slow
    from wavescope.collect.windows.attach import AttachOptions, attach  # noqa: PLC0415
    from wavescope.units import duration_text  # noqa: PLC0415

    output = arguments.output or _DEFAULT_OUTPUT
    options = AttachOptions(arguments.pid, output, arguments.duration, arguments.force)

    def begun() -> None:
        length = duration_text(options.duration_ms * 1_000_000)
        if not arguments.quiet:
            say(f"recording process {options.process} for {length}; Ctrl-C ends it earlier")

    with Progress(f"writing {output.name}", quiet=arguments.quiet) as progress:
        attached = attach(options, os.environ, progress, begun)
    pids = ", ".join(map(str, attached.pids))
    length = duration_text(attached.end_ns - attached.start_ns)
    what = f"recorded {length} of process {pids}"
    words = f"{what}, which has ended" if attached.is_over else f"{what}, which runs on"
    window = (attached.start_ns, attached.end_ns)
    tell_part(RecordedPart(output, words, attached.pids, window, attached.notes), arguments)
    return 0


COMMAND = Command(
    "attach",
    "Record a window of a program that runs under `wavescope run --dormant` (or `trace "
    "--start-paused`), write a trace of that window, and let the program run on. It can be "
    "repeated; each trace holds its own window. A program that was started without the collector "
    "is refused: no ROCm runtime lets queue interception be added later.",
    (
        Example("wavescope attach 4711", "10 seconds of it into trace.db"),
        Example("wavescope attach 4711 --duration 500ms -o noon.db", "half a second"),
        Example("wavescope attach 4711 --duration 3600s", "until Ctrl-C, an hour at most"),
    ),
    _add_arguments,
    _run,
)
