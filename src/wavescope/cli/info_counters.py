"""`wavescope info COUNTERS`: what was counted, kernel by kernel and dispatch by dispatch."""

from __future__ import annotations

import argparse

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import COUNTER_FOLDER
from wavescope.cli.options import OutputOptions, add_output_flags, add_quiet_flag
from wavescope.cli.outputs import print_result
from wavescope.cli.progress import Progress


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders", metavar="DIR", type=COUNTER_FOLDER, nargs="+", help="workload folder"
    )
    add_output_flags(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    with Progress("reading counters", quiet=arguments.quiet):
        result = wavescope.counters_info(arguments.folders)
    print_result(result, output)
    return 0


COMMAND = Command(
    "info",
    "Show what a counter folder holds: the chip, and the kernels and dispatches that were counted, "
    "with the ids that `wavescope counters -k` and `-d` take.",
    (Example("wavescope info workloads/vcopy/MI200", "kernels and dispatches"),),
    _add_arguments,
    _run,
)
