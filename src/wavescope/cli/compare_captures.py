"""`wavescope compare CAPTURE CAPTURE`: two captures of one kernel, by line and by instruction."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_captures_argument
from wavescope.cli.options import OutputOptions, add_output_flags, add_quiet_flag
from wavescope.cli.outputs import print_result
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say
from wavescope.errors import UsageError
from wavescope.model.result import Result

EXIT_WORSE = 1


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_captures_argument(parser, "the two captures: before, then after", count=2)
    parser.add_argument(
        "--fail-above",
        metavar="PERCENT",
        type=_percent,
        help="exit with code 1 when the second capture takes this much more cycles per wave"
        " than the first",
    )
    add_output_flags(parser)
    add_quiet_flag(parser)


def compared(paths: Sequence[str], *, quiet: bool) -> Result:
    """What changed from the first capture to the second."""
    if len(paths) != 2:
        raise UsageError(f"two captures are needed, not {len(paths)}", hint="wavescope compare A B")
    with Progress("comparing captures", quiet=quiet) as progress:
        return wavescope.compare_captures(*paths, progress=progress)


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    result = compared(arguments.captures, quiet=arguments.quiet)
    change = result.facts["change_percent"]
    print_result(result, output)
    limit = arguments.fail_above
    if limit is not None and isinstance(change, float) and change > limit:
        say(f"B takes {change:.1f} % more cycles per wave than A, more than {limit:g} %")
        return EXIT_WORSE
    return 0


def _percent(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is not a percentage")
    return value


COMMAND = Command(
    "compare",
    "Compare two thread-trace captures of one kernel: stall by kind, by source line and by aligned "
    "instructions, all in cycles per wave. docs/plan.md says how lines and instructions are "
    "matched.",
    (
        Example("wavescope compare before/ after/", "what a change did to a kernel"),
        Example("wavescope compare A B --table lines -n 0", "every line"),
        Example("wavescope compare A B --fail-above 3", "for CI: exit code 1 when slower"),
    ),
    _add_arguments,
    _run,
)
