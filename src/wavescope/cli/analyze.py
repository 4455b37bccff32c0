"""`wavescope analyze`: metric panels from hardware counters."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.cli.command import Command, Example
from wavescope.cli.counter_input import (
    add_workload_flags,
    analysis_options,
    catalogue_of,
    read_workloads,
)
from wavescope.cli.counter_output import ROWS_FOR_PEOPLE, print_analysis, write_files
from wavescope.cli.options import add_force_flag, add_output_path, add_quiet_flag, row_count
from wavescope.cli.progress import Progress
from wavescope.errors import UsageError

if TYPE_CHECKING:
    from wavescope.analyze.counters.catalogue import Catalogue
    from wavescope.analyze.counters.report import Analysis, AnalysisOptions
    from wavescope.model.counters import CounterTable
    from wavescope.model.result import Result

_FORMATS = ("text", "markdown", "csv", "json", "html")
_NORMAL_UNITS = ("per_kernel", "per_wave", "per_cycle", "per_second")


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
        choices=("ratio-of-sums", "mean-of-ratios"),
        default="ratio-of-sums",
        help="how averages over dispatches are formed (default ratio-of-sums)",
    )
    group.add_argument(
        "-t", "--time-unit", choices=("s", "ms", "us", "ns"), help="unit of times in text"
    )
    group.add_argument(
        "--decimal", metavar="N", type=row_count, default=2, help="digits in text (default 2)"
    )
    group.add_argument(
        "--list-stats", action="store_true", help="only list kernels and dispatches with their ids"
    )
    group.add_argument(
        "--list-torch-operators",
        action="store_true",
        help="only list PyTorch operators and their time (`wavescope profile --torch-trace`)",
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
    group.add_argument(
        "--rows",
        metavar="N",
        type=row_count,
        help=f"rows of each table, 0 for all (default: {ROWS_FOR_PEOPLE} for people, else all)",
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
    options = analysis_options(arguments)
    with Progress("reading counters", quiet=arguments.quiet):
        workloads = read_workloads(arguments)
    if arguments.list_torch_operators or arguments.torch_operator is not None:
        print_analysis(_operators(arguments, workloads, options), wanted, arguments)
        return 0
    if arguments.list_stats:
        from wavescope.analyze.counters.joined_results import joined_results  # noqa: PLC0415
        from wavescope.analyze.counters.report import stats_result  # noqa: PLC0415

        result = joined_results([stats_result(workload) for workload in workloads])
        print_analysis(result, wanted, arguments)
        return 0
    catalogues = [catalogue_of(workload, arguments.metrics) for workload in workloads]
    if arguments.list_available_metrics:
        from wavescope.analyze.counters.joined_results import joined_results  # noqa: PLC0415
        from wavescope.analyze.counters.metric_list import available_metrics  # noqa: PLC0415

        lists = [available_metrics(*pair) for pair in zip(catalogues, workloads, strict=True)]
        print_analysis(joined_results(lists), wanted, arguments)
        return 0
    result, analyses = _analysed(workloads, catalogues, options)
    write_files(result, arguments, analyses, options)
    print_analysis(result, wanted, arguments, analyses)
    return 0


def _operators(
    arguments: argparse.Namespace, workloads: list[CounterTable], options: AnalysisOptions
) -> Result:
    """Operators with their time, and the metrics of the chosen ones, the longest first."""
    from wavescope.analyze.counters.report import analysis_result, analyzed  # noqa: PLC0415
    from wavescope.analyze.counters.torch_operators import (  # noqa: PLC0415
        chosen_operators,
        of_operators,
        operators_result,
    )
    from wavescope.formats.counters.torch_operators import dispatch_operators  # noqa: PLC0415

    if len(workloads) > 1:
        raise UsageError("operators are shown of one workload at a time: give one -p")
    (workload,) = workloads
    operator_of = dispatch_operators(Path(workload.path))
    if not operator_of:
        raise UsageError(
            f"{workload.path} has no operators",
            hint="collect them: wavescope profile --torch-trace -n NAME -- python3 train.py",
        )
    result = operators_result(workload, operator_of)
    if arguments.list_torch_operators:
        return result
    chosen = set(chosen_operators(arguments.torch_operator, operator_of.values()))
    catalogue = catalogue_of(workload, arguments.metrics)
    for name in [row[0] for row in result.tables[0].rows if row[0] in chosen]:
        part = of_operators(workload, operator_of, [str(name)])
        metrics = analysis_result(analyzed(part, catalogue, options), options)
        for table in metrics.tables:
            table.name, table.title = f"{name}: {table.name}", f"{name}: {table.title}"
        result.tables += metrics.tables
    return result


def _analysed(
    workloads: list[CounterTable], catalogues: list[Catalogue], options: AnalysisOptions
) -> tuple[Result, list[Analysis]]:
    from wavescope.analyze.counters.report import analysis_result, analyzed  # noqa: PLC0415

    analyses = [
        analyzed(workload, catalogue, options)
        for workload, catalogue in zip(workloads, catalogues, strict=True)
    ]
    if len(analyses) == 1:
        return analysis_result(analyses[0], options), analyses
    from wavescope.analyze.counters.comparison import comparison_result  # noqa: PLC0415

    return comparison_result(analyses, options), analyses


def _format(arguments: argparse.Namespace) -> str:
    if arguments.json and arguments.format not in {None, "json"}:
        raise UsageError(f"--json and --format {arguments.format} exclude each other")
    return "json" if arguments.json else arguments.format or "text"


COMMAND = Command(
    "analyze",
    "Show the metric panels of a workload folder of hardware counters, written by `wavescope "
    "profile` or ROCm Compute Profiler: speed of light, memory chart, roofline, every block of the "
    "chip, and findings. docs/metrics.md explains panels, formulas and units; several folders are "
    "compared with the first.",
    (
        Example("wavescope analyze -p workloads/vcopy/MI200", "the full report"),
        Example("wavescope analyze -p DIR -b sol 17.2 l2_hit_rate", "some panels and metrics"),
        Example("wavescope analyze -p DIR --list-stats", "kernels and dispatches with their ids"),
        Example(
            "wavescope analyze -p DIR -k 0 -d 1:3 -n per_wave", "a kernel's dispatches, per wave"
        ),
        Example("wavescope analyze -p before -p after -b 2", "compare with a baseline"),
        Example("wavescope analyze -p DIR -o report.html", "a page for the browser, no network"),
        Example("wavescope analyze -p DIR -o metrics.db", "everything in one SQLite file"),
    ),
    _add_arguments,
    _run,
)
