"""`wavescope report CAPTURE`: a thread-trace capture as one page to read, send and print."""

from __future__ import annotations

import argparse
from pathlib import Path

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_capture_argument
from wavescope.cli.options import (
    add_file_flags,
    add_output_path,
)
from wavescope.cli.output_files import tell_written
from wavescope.cli.plan import add_counters_flag
from wavescope.cli.progress import Progress


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_capture_argument(
        parser, "capture: a ui_output_agent_*_dispatch_* folder, a folder above it, or a zip or tar"
    )
    add_output_path(parser, required=False, meaning="page to write (default capture.html)")
    parser.add_argument("--title", metavar="TEXT", help="title of the page (default: the kernel)")
    add_counters_flag(parser)
    add_file_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    with Progress(f"analysing {arguments.capture}", quiet=arguments.quiet) as progress:
        target = wavescope.capture_report(
            arguments.capture,
            arguments.output or Path("capture.html"),
            title=arguments.title or "",
            counters=arguments.counters,
            force=arguments.force,
            progress=progress,
        )
    tell_written(target, "html", arguments)
    return 0


COMMAND = Command(
    "report",
    "Write a thread-trace capture as one self-contained page: the plan, source beside "
    "instructions with heat (choose a line to see its instructions, a wait to see what it waits "
    "for), waves over time, occupancy, and the tables behind them.",
    (
        Example("wavescope report ui_output_agent_1_dispatch_3 -o pa.html", "a page"),
        Example(
            "wavescope report DIR --counters out_counter_collection.csv",
            "with what caches say in the plan",
        ),
    ),
    _add_arguments,
    _run,
)
