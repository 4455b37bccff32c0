"""`wavescope attach`: records a window of a program that runs with the collector in it."""

from __future__ import annotations

import argparse
from pathlib import Path

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.options import (
    add_file_flags,
    add_output_path,
    milliseconds,
    process_id,
)
from wavescope.cli.progress import Progress
from wavescope.cli.recording_report import print_part
from wavescope.cli.terminal import say
from wavescope.units import duration_text

_DEFAULT_OUTPUT = Path("trace.db")
_DEFAULT_DURATION = "10s"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pid",
        metavar="PID",
        type=process_id,
        help="process id of `wavescope run --dormant`, or of a process it runs; processes below it "
        "are recorded too",
    )
    parser.add_argument(
        "--duration",
        metavar="TIME",
        type=milliseconds,
        default=milliseconds(_DEFAULT_DURATION),
        help=f"how long to record (default {_DEFAULT_DURATION}); Ctrl-C ends it earlier",
    )
    add_output_path(
        parser, required=False, meaning=f"trace file to write (default {_DEFAULT_OUTPUT})"
    )
    add_file_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = arguments.output or _DEFAULT_OUTPUT
    options = wavescope.AttachOptions(arguments.pid, output, arguments.duration, arguments.force)

    def begun() -> None:
        length = duration_text(options.duration_ms * 1_000_000)
        if not arguments.quiet:
            say(f"recording process {options.process} for {length}; Ctrl-C ends it earlier")

    with Progress(f"writing {output.name}", quiet=arguments.quiet) as progress:
        attached = wavescope.attach(options, begun=begun, progress=progress)
    pids = ", ".join(map(str, attached.pids))
    length = duration_text(attached.end_ns - attached.start_ns)
    what = f"recorded {length} of process {pids}"
    words = f"{what}, which has ended" if attached.is_over else f"{what}, which runs on"
    print_part(attached, words, quiet=arguments.quiet, as_json=arguments.json)
    return 0


COMMAND = Command(
    "attach",
    "Record some seconds of a program that runs under `wavescope run --dormant` (or `trace "
    "--start-paused`) and write them as a trace; the program runs on. This can be repeated: each "
    "trace holds its own seconds. A program that was started without wavescope cannot be recorded: "
    "the collector has to be there when a program first uses its GPU.",
    (
        Example("wavescope attach 4711", "record 10 seconds into trace.db"),
        Example("wavescope attach 4711 --duration 500ms -o noon.db", "record half a second"),
        Example("wavescope attach 4711 --duration 3600s", "record until Ctrl-C, an hour at most"),
    ),
    _add_arguments,
    _run,
)
