"""`wavescope plan`: what to change in a traced kernel, in which order, for how much at most."""

from __future__ import annotations

import argparse

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import COUNTER_FILE, add_capture_argument
from wavescope.cli.options import OutputOptions, add_output_flags, add_quiet_flag
from wavescope.cli.outputs import print_result
from wavescope.cli.progress import Progress


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_capture_argument(
        parser, "capture: a ui_output_agent_*_dispatch_* folder, a folder above it, or a zip or tar"
    )
    add_counters_flag(parser)
    add_output_flags(parser)
    add_quiet_flag(parser)


def add_counters_flag(parser: argparse.ArgumentParser) -> None:
    """--counters, for what a thread trace does not know: caches and LDS banks."""
    parser.add_argument(
        "--counters",
        metavar="CSV",
        type=COUNTER_FILE,
        action="append",
        default=[],
        help="counters of the same kernel from another run (may be repeated), to judge memory "
        "traffic and LDS bank conflicts",
    )


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    with Progress(f"reading {arguments.capture}", quiet=arguments.quiet) as progress:
        result = wavescope.plan(arguments.capture, counters=arguments.counters, progress=progress)
    print_result(result, output)
    return 0


COMMAND = Command(
    "plan",
    "Show what to change in a traced kernel, the most worthwhile first: root cause, evidence, a "
    "fix with before and after, and the most it can gain. docs/plan.md lists the patterns and says "
    "how gains are estimated.",
    (
        Example("wavescope plan ui_output_agent_1_dispatch_3", "the plan of a traced kernel"),
        Example(
            "wavescope plan DIR --counters out_counter_collection.csv",
            "with what caches and LDS banks say",
        ),
        Example("wavescope plan DIR --json", "findings with figures, for programs"),
    ),
    _add_arguments,
    _run,
)
