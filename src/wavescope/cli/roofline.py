"""`wavescope roofline`: kernels under the roofs of the chip."""

from __future__ import annotations

import argparse
import sys

import wavescope
from wavescope.cli.analyze import (
    add_workload_flags,
    analysis_options,
    corrected_facts,
    workload_paths,
)
from wavescope.cli.command import Command, Example
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

_LEVELS = ("HBM", "L2", "vL1D", "LDS")
_DATA_TYPES = ("FP4", "FP6", "FP8", "FP16", "BF16", "FP32", "FP64", "I8", "I32", "I64")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workload_flags(parser)
    group = parser.add_argument_group("plot")
    group.add_argument(
        "-m",
        "--mem-level",
        metavar="LEVEL",
        choices=_LEVELS,
        nargs="+",
        default=list(_LEVELS),
        help=f"memory levels, of {', '.join(_LEVELS)} (default all)",
    )
    group.add_argument(
        "-R",
        "--data-type",
        "--roofline-data-type",
        metavar="TYPE",
        choices=_DATA_TYPES,
        nargs="+",
        default=[],
        help=f"data types whose peaks are drawn, of {', '.join(_DATA_TYPES)} (default all that the "
        "chip has)",
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
    output = OutputOptions.from_arguments(arguments)
    levels = tuple(map(wavescope.MemoryLevel, arguments.mem_level))
    plot = wavescope.RooflineOptions(
        levels, tuple(arguments.data_type), wavescope.PointKind(arguments.sort), arguments.top
    )
    with Progress("reading counters", quiet=arguments.quiet):
        report = wavescope.roofline_report(
            workload_paths(arguments),
            arguments.output,
            analysis_options(arguments),
            plot=plot,
            facts=corrected_facts(arguments.specs_correction),
            own_metrics=arguments.metrics,
            force=arguments.force,
        )
    if arguments.output and not arguments.quiet:
        say(f"wrote {arguments.output}")
    if output.format is OutputFormat.TEXT:
        report.write_text(sys.stdout, text_style(), levels[0])
    else:
        print_result(report.result, OutputOptions(output.format, 0, output.tables))
    return 0


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
