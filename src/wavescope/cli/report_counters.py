"""`wavescope report COUNTERS`: metric panels as one page to read, send and print."""

from __future__ import annotations

import argparse
from pathlib import Path

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import COUNTER_FOLDER
from wavescope.cli.options import add_file_flags, add_output_path
from wavescope.cli.output_files import tell_written
from wavescope.cli.progress import Progress


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders",
        metavar="DIR",
        type=COUNTER_FOLDER,
        nargs="+",
        help="workload folder; several are compared, the first is the baseline",
    )
    add_output_path(parser, required=False, meaning="page to write (default counters.html)")
    add_file_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    target: Path = arguments.output or Path("counters.html")
    with Progress("writing the report", quiet=arguments.quiet):
        wavescope.report_counters(arguments.folders, target, force=arguments.force)
    tell_written(target, "html", arguments)
    return 0


COMMAND = Command(
    "report",
    "Write the metric panels of a counter folder as one self-contained page, with charts and "
    "findings. `wavescope counters DIR -o page.html` does the same for chosen kernels, dispatches "
    "and panels.",
    (Example("wavescope report workloads/vcopy/MI200 -o vcopy.html", "every panel"),),
    _add_arguments,
    _run,
)
