"""`wavescope counters`: metric panels from hardware counters, and the flags that choose them."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import COUNTER_FOLDER, add_metrics_flag
from wavescope.cli.options import (
    add_force_flag,
    add_kernel_flag,
    add_output_path,
    add_quiet_flag,
    add_raw_text_flag,
    natural_number,
    row_count,
)
from wavescope.cli.outputs import text_style
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import data_stream, print_json, say
from wavescope.errors import UsageError
from wavescope.model.result import Result

if TYPE_CHECKING:
    from wavescope import CounterOptions, CounterReport

_FORMATS = ("text", "markdown", "csv", "json", "html")
_NORMAL_UNITS = ("per_kernel", "per_wave", "per_cycle", "per_second")
_AGGREGATIONS = ("ratio-of-sums", "mean-of-ratios")
_ROWS_FOR_PEOPLE = 64
_MOST_DIGITS = 15


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workload_flags(parser)
    group = parser.add_argument_group("values")
    group.add_argument(
        "-b",
        "--block",
        metavar="ID",
        nargs="+",
        default=[],
        help="panels, tables or metrics: 2, 2.1, 2.1.4, sol, l2_hit_rate (`wavescope metrics`)",
    )
    group.add_argument(
        "-n",
        "--normal-unit",
        choices=_NORMAL_UNITS,
        default="per_kernel",
        help="what amounts are divided by (default per_kernel)",
    )
    group.add_argument(
        "--aggregation",
        choices=_AGGREGATIONS,
        default="ratio-of-sums",
        help="how averages over dispatches are formed (default ratio-of-sums)",
    )
    group.add_argument(
        "-t", "--time-unit", choices=("s", "ms", "us", "ns"), help="unit of times in text"
    )
    group.add_argument(
        "--decimal", metavar="N", type=natural_number, default=2, help="digits in text (default 2)"
    )
    group.add_argument(
        "--list-stats", action="store_true", help="only list kernels and dispatches with their ids"
    )
    group.add_argument(
        "--list-torch-operators",
        action="store_true",
        help="only list PyTorch operators and their time (of `counters collect --torch-trace`)",
    )
    group.add_argument(
        "--torch-operator",
        metavar="GLOB",
        nargs="*",
        help="metrics of each of these operators: '*conv2d', 'torch.nn.functional.*'; none for all",
    )
    group.add_argument(
        "--list-available-metrics",
        action="store_true",
        help="only list the chip's metrics, and which of them the workload has counters for",
    )
    group.add_argument(
        "--max-stat-num",
        metavar="N",
        type=row_count,
        default=10,
        help="kernels and dispatches in text, 0 for all (default 10)",
    )
    group.add_argument(
        "--pc-sampling-sorting-type",
        choices=("count", "offset"),
        default="count",
        help="order of sampled instructions (default count)",
    )
    _add_output_arguments(parser)


def _add_output_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format", choices=_FORMATS, help="how to print (default text); csv has one row per value"
    )
    group.add_argument("--json", action="store_true", help="the same as --format json")
    add_raw_text_flag(group)
    group.add_argument(
        "--all",
        action="store_true",
        default=parser.prog.endswith(" analyze"),
        help="every panel in text and Markdown, as `analyze` shows it (default: what matters)",
    )
    group.add_argument(
        "--rows",
        metavar="N",
        type=row_count,
        help=f"rows of each table, 0 for all (default: {_ROWS_FOR_PEOPLE} for people, else all)",
    )
    group.add_argument(
        "--memory-chart", metavar="FILE", type=Path, help="write panel 3 as a drawing (SVG)"
    )
    add_output_path(
        parser,
        required=False,
        meaning="write everything to one file: a page (.html), else SQLite (docs/metrics.md)",
    )
    add_force_flag(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    wanted = _format(arguments)
    if arguments.decimal > _MOST_DIGITS:
        raise UsageError("--decimal is at most 15: no number here has more digits")
    with Progress("reading counters", quiet=arguments.quiet):
        report = _report(arguments)
    if arguments.memory_chart and report.analyses:
        _tell(report.write_memory_chart(arguments.memory_chart, force=arguments.force), arguments)
    if arguments.output and report.analyses:
        _tell(report.write(arguments.output, force=arguments.force), arguments)
    _print(report, wanted, arguments)
    return 0


def _report(arguments: argparse.Namespace) -> CounterReport:
    """What is asked for; of a mere list there is nothing to draw."""
    paths, options = workload_paths(arguments), analysis_options(arguments)
    facts = corrected_facts(arguments.specs_correction)
    own, decimals, time_unit = arguments.metrics, arguments.decimal, arguments.time_unit or ""
    if arguments.list_torch_operators or arguments.torch_operator is not None:
        if len(paths) > 1:
            raise UsageError("operators are shown of one workload at a time: give one -p")
        patterns = None if arguments.list_torch_operators else arguments.torch_operator
        result = wavescope.torch_operators(
            paths[0], patterns, options, facts=facts, own_metrics=own
        )
    elif arguments.list_stats:
        result = wavescope.counters_info(paths)
    elif arguments.list_available_metrics:
        result = wavescope.available_metrics(paths, facts=facts, own_metrics=own)
    else:
        return wavescope.counter_report(
            paths, options, facts=facts, own_metrics=own, decimals=decimals, time_unit=time_unit
        )
    return wavescope.CounterReport(result, decimals=decimals, time_unit=time_unit)


def _print(report: CounterReport, wanted: str, arguments: argparse.Namespace) -> None:
    people = _ROWS_FOR_PEOPLE if arguments.rows is None else arguments.rows
    whole = arguments.all or arguments.block or not report.analyses
    begun = report if whole else report.overview()
    for_people = replace(begun, result=_cut(begun.result, people, arguments.max_stat_num))
    if wanted == "json":
        print_json(_cut(report.result, arguments.rows or 0, 0))
    elif wanted == "csv":
        report.write_csv(data_stream(), raw_text=arguments.raw_text)
    elif wanted == "html":
        report.write_page(sys.stdout)
    elif wanted == "markdown":
        for_people.write_markdown(sys.stdout)
    else:
        for_people.write_text(sys.stdout, text_style())
        if not whole and not arguments.quiet:
            panels = ", ".join(report.panels_beyond(begun))
            say(f"more with -b PANEL, or all with --all: {panels}")


def _cut(result: Result, rows: int, stats: int) -> Result:
    """The result with the first rows of its tables, of kernels and dispatches with `stats`."""
    return result.with_only_tables(
        table.head(most) if most and len(table.rows) > most else table
        for table in result.tables
        for most in (stats if table.name.startswith("0.") and stats else rows,)
    )


def _format(arguments: argparse.Namespace) -> str:
    if arguments.json and arguments.format not in {None, "json"}:
        raise UsageError(f"--json and --format {arguments.format} cannot be used together")
    return "json" if arguments.json else arguments.format or "text"


def _tell(path: Path, arguments: argparse.Namespace) -> None:
    if not arguments.quiet:
        say(f"wrote {path}")


def add_workload_flags(parser: argparse.ArgumentParser) -> None:
    """Which workloads, dispatches and definitions are meant; `roofline` has them too."""
    parser.add_argument(
        "path",
        metavar="DIR",
        type=COUNTER_FOLDER,
        nargs="*",
        action="append",
        help="workload folder; several are compared, the first is the baseline",
    )
    parser.add_argument(
        "-p",
        "--path",
        metavar="DIR",
        type=COUNTER_FOLDER,
        nargs="+",
        action="append",
        help="the same as DIR",
    )
    group = parser.add_argument_group("filters")
    add_kernel_flag(group, "only kernels whose name contains a match")
    group.add_argument(
        "-k",
        dest="kernels",
        metavar="KERNEL",
        nargs="+",
        default=[],
        help="kernels by the ids that --list-stats shows, or by parts of their names",
    )
    group.add_argument(
        "-d",
        "--dispatch",
        metavar="N",
        nargs="+",
        default=[],
        help="dispatch ids: 5, 3:7 (both included) or '>10'",
    )
    group.add_argument(
        "--gpu-id", metavar="N", nargs="+", default=[], help="dispatches of these GPUs"
    )
    group.add_argument(
        "--specs-correction",
        metavar="NAME:VALUE,...",
        default="",
        help="facts of the chip that sysinfo.csv lacks or has wrong: max_sclk:2100,max_mclk:1300",
    )
    add_metrics_flag(group, "TOML file with your own metrics, shown as panel 100 (docs/metrics.md)")


def workload_paths(arguments: argparse.Namespace) -> list[str]:
    """The folders that are named, by -p or without."""
    paths = [path for group in arguments.path for path in group]
    if not paths:
        raise UsageError(
            "no counter folder was given", hint="wavescope counters workloads/vcopy/MI200"
        )
    return paths


def analysis_options(arguments: argparse.Namespace) -> CounterOptions:
    """What the flags say; those a command lacks keep their defaults."""
    return wavescope.CounterOptions(
        tuple(getattr(arguments, "block", ())),
        tuple(arguments.kernels),
        tuple(arguments.dispatch),
        tuple(arguments.gpu_id),
        wavescope.NormalUnit(getattr(arguments, "normal_unit", "per_kernel")),
        wavescope.Aggregation(getattr(arguments, "aggregation", "ratio-of-sums")),
        wavescope.SampleOrder(getattr(arguments, "pc_sampling_sorting_type", "count")),
        arguments.kernel,
    )


def corrected_facts(text: str) -> dict[str, float]:
    """The numbers of `max_sclk:2100,max_mclk:1300`."""
    found = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, colon, number = part.partition(":")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if not colon or not value > 0:
            raise UsageError(
                f"'{part}' is not a correction", hint="write max_sclk:2100,max_mclk:1300"
            )
        found[name.strip()] = value
    return found


COMMAND = Command(
    "analyze",
    "Show the metric panels of a workload folder of hardware counters, written by `wavescope "
    "counters collect` or ROCm Compute Profiler: speed of light, memory chart, roofline, every "
    "block of the chip, and findings. docs/metrics.md explains panels, formulas and units; "
    "several folders are compared with the first.",
    (
        Example("wavescope counters -p workloads/vcopy/MI200", "what matters, on two pages"),
        Example("wavescope counters -p workloads/vcopy/MI200 --all", "every panel"),
        Example("wavescope counters -p DIR -b sol 17.2 l2_hit_rate", "some panels and metrics"),
        Example("wavescope counters -p DIR --list-stats", "kernels and dispatches with their ids"),
        Example(
            "wavescope counters -p DIR -k 0 -d 1:3 -n per_wave", "a kernel's dispatches, per wave"
        ),
        Example("wavescope counters -p before -p after -b 2", "compare with a baseline"),
        Example("wavescope counters -p DIR -o report.html", "a page for the browser, no network"),
        Example("wavescope counters -p DIR -o metrics.db", "everything in one SQLite file"),
    ),
    _add_arguments,
    _run,
)
