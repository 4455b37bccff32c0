"""`wavescope hotspots`: where a kernel stalls, instruction by instruction and line by line."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from typing import TYPE_CHECKING

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
from wavescope.cli.plan import add_counters_flag, planned
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say
from wavescope.errors import UnreadableInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wavescope.analyze.capture.hotspots import HotspotOptions
    from wavescope.formats.captures import CaptureLocation
    from wavescope.model.capture import ThreadTrace
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
    pattern = re.compile(arguments.kernel) if arguments.kernel else None
    options = _hotspot_options(arguments)
    from wavescope.formats.captures import find_captures  # noqa: PLC0415  slow to import

    captures = find_captures(arguments.captures)
    if len(captures) > 1 or pattern is not None:
        captures, result = _overview(captures, pattern, arguments)
        if len(captures) > 1:
            print_result(result, output)
            if not arguments.quiet and output.format in FOR_PEOPLE:
                say("name one of them, or choose by --kernel, to see its hotspots")
            return 0
    if arguments.rows is None:
        output = replace(output, rows=0)  # --topk says how many
    result = _report(captures[0], options, arguments)
    if output.format in FOR_PEOPLE:
        result.facts = {
            key: result.facts[key]
            for key in _HEADER_FACTS
            if result.facts.get(key) not in {None, False, ""}
        }
    result, hidden = without_details(result, output, _DETAIL_TABLES)
    print_result(result, output)
    tell_left_out(hidden, output, quiet=arguments.quiet)
    return 0


def _hotspot_options(arguments: argparse.Namespace) -> HotspotOptions:
    from wavescope.analyze.capture.hotspots import HotspotOptions, Mode, View  # noqa: PLC0415  slow to import
    from wavescope.analyze.capture.source_lines import FrameChoice  # noqa: PLC0415

    return HotspotOptions(
        topk=arguments.topk,
        mode=Mode(arguments.mode),
        view=View(arguments.view),
        frame=FrameChoice(arguments.frame),
        has_detail=arguments.detail,
        context=arguments.context,
    )


def _report(
    capture: CaptureLocation, options: HotspotOptions, arguments: argparse.Namespace
) -> Result:
    from wavescope.analyze.capture.decoded import DecodedTrace  # noqa: PLC0415
    from wavescope.analyze.capture.hotspots import hotspots  # noqa: PLC0415
    from wavescope.formats.captures import ReadOptions, load_thread_trace  # noqa: PLC0415

    with Progress(f"reading {capture.name}", quiet=arguments.quiet) as progress:
        trace = load_thread_trace(
            capture, ReadOptions(reads_waves=not arguments.no_waves, report=progress)
        )
    with Progress(f"analysing {capture.name}", quiet=arguments.quiet):
        decoded = DecodedTrace(trace)
        result = hotspots(decoded, options)
        if arguments.timeline:
            from wavescope.analyze.capture.timeline import timeline_facts  # noqa: PLC0415

            result.extend([timeline_facts(decoded)])
    if arguments.plan:
        plan = planned(decoded, arguments.counters, quiet=arguments.quiet)
        result.tables += plan.tables
        result.findings += plan.findings
    return result


def _overview(
    captures: Sequence[CaptureLocation],
    pattern: re.Pattern[str] | None,
    arguments: argparse.Namespace,
) -> tuple[list[CaptureLocation], Result]:
    """The captures whose kernel matches, and a table of them."""
    from wavescope.analyze.capture.capture_overview import capture_overview  # noqa: PLC0415
    from wavescope.formats.captures import ReadOptions, load_thread_trace  # noqa: PLC0415

    kept: list[CaptureLocation] = []
    traces: list[ThreadTrace] = []
    unreadable: list[str] = []
    with Progress("reading captures", quiet=arguments.quiet) as progress:
        for done, capture in enumerate(captures):
            progress(done, len(captures))
            try:
                trace = load_thread_trace(capture, ReadOptions(reads_waves=False))
            except UnreadableInputError as error:
                unreadable.append(str(error))
                continue
            if pattern is None or pattern.search(trace.kernel_name):
                kept.append(capture)
                traces.append(trace)
    if not kept:
        raise _nothing_kept(arguments, unreadable)
    return kept, capture_overview(traces, unreadable)


def _nothing_kept(arguments: argparse.Namespace, unreadable: Sequence[str]) -> UnreadableInputError:
    place = arguments.captures[0]
    if not arguments.kernel:
        return UnreadableInputError(place, f"none of its captures can be read: {unreadable[0]}")
    return UnreadableInputError(
        place,
        "it has no capture of a kernel that matches --kernel",
        hint="without --kernel the captures are listed with their kernels",
    )


COMMAND = Command(
    "hotspots",
    "Show where a kernel stalls, from a thread-trace (ATT) capture: by type of stall, by "
    "instruction and by source line, once where the stall shows and once charged to the memory "
    "operation that each wait waited for. docs/thread-trace.md defines every number.",
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
