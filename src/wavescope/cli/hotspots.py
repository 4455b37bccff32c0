"""`wavescope hotspots`: where a kernel stalls, instruction by instruction and line by line."""

from __future__ import annotations

import argparse
from dataclasses import replace

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.diff_att import compared
from wavescope.cli.inputs import add_captures_argument
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputOptions,
    add_kernel_flag,
    add_output_flags,
    add_quiet_flag,
    row_count,
)
from wavescope.cli.outputs import print_result, tell_left_out, without_details
from wavescope.cli.plan import add_counters_flag
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say
from wavescope.model.result import Result

_HEADER_FACTS = (
    "kernel",
    "path",
    "chip",
    "chip_basis",
    "measure",
    "stall",
    "latency",
    "samples",
    "stall_rate_percent",
    "executed_row_count",
    "row_count",
    "wave_count",
    "stall_with_source_percent",
    "charged_basis",
    "shader_clock_mhz",
    "measured_peak_waves_per_simd",
    "measured_mean_waves_per_simd",
    "theoretical_waves_per_simd",
    "is_partial",
)
"""What a page of text begins with."""
_DETAIL_TABLES = ("coverage", "waits")
"""Left to --table, --json and --format csv: a page of text has no room for them."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_captures_argument(
        parser, "ui_output_agent_*_dispatch_* folder, a folder above such, or a zip or tar of them"
    )
    group = parser.add_argument_group("hotspots")
    group.add_argument(
        "--topk",
        metavar="K",
        type=row_count,
        default=15,
        help="rows of each ranking, 0 for all (default 15)",
    )
    group.add_argument(
        "--mode",
        choices=("asm", "src", "both"),
        default="both",
        help="rank instructions, source lines, or both (default)",
    )
    group.add_argument(
        "--view",
        choices=("raw", "charged", "both"),
        default="both",
        help="stall where it shows, charged to what waits wait for, or both (default)",
    )
    group.add_argument(
        "--frame",
        choices=("innermost", "outermost", "any"),
        default="innermost",
        help="which frame of an inline chain a line is (default innermost)",
    )
    group.add_argument(
        "--detail", action="store_true", help="show the source around the hottest lines"
    )
    group.add_argument(
        "--context",
        metavar="N",
        type=row_count,
        default=4,
        help="source lines before and after with --detail (default 4)",
    )
    group.add_argument(
        "--timeline",
        action="store_true",
        help="how waves ran: spread, gaps, barriers, matrix rate, hidden latency, occupancy",
    )
    group.add_argument(
        "--plan",
        action="store_true",
        help="what to change, for how much at most: `wavescope plan` explains it",
    )
    group.add_argument(
        "--diff", action="store_true", help="compare two captures of one kernel: --diff A B"
    )
    add_counters_flag(parser)
    group.add_argument(
        "--no-waves", action="store_true", help="read code.json only: fast, but waits are estimated"
    )
    add_kernel_flag(group, "captures whose kernel's name matches")
    add_output_flags(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    if arguments.diff:
        print_result(compared(arguments.captures, quiet=arguments.quiet), output)
        return 0
    with Progress(f"reading {arguments.captures[0]}", quiet=arguments.quiet) as progress:
        result = wavescope.hotspots(
            arguments.captures,
            _options(arguments),
            kernel=arguments.kernel,
            has_overview=True,
            has_waves=not arguments.no_waves,
            has_plan=arguments.plan,
            counters=arguments.counters,
            progress=progress,
        )
    if "capture_count" in result.facts:
        print_result(result, output)
        if not arguments.quiet and output.format in FOR_PEOPLE:
            say("name one of them, or choose by --kernel, to see its hotspots")
        return 0
    if arguments.rows is None:
        output = replace(output, rows=0)  # --topk says how many
    if output.format in FOR_PEOPLE:
        result = _for_people(result)
    result, hidden = without_details(result, output, _DETAIL_TABLES)
    print_result(result, output)
    tell_left_out(hidden, output, quiet=arguments.quiet)
    return 0


def _for_people(result: Result) -> Result:
    """The result with those facts only that a page of text begins with."""
    known = {key: result.facts.get(key) for key in _HEADER_FACTS}
    return replace(
        result, facts={key: value for key, value in known.items() if value not in {None, False, ""}}
    )


def _options(arguments: argparse.Namespace) -> wavescope.HotspotOptions:
    return wavescope.HotspotOptions(
        topk=arguments.topk,
        mode=arguments.mode,
        view=arguments.view,
        frame=arguments.frame,
        has_detail=arguments.detail,
        context=arguments.context,
        has_timeline=arguments.timeline,
    )


COMMAND = Command(
    "hotspots",
    "Show where a kernel stalls, from a thread-trace (ATT) capture: by type of stall, by "
    "instruction and by source line, once where the stall shows and once charged to the memory "
    "operation that each wait waited for. docs/captures.md defines every number.",
    (
        Example("wavescope hotspots ui_output_agent_1_dispatch_3", "the 15 worst of each"),
        Example(
            "wavescope hotspots DIR --topk 5 --mode src --detail --context 4",
            "the 5 worst lines with their source",
        ),
        Example("wavescope hotspots DIR --timeline", "how the waves ran, too"),
        Example("wavescope hotspots DIR --plan", "and what to change"),
        Example("wavescope hotspots --diff before/ after/", "what a change did"),
        Example("wavescope hotspots captures.zip --kernel attention", "one of many, still packed"),
    ),
    _add_arguments,
    _run,
)
