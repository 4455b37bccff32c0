"""`wavescope snapshot`: a trace of what a running recording has so far."""

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
    process_id,
)
from wavescope.cli.progress import Progress

_DEFAULT_OUTPUT = Path("snapshot.db")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pid",
        metavar="PID",
        type=process_id,
        help="a recorded process, one above it, or `wavescope trace` itself for all it records",
    )
    add_output_path(
        parser, required=False, meaning=f"trace file to write (default {_DEFAULT_OUTPUT})"
    )
    add_force_flag(parser)
    add_quiet_flag(parser)
    add_json_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.cli.recorded_part import RecordedPart, tell_part  # noqa: PLC0415  slow
    from wavescope.collect.windows.snapshot import snapshot  # noqa: PLC0415

    output = arguments.output or _DEFAULT_OUTPUT
    with Progress(f"writing {output.name}", quiet=arguments.quiet) as progress:
        taken = snapshot(
            arguments.pid, output, os.environ, force=arguments.force, progress=progress
        )
    pids = ", ".join(map(str, taken.pids))
    words = f"the recording of process {pids} so far; it goes on"
    tell_part(RecordedPart(output, words, taken.pids, None, taken.notes), arguments)
    return 0


COMMAND = Command(
    "snapshot",
    "Write a trace of what a running recording has so far, while it goes on and without disturbing "
    "it. Of a recording with --last it is the newest part.",
    (
        Example("wavescope snapshot 4711", "writes snapshot.db"),
        Example("wavescope snapshot 4711 -o slow.db", "under another name"),
    ),
    _add_arguments,
    _run,
)
