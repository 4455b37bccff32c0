"""`wavescope plan`: what to change in a traced kernel, in which order, for how much at most."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import COUNTER_FILE, add_capture_argument, chosen_capture
from wavescope.cli.options import OutputOptions, add_output_flags, add_quiet_flag
from wavescope.cli.outputs import print_result
from wavescope.cli.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wavescope.analyze.capture.decoded import DecodedTrace
    from wavescope.analyze.capture.plan.context import Counters
    from wavescope.model.result import Result


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_capture_argument(
        parser, "ui_output_agent_*_dispatch_* folder, a folder with one such, or a zip or tar of it"
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
        help="counters of the same kernel from another run (may be repeated): tells clean memory "
        "traffic and LDS bank conflicts",
    )


def kernel_counters(
    decoded: DecodedTrace, counters: Sequence[str], *, quiet: bool
) -> Counters | None:
    """The counters of the traced kernel in files of other runs, None where there are no files."""
    from wavescope.analyze.capture.plan.kernel_counters import counters_of_trace_kernel  # noqa: PLC0415
    from wavescope.api.traffic import memory_counters  # noqa: PLC0415  NumPy, too

    if not counters:
        return None
    return counters_of_trace_kernel(
        decoded, memory_counters(counters, lambda path: Progress(f"reading {path}", quiet=quiet))
    )


def planned(decoded: DecodedTrace, counters: Sequence[str], *, quiet: bool) -> Result:
    """The plan of a trace, with the counters in files of other runs."""
    from wavescope.analyze.capture.plan.plan import plan_result  # noqa: PLC0415

    found = kernel_counters(decoded, counters, quiet=quiet)
    with Progress(f"planning {decoded.trace.capture.name}", quiet=quiet):
        return plan_result(decoded, found)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.analyze.capture.capture_findings import capture_findings  # noqa: PLC0415
    from wavescope.analyze.capture.decoded import DecodedTrace  # noqa: PLC0415

    output = OutputOptions.from_arguments(arguments)
    trace = chosen_capture(arguments.capture, reads_waves=True, quiet=arguments.quiet)
    result = planned(DecodedTrace(trace), arguments.counters, quiet=arguments.quiet)
    result.findings += capture_findings(trace)
    print_result(result, output)
    return 0


COMMAND = Command(
    "plan",
    "Show what to change in a traced kernel, the most worthwhile first: root cause, evidence, a "
    "fix with before and after, and how much it can gain at most. docs/plan.md lists the patterns "
    "and says how gains are bounded.",
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
