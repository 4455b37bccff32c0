"""`wavescope info CAPTURE`: the captures in a folder or archive, to choose one."""

from __future__ import annotations

import argparse

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_captures_argument
from wavescope.cli.options import OutputOptions, add_output_flags, add_quiet_flag
from wavescope.cli.outputs import print_result
from wavescope.cli.progress import Progress


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_captures_argument(
        parser, "capture: a ui_output_agent_*_dispatch_* folder, a folder above it, or a zip or tar"
    )
    add_output_flags(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    with Progress("reading captures", quiet=arguments.quiet) as progress:
        result = wavescope.capture_info(arguments.captures, progress=progress)
    print_result(result, output)
    return 0


COMMAND = Command(
    "info",
    "Show which captures there are: the kernel and dispatch of each, how much it stalls and why "
    "mostly, and whether all of it could be read.",
    (Example("wavescope info captures.zip", "every capture in an archive"),),
    _add_arguments,
    _run,
)
