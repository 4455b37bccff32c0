"""`wavescope snapshot`: a trace of what a running recording has so far."""

from __future__ import annotations

import argparse
from pathlib import Path

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.options import (
    add_file_flags,
    add_output_path,
)
from wavescope.cli.pause import add_process
from wavescope.cli.progress import Progress
from wavescope.cli.recording_report import print_part

_DEFAULT_OUTPUT = Path("snapshot.db")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_process(parser)
    add_output_path(
        parser, required=False, meaning=f"trace file to write (default {_DEFAULT_OUTPUT})"
    )
    add_file_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = arguments.output or _DEFAULT_OUTPUT
    with Progress(f"writing {output.name}", quiet=arguments.quiet) as progress:
        taken = wavescope.snapshot(arguments.pid, output, force=arguments.force, progress=progress)
    words = f"the recording of process {', '.join(map(str, taken.pids))} so far; it goes on"
    print_part(taken, words, quiet=arguments.quiet, as_json=arguments.json)
    return 0


COMMAND = Command(
    "snapshot",
    "Write a trace of what a running recording has recorded so far; it goes on undisturbed. With "
    "`trace --last` or `--max-size` the snapshot holds the newest part.",
    (
        Example("wavescope snapshot 4711", "writes snapshot.db"),
        Example("wavescope snapshot 4711 -o slow.db", "under another name"),
    ),
    _add_arguments,
    _run,
)
