"""`wavescope recover`: a trace from the records of a recording whose recorder died."""

from __future__ import annotations

import argparse
from pathlib import Path

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import SESSION_FOLDER
from wavescope.cli.options import add_file_flags, add_output_path
from wavescope.cli.output_files import tell_written
from wavescope.cli.progress import Progress
from wavescope.cli.recording_report import print_notes

_DEFAULT_OUTPUT = Path("recovered.db")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="DIR",
        type=SESSION_FOLDER,
        help="session folder, such as trace.db.session-k3x9_a1b; its files are never changed",
    )
    add_output_path(
        parser, required=False, meaning=f"trace file to write (default {_DEFAULT_OUTPUT})"
    )
    add_file_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = arguments.output or _DEFAULT_OUTPUT
    with Progress(f"reading {arguments.folder}", quiet=arguments.quiet) as progress:
        recovered = wavescope.recover(
            arguments.folder, output, force=arguments.force, progress=progress
        )
    if not arguments.quiet:
        print_notes(recovered.notes)
    tell_written(output, "wavescope", arguments)
    return 0


COMMAND = Command(
    "recover",
    "Make a trace of what an interrupted recording left behind, because `wavescope` was killed or "
    "could not write the trace. It holds everything that was completed until then. Other commands "
    "read the folder as it is, too: `wavescope summary DIR`.",
    (
        Example("wavescope recover trace.db.session-k3x9_a1b", "writes recovered.db"),
        Example("wavescope recover trace.db.session-k3x9_a1b -o trace.db", "under another name"),
    ),
    _add_arguments,
    _run,
)
