"""`wavescope report-att`: a thread-trace capture as one page to read, send and print."""

from __future__ import annotations

import argparse
from pathlib import Path

from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_capture_argument, chosen_capture
from wavescope.cli.options import (
    add_force_flag,
    add_json_flag,
    add_output_path,
    add_quiet_flag,
)
from wavescope.cli.outputs import tell_written
from wavescope.cli.plan import add_counters_flag, kernel_counters
from wavescope.cli.progress import Progress


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_capture_argument(parser, "folder of a capture, its parent, or an archive")
    add_output_path(parser, required=False, meaning="page to write (default capture.html)")
    parser.add_argument("--title", metavar="TEXT", help="title of the page (default: the kernel)")
    add_counters_flag(parser)
    add_force_flag(parser)
    add_quiet_flag(parser)
    add_json_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.analyze.capture.decoded import DecodedTrace  # noqa: PLC0415
    from wavescope.analyze.capture.page.capture_report import capture_report  # noqa: PLC0415
    from wavescope.formats.output import replaced, require_free  # noqa: PLC0415
    from wavescope.names.kernel_names import short_name  # noqa: PLC0415  slow to import
    from wavescope.render.html.capture_page import capture_page  # noqa: PLC0415
    from wavescope.render.html.page import write_page  # noqa: PLC0415

    target: Path = arguments.output or Path("capture.html")
    inputs = [Path(arguments.capture)]
    require_free(target, inputs, force=arguments.force)
    trace = chosen_capture(arguments.capture, reads_waves=True, quiet=arguments.quiet)
    decoded = DecodedTrace(trace)
    counters = kernel_counters(decoded, arguments.counters, quiet=arguments.quiet)
    with Progress(f"analysing {trace.capture.name}", quiet=arguments.quiet):
        report = capture_report(decoded, counters)
    title = arguments.title or short_name(trace.kernel_name) or trace.capture.name
    with (
        replaced(target, inputs, force=arguments.force) as temporary,
        temporary.open("w", encoding="utf-8") as stream,
    ):
        write_page(capture_page(report, title), stream)
    tell_written(target, "html", arguments)
    return 0


COMMAND = Command(
    "report-att",
    "Write a thread-trace capture as one self-contained page: the plan, source beside "
    "instructions with heat (choose a line to see its instructions, a wait to see what it waits "
    "for), waves over time, occupancy, and the tables behind them.",
    (
        Example("wavescope report-att ui_output_agent_1_dispatch_3 -o pa.html", "a page"),
        Example(
            "wavescope report-att DIR --counters out_counter_collection.csv",
            "with what caches say in the plan",
        ),
    ),
    _add_arguments,
    _run,
)
