"""`wavescope roofline`: how near kernels come to what the chip can do."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.cli.command import Command, Example
from wavescope.cli.counter_input import (
    add_workload_flags,
    analysis_options,
    catalogue_of,
    read_workloads,
)
from wavescope.cli.options import (
    OutputFormat,
    OutputOptions,
    add_force_flag,
    add_format_flags,
    add_output_path,
    add_quiet_flag,
    row_count,
)
from wavescope.cli.outputs import print_result, text_style
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say
from wavescope.errors import UsageError

if TYPE_CHECKING:
    from wavescope.analyze.counters.metric_values import MetricValues
    from wavescope.analyze.counters.roofline import Roofline
    from wavescope.model.result import Result

_LEVELS = ("HBM", "L2", "vL1D", "LDS")
_TYPES = ("FP4", "FP6", "FP8", "FP16", "BF16", "FP32", "FP64", "I8", "I32", "I64")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workload_flags(parser)
    group = parser.add_argument_group("plot")
    group.add_argument(
        "-m",
        "--mem-level",
        choices=_LEVELS,
        nargs="+",
        default=list(_LEVELS),
        help="memory levels (default all)",
    )
    group.add_argument(
        "-R",
        "--data-type",
        "--roofline-data-type",
        choices=_TYPES,
        nargs="+",
        default=[],
        help="data types whose peaks are drawn (default all that the chip has)",
    )
    group.add_argument(
        "--sort",
        choices=("kernels", "dispatches"),
        default="kernels",
        help="one point for each kernel or for each dispatch (default kernels)",
    )
    group.add_argument(
        "--top", metavar="N", type=row_count, default=10, help="points with most time (default 10)"
    )
    add_format_flags(parser)
    add_output_path(
        parser,
        required=False,
        meaning="write the plot: .html (interactive), .svg, .png or .json (Vega-Lite)",
    )
    add_force_flag(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.analyze.counters.roofline import PointKind  # noqa: PLC0415  slow to import
    from wavescope.analyze.counters.roofline_tables import roofline_result  # noqa: PLC0415
    from wavescope.render.roofline_files import SUFFIXES  # noqa: PLC0415

    if arguments.output and arguments.output.suffix not in SUFFIXES:
        raise UsageError(
            f"{arguments.output} has no suffix of a plot", hint=f"use {', '.join(SUFFIXES)}"
        )
    output = OutputOptions.from_arguments(arguments)
    with Progress("reading counters", quiet=arguments.quiet):
        runs = _rooflines(arguments)
    kind = PointKind(arguments.sort)
    results = [roofline_result(values, plotted, kind, arguments.top) for _, values, plotted in runs]
    if arguments.output:
        _write(arguments, [(name, plotted) for name, _, plotted in runs], results)
    if output.format is OutputFormat.TEXT:
        for result, (_, _, plotted) in zip(results, runs, strict=True):
            _print_text(result, plotted, arguments)
    else:
        from wavescope.analyze.counters.joined_results import joined_results  # noqa: PLC0415

        print_result(joined_results(results), OutputOptions(output.format, 0, output.tables))
    return 0


def _rooflines(arguments: argparse.Namespace) -> list[tuple[str, MetricValues, Roofline]]:
    from wavescope.analyze.counters.report import analyzed  # noqa: PLC0415  slow to import
    from wavescope.analyze.counters.roofline import (  # noqa: PLC0415
        MemoryLevel,
        PointKind,
        roofline,
        supported_types,
    )

    arguments.block = ("0",)
    options = analysis_options(arguments)
    levels = [MemoryLevel(name) for name in arguments.mem_level]
    runs = []
    for workload in read_workloads(arguments):
        unknown = [
            name for name in arguments.data_type if name not in supported_types(workload.chip)
        ]
        if unknown:
            raise UsageError(
                f"{workload.chip} has no peak for {', '.join(unknown)}",
                hint=f"it has: {', '.join(supported_types(workload.chip))}",
            )
        values = analyzed(workload, catalogue_of(workload, arguments.metrics), options).values
        plotted = roofline(
            values, levels, arguments.data_type, PointKind(arguments.sort), arguments.top
        )
        runs.append((workload.path, values, plotted))
    return runs


def _print_text(result: Result, plotted: Roofline, arguments: argparse.Namespace) -> None:
    from wavescope.analyze.counters.roofline import MemoryLevel  # noqa: PLC0415
    from wavescope.render.metric_tables import NumberStyle, write_metric_text  # noqa: PLC0415
    from wavescope.render.roofline_text import roofline_lines  # noqa: PLC0415

    style = text_style()
    drawn = roofline_lines(plotted, style.width, MemoryLevel(arguments.mem_level[0]))
    write_metric_text(result, sys.stdout, style, NumberStyle(), {"4.1": [*drawn, ""]})


def _write(
    arguments: argparse.Namespace, runs: list[tuple[str, Roofline]], results: list[Result]
) -> None:
    from wavescope.formats.output import replaced  # noqa: PLC0415
    from wavescope.render.roofline_files import write_roofline  # noqa: PLC0415

    target: Path = arguments.output
    inputs = [Path(name) for name, _ in runs]
    with replaced(target, inputs, force=arguments.force) as temporary:
        write_roofline(temporary, runs, target.suffix, results)
    if not arguments.quiet:
        say(f"wrote {target}")


COMMAND = Command(
    "roofline",
    "Place kernels under the roofs of the chip: operations for each byte at every memory level "
    "against performance, with the measured peaks of roofline.csv or peaks computed from the "
    "clocks. Prints a plot and tables 4.1 and 4.2; -o writes an interactive page or a picture. "
    "docs/roofline.md gives the formulas.",
    (
        Example("wavescope roofline -p workloads/gemm/MI300X", "in the terminal"),
        Example("wavescope roofline -p DIR -o roofline.html", "an interactive page, no network"),
        Example("wavescope roofline -p before -p after -o both.html", "two runs in one plot"),
        Example(
            "wavescope roofline -p DIR --mem-level HBM --data-type FP16 --sort dispatches -o r.svg",
            "dispatches under the roofs of one data type",
        ),
    ),
    _add_arguments,
    _run,
)
