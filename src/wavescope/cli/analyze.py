"""`wavescope analyze`: metric panels from hardware counters."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.cli.command import Command, Example
from wavescope.cli.options import add_force_flag, add_output_path, add_quiet_flag, row_count
from wavescope.cli.output import stdout_bytes, text_style
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import data_stream, say
from wavescope.errors import UsageError

if TYPE_CHECKING:
    from wavescope.analyze.counters.catalogue import Catalogue
    from wavescope.analyze.counters.report import Analysis, AnalysisOptions
    from wavescope.model.counters import CounterTable
    from wavescope.model.result import Result
    from wavescope.render.metric_tables import NumberStyle

_FORMATS = ("text", "markdown", "csv", "json", "html")
_ROWS_FOR_PEOPLE = 64
_NORMAL_UNITS = ("per_kernel", "per_wave", "per_cycle", "per_second")


def add_workload_flags(parser: argparse.ArgumentParser) -> None:
    """Which workloads, dispatches and definitions are meant; `roofline` has them too."""
    parser.add_argument(
        "-p",
        "--path",
        metavar="DIR",
        nargs="+",
        action="append",
        required=True,
        help="workload folder; several are compared, the first is the baseline",
    )
    group = parser.add_argument_group("filters")
    group.add_argument(
        "-k",
        "--kernel",
        metavar="KERNEL",
        nargs="+",
        default=[],
        help="kernels: ids of --list-stats, parts of names, or patterns with *",
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
        help="facts of the chip that sysinfo.csv has wrong or not: max_sclk:2100,max_mclk:1300",
    )
    group.add_argument(
        "--metrics",
        metavar="FILE",
        action="append",
        default=[],
        help="TOML file of metrics of your own, shown as panel 100 (docs/metrics.md)",
    )


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
        help=f"rows of each table, 0 for all (default: {_ROWS_FOR_PEOPLE} for people, else all)",
    )
    group.add_argument(
        "--memory-chart", metavar="FILE", type=Path, help="write panel 3 as a drawing (SVG)"
    )
    add_output_path(
        parser, required=False, meaning="write everything to one SQLite file (docs/metrics.md)"
    )
    add_force_flag(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    wanted = _format(arguments)
    options = analysis_options(arguments)
    with Progress("reading counters", quiet=arguments.quiet):
        workloads = read_workloads(arguments)
    if arguments.list_torch_operators or arguments.torch_operator is not None:
        _print(_operators(arguments, workloads, options), wanted, arguments, None)
        return 0
    if arguments.list_stats:
        from wavescope.analyze.counters.report import stats_result  # noqa: PLC0415

        result = joined_results([stats_result(workload) for workload in workloads])
        _print(result, wanted, arguments, None)
        return 0
    catalogues = [catalogue_of(workload, arguments.metrics) for workload in workloads]
    result, analyses = _analysed(workloads, catalogues, options)
    _write_files(arguments, analyses, options)
    _print(result, wanted, arguments, analyses[0] if len(analyses) == 1 else None)
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
    from wavescope.load.counters.torch_operators import dispatch_operators  # noqa: PLC0415

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


def analysis_options(arguments: argparse.Namespace) -> AnalysisOptions:
    """What the flags say; those a command lacks keep their defaults."""
    from wavescope.analyze.counters.aggregation import Aggregation, NormalUnit  # noqa: PLC0415
    from wavescope.analyze.counters.pc_sampling import SampleOrder  # noqa: PLC0415
    from wavescope.analyze.counters.report import AnalysisOptions  # noqa: PLC0415

    return AnalysisOptions(
        tuple(getattr(arguments, "block", ())),
        tuple(arguments.kernel),
        tuple(arguments.dispatch),
        tuple(arguments.gpu_id),
        NormalUnit(getattr(arguments, "normal_unit", "per_kernel")),
        Aggregation(getattr(arguments, "aggregation", "ratio-of-sums")),
        SampleOrder(getattr(arguments, "pc_sampling_sorting_type", "count")),
    )


def read_workloads(arguments: argparse.Namespace) -> list[CounterTable]:
    """The workloads of -p with the corrections applied, each folder once."""
    from wavescope.load.counters.workload import read_workload  # noqa: PLC0415  slow to import

    paths = [Path(path) for group in arguments.path for path in group]
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise UsageError(f"{path} is given twice")
        seen.add(path.resolve())
    corrections = _corrections(arguments.specs_correction)
    workloads = []
    for path in paths:
        workload = read_workload(path)
        for name, value in corrections.items():
            workload.facts[name] = value
            workload.notes = [note for note in workload.notes if f"has no {name}:" not in note]
        workloads.append(workload)
    return workloads


def catalogue_of(workload: CounterTable, files: list[str]) -> Catalogue:
    """The catalogue of the workload's chip with the user's own metrics."""
    from wavescope.analyze.counters.catalogue import CHIPS, catalogue_for  # noqa: PLC0415
    from wavescope.analyze.counters.metric_file import add_metric_file  # noqa: PLC0415
    from wavescope.errors import UnreadableInputError  # noqa: PLC0415

    if workload.chip not in CHIPS:
        raise UnreadableInputError(
            workload.path,
            f"there are no metrics for its chip '{workload.chip}'",
            hint=f"known chips: {', '.join(CHIPS)}",
        )
    catalogue = catalogue_for(workload.chip)
    for file in files:
        add_metric_file(catalogue, Path(file))
    return catalogue


def joined_results(results: list[Result]) -> Result:
    """One result of several runs; tables of later ones are called `run_2.NAME` and so on."""
    first, *others = results
    for run, other in enumerate(others, 2):
        first.facts[f"run_{run}"] = other.facts.get("path")
        for table in other.tables:
            table.name, table.title = f"run_{run}.{table.name}", f"run {run}: {table.title}"
        first.tables += other.tables
        first.findings += other.findings
    return first


def _corrections(text: str) -> dict[str, float]:
    found = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, colon, number = part.partition(":")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if not colon or not value > 0:
            raise UsageError(f"'{part}' is no correction", hint="write max_sclk:2100,max_mclk:1300")
        found[name.strip()] = value
    if found:
        _require_facts(found)
    return found


def _require_facts(found: dict[str, float]) -> None:
    import difflib  # noqa: PLC0415  only for mistakes

    from wavescope.analyze.counters.catalogue import BASE_CHIP, catalogue_for  # noqa: PLC0415

    known = catalogue_for(BASE_CHIP).facts
    for name in found:
        if name not in known:
            near = difflib.get_close_matches(name, known, 2)
            raise UsageError(
                f"there is no fact '{name}'",
                hint=f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}",
            )


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


def _numbers(arguments: argparse.Namespace) -> NumberStyle:
    from wavescope.render.metric_tables import NumberStyle  # noqa: PLC0415  slow to import

    if arguments.decimal > 15:
        raise UsageError("--decimal is at most 15: no number here has more digits")
    return NumberStyle(arguments.decimal, arguments.time_unit or "")


def _print(
    result: Result, wanted: str, arguments: argparse.Namespace, analysis: Analysis | None
) -> None:
    if wanted == "json":
        from wavescope.render.json_text import write_json  # noqa: PLC0415  only what is asked for

        _cut(result, arguments.rows or 0, 0)
        write_json(result, stdout_bytes())
    elif wanted == "csv":
        from wavescope.render.metric_csv import write_metric_csv  # noqa: PLC0415

        write_metric_csv(result, data_stream())
    elif wanted == "html":
        from wavescope.render.metric_html import write_metric_html  # noqa: PLC0415

        write_metric_html(result, sys.stdout, _numbers(arguments), _pictures(analysis))
    else:
        rows = _ROWS_FOR_PEOPLE if arguments.rows is None else arguments.rows
        _cut(result, rows, arguments.max_stat_num)
        _print_for_people(result, wanted, arguments, analysis)


def _print_for_people(
    result: Result, wanted: str, arguments: argparse.Namespace, analysis: Analysis | None
) -> None:
    from wavescope.render.metric_tables import (  # noqa: PLC0415
        write_metric_markdown,
        write_metric_text,
    )

    if wanted == "markdown":
        write_metric_markdown(result, sys.stdout, _numbers(arguments))
        return
    style = text_style()
    drawings = {}
    if analysis is not None and any(table.name == "3.1" for table in result.tables):
        from wavescope.render.memory_chart_text import memory_chart_lines  # noqa: PLC0415

        drawings["3.1"] = memory_chart_lines(_chart(analysis), style.width)
    write_metric_text(result, sys.stdout, style, _numbers(arguments), drawings)


def _cut(result: Result, rows: int, stats: int) -> None:
    result.tables = [
        table.head(most) if most and len(table.rows) > most else table
        for table in result.tables
        for most in (stats if table.name.startswith("0.") and stats else rows,)
    ]


def _chart(analysis: Analysis) -> dict[str, str]:
    from wavescope.analyze.counters.memory_chart import chart_values  # noqa: PLC0415

    return chart_values(analysis.values)


def _pictures(analysis: Analysis | None) -> dict[str, str]:
    if analysis is None:
        return {}
    from wavescope.render.memory_chart_svg import memory_chart_svg  # noqa: PLC0415

    return {"3.1": memory_chart_svg(_chart(analysis))}


def _write_files(
    arguments: argparse.Namespace, analyses: list[Analysis], options: AnalysisOptions
) -> None:
    from wavescope.store.output import replaced  # noqa: PLC0415  slow to import

    inputs = [Path(analysis.workload.path) for analysis in analyses]
    if arguments.memory_chart:
        from wavescope.render.memory_chart_svg import memory_chart_svg  # noqa: PLC0415

        if len(analyses) > 1:
            raise UsageError("--memory-chart draws one workload", hint="give one -p")
        with replaced(arguments.memory_chart, inputs, force=arguments.force) as temporary:
            temporary.write_text(memory_chart_svg(_chart(analyses[0])), encoding="utf-8")
        _tell(arguments, arguments.memory_chart)
    if arguments.output:
        from wavescope.export.metric_database import write_metric_database  # noqa: PLC0415

        with replaced(arguments.output, inputs, force=arguments.force) as temporary:
            write_metric_database(temporary, analyses, options)
        _tell(arguments, arguments.output)


def _tell(arguments: argparse.Namespace, path: Path) -> None:
    if not arguments.quiet:
        say(f"wrote {path}")


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
        Example("wavescope analyze -p DIR -o metrics.db", "everything in one SQLite file"),
    ),
    _add_arguments,
    _run,
)
