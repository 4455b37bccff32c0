"""`wavescope compare`: what changed between traces, and whether repeated runs got slower."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.cli.command import Command, Example
from wavescope.cli.opened import NO_OPS_LEFT, opened_trace
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputFormat,
    OutputOptions,
    add_filter_flags,
    add_output_flags,
    add_quiet_flag,
    selection_from,
)
from wavescope.cli.output import print_result
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say
from wavescope.errors import UsageError

if TYPE_CHECKING:
    from wavescope.analyze.compare.comparison import CompareOptions, Part
    from wavescope.analyze.compare.figures import FigureOptions
    from wavescope.analyze.compare.regression_check import CheckOptions
    from wavescope.analyze.compare.renames import Rename
    from wavescope.analyze.compare.run_values import RunOptions, RunValues
    from wavescope.model.result import Result
    from wavescope.model.selection import Selection

PARTS = ("operator", "category", "kernel", "phase", "step")
_EXIT_CODES = {"pass": 0, "improvement": 0, "regression": 1, "inconclusive": 2}
_WATERFALL_ROWS = 12


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "traces", metavar="TRACE", nargs="*", help="the base, then the traces to compare with it"
    )
    group = parser.add_argument_group("what is compared")
    group.add_argument(
        "--by",
        metavar="LIST",
        type=_parts,
        help=f"parts to compare, of {', '.join(PARTS)} (default: all that the traces have; phases "
        "and steps of traces without markers only on request)",
    )
    group.add_argument("--full-names", action="store_true", help="tell kernels by whole names")
    group.add_argument("--rules", metavar="FILE", help="TOML file with categories of your own")
    group.add_argument(
        "--linked", action="store_true", help="only ops whose launch is in the trace"
    )
    group.add_argument(
        "--no-match", action="store_true", help="do not look for kernels that were renamed"
    )
    group.add_argument(
        "--step", metavar="REGEX", default="", help="markers that are steps (default: usual names)"
    )
    _add_check_flags(parser)
    add_filter_flags(parser)
    add_output_flags(parser)
    add_quiet_flag(parser)


def _add_check_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "repeated runs",
        "With --base and --new a verdict; exit code 0 pass or improvement, 1 regression, "
        "2 inconclusive (also of a wrong command line, which prints no verdict).",
    )
    group.add_argument("--base", metavar="TRACE", nargs="+", help="runs of the old version")
    group.add_argument("--new", metavar="TRACE", nargs="+", help="runs of the new version")
    group.add_argument(
        "--metric",
        choices=("gpu-time", "busy", "wall"),
        default="gpu-time",
        help="durations added up (default), time with any op running, or wall time; of one step "
        "where there are steps",
    )
    group.add_argument(
        "--statistic",
        choices=("mean", "median"),
        default="mean",
        help="of the steps of a run (default mean)",
    )
    group.add_argument(
        "--threshold",
        metavar="PERCENT",
        type=_percent,
        default=1.0,
        help="smallest change that matters (default 1)",
    )
    group.add_argument(
        "--significance",
        metavar="P",
        type=_probability,
        default=0.05,
        help="chance of a false alarm (default 0.05)",
    )
    group.add_argument(
        "--gate",
        choices=("total", "kernels"),
        default="total",
        help="what can fail the check: the whole (default), or any kernel too",
    )
    group.add_argument(
        "--min-share",
        metavar="PERCENT",
        type=_percent,
        default=0.5,
        help="kernels with a smaller share of the time are not tested (default 0.5)",
    )
    group.add_argument(
        "--skip-steps", metavar="N", type=_count, default=0, help="first steps to leave out"
    )
    group.add_argument(
        "--seed", metavar="N", type=_count, default=0, help="of the resampling (default 0)"
    )


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    selection = selection_from(arguments)
    if arguments.base or arguments.new:
        return _check(arguments, output, selection)
    if len(arguments.traces) < 2:
        raise UsageError(
            "at least two traces are compared",
            hint="wavescope compare old.db new.db, or --base old*.db --new new*.db for a verdict",
        )
    result = _compared(arguments, output, selection)
    hidden = _fit_for_people(result, arguments, output)
    print_result(result, output)
    if hidden and output.format is OutputFormat.TEXT and not arguments.quiet:
        say(f"more with --table NAME: {', '.join(hidden)}")
    return 0


def _compared(arguments: argparse.Namespace, output: OutputOptions, selection: Selection) -> Result:
    from wavescope.analyze.compare.comparison import compare  # noqa: PLC0415  slow to import
    from wavescope.model.selection import select  # noqa: PLC0415

    options = _compare_options(arguments, output)
    with ExitStack() as stack:
        traces = [
            stack.enter_context(opened_trace(path, quiet=arguments.quiet))
            for path in arguments.traces
        ]
        with Progress(f"comparing {len(traces)} traces", quiet=arguments.quiet):
            result = compare([select(trace, selection) for trace in traces], options)
    if not selection.is_everything:
        result.facts["selection"] = str(selection)
        if not all(result.table("traces").column("op_count")) and not arguments.quiet:
            say(NO_OPS_LEFT, label="note")
    return result


def _compare_options(arguments: argparse.Namespace, output: OutputOptions) -> CompareOptions:
    from wavescope.analyze.compare.comparison import CompareOptions  # noqa: PLC0415

    people = output.format in FOR_PEOPLE and not output.tables
    return CompareOptions(
        parts=arguments.by,
        figures=_figure_options(arguments),
        match_renamed=not arguments.no_match,
        waterfall_rows=(output.rows and _WATERFALL_ROWS) if people else 0,
        step=arguments.step,
    )


def _figure_options(arguments: argparse.Namespace) -> FigureOptions:
    from wavescope.analyze.compare.figures import FigureOptions  # noqa: PLC0415
    from wavescope.analyze.names.kernel_meaning import CategoryRules  # noqa: PLC0415

    return FigureOptions(
        full_names=arguments.full_names,
        linked_only=arguments.linked,
        rules=CategoryRules.from_toml(arguments.rules) if arguments.rules else None,
    )


def _fit_for_people(
    result: Result, arguments: argparse.Namespace, output: OutputOptions
) -> list[str]:
    """Leave out what another table says too; the names of the tables left out."""
    if output.format not in FOR_PEOPLE or output.tables or arguments.by:
        return []
    names = [table.name for table in result.tables]
    hidden: list[str] = [
        name for name in ("operators", "categories", "kernel_totals") if name in names
    ]
    if "waterfall_operators" in names:
        hidden.append("waterfall_categories")
    result.tables = [table for table in result.tables if table.name not in hidden]
    return hidden


def _check(arguments: argparse.Namespace, output: OutputOptions, selection: Selection) -> int:
    if not arguments.base or not arguments.new or arguments.traces:
        raise UsageError(
            "a verdict needs the runs of both versions",
            hint="wavescope compare --base old1.db old2.db --new new1.db new2.db",
        )
    from wavescope.analyze.compare.regression_check import (  # noqa: PLC0415  slow to import
        check_regression,
        only_in_one_arm,
    )

    run_options, check_options = _check_options(arguments)
    _require_distinct([*arguments.base, *arguments.new])
    base, new = (
        [_run_values(path, run_options, selection, quiet=arguments.quiet) for path in paths]
        for paths in (arguments.base, arguments.new)
    )
    renamed: Sequence[Rename] = ()
    if not arguments.no_match and only_in_one_arm(base, new):
        renamed = _renamed(arguments, run_options, selection)
    with Progress(f"testing {len(base) + len(new)} runs", quiet=arguments.quiet):
        verdict, result = check_regression(base, new, check_options, renamed)
    result.facts["metric"] = arguments.metric
    if not selection.is_everything:
        result.facts["selection"] = str(selection)
    if output.format in FOR_PEOPLE and not output.tables:
        _shorten(result, check_options)
    print_result(result, output)
    return _EXIT_CODES[verdict.value]


def _require_distinct(paths: Sequence[str]) -> None:
    """A trace given twice is one run, and would make the noise look smaller than it is."""
    seen: dict[str, str] = {}
    for path in paths:
        place = os.path.realpath(path)
        if place in seen:
            raise UsageError(
                f"{path} is given twice", hint="every run counts once: record another one"
            )
        seen[place] = path


def _renamed(
    arguments: argparse.Namespace, options: RunOptions, selection: Selection
) -> Sequence[Rename]:
    """What kernels of the first base run are called in the first new run."""
    from wavescope.analyze.compare.figures import TraceFigures  # noqa: PLC0415
    from wavescope.analyze.compare.renames import renames  # noqa: PLC0415
    from wavescope.model.selection import select  # noqa: PLC0415

    with (
        opened_trace(arguments.base[0], quiet=arguments.quiet) as base,
        opened_trace(arguments.new[0], quiet=arguments.quiet) as new,
        Progress("matching renamed kernels", quiet=arguments.quiet),
    ):
        return renames(
            TraceFigures(select(base, selection), options.figures),
            TraceFigures(select(new, selection), options.figures),
        )


def _shorten(result: Result, options: CheckOptions) -> None:
    """Facts for people, in words; programs get all of them as numbers."""
    facts = result.facts
    level = 100 * (1 - options.test.significance)
    interval = ""
    if isinstance(facts["low_percent"], float) and isinstance(facts["high_percent"], float):
        low, high = facts["low_percent"], facts["high_percent"]
        interval = f", {level:g} % interval {low:+.1f} % to {high:+.1f} %"
    shown = ("detectable_percent", "threshold_percent", "run_noise_percent", "steps", "metric")
    result.facts = {
        "verdict": facts["verdict"],
        "change": f"{facts['change_percent']:+.1f} %{interval}",
        "runs": f"{facts['base_run_count']} base, {facts['new_run_count']} new",
        **{key: facts[key] for key in (*shown, "selection") if facts.get(key) is not None},
    }
    result.tables = [table for table in result.tables if table.rows]


def _check_options(arguments: argparse.Namespace) -> tuple[RunOptions, CheckOptions]:
    from wavescope.analyze.compare.regression_check import CheckOptions, Gate  # noqa: PLC0415
    from wavescope.analyze.compare.run_values import Metric, RunOptions  # noqa: PLC0415
    from wavescope.analyze.statistics.step_noise import Statistic  # noqa: PLC0415
    from wavescope.analyze.statistics.two_arms import TestOptions  # noqa: PLC0415

    test = TestOptions(arguments.significance, Statistic(arguments.statistic), arguments.seed)
    return (
        RunOptions(
            metric=Metric(arguments.metric),
            figures=_figure_options(arguments),
            step=arguments.step,
            skip_steps=arguments.skip_steps,
        ),
        CheckOptions(
            threshold_percent=arguments.threshold,
            min_share_percent=arguments.min_share,
            gate=Gate(arguments.gate),
            test=test,
        ),
    )


def _run_values(path: str, options: RunOptions, selection: Selection, *, quiet: bool) -> RunValues:
    """The values of one run; its trace is closed again, so that many runs need little memory."""
    from wavescope.analyze.compare.run_values import run_values  # noqa: PLC0415
    from wavescope.model.selection import select  # noqa: PLC0415

    with (
        opened_trace(path, quiet=quiet) as trace,
        Progress(f"reading {Path(path).name}", quiet=quiet),
    ):
        return run_values(select(trace, selection), options)


def _parts(text: str) -> tuple[Part, ...]:
    from wavescope.analyze.compare.comparison import Part  # noqa: PLC0415

    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in PARTS:
            raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(PARTS)}")
    return tuple(Part(name) for name in PARTS if name in names)


def _percent(text: str) -> float:
    return _number_between(text, 0.0, 1000.0, "percentage such as 1 or 0.5")


def _probability(text: str) -> float:
    value = _number_between(text, 0.0, 0.5, "probability such as 0.05")
    if not value:
        raise argparse.ArgumentTypeError("no test is sure: write a probability such as 0.05")
    return value


def _number_between(text: str, low: float, high: float, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"'{text}' is not a {what}")
    return value


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 9:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 0 on")
    return int(text)


COMMAND = Command(
    "compare",
    "Compare traces: what changed by operator, category, kernel, phase and step, and which parts "
    "account for the difference; kernels that were renamed are found by what they do, also between "
    "MI300X and H100. With repeated runs of two versions a verdict for CI: pass, regression, "
    "improvement or inconclusive. docs/compare.md defines everything.",
    (
        Example("wavescope compare old.db new.db", "what changed, largest first"),
        Example("wavescope compare mi300x.json.gz h100.json.gz", "two vendors, same model"),
        Example("wavescope compare old.db new.db --by phase,step", "phases and steps only"),
        Example(
            "wavescope compare a.db b.db c.db --format csv --table kernels", "several versions"
        ),
        Example(
            "wavescope compare --base old1.db old2.db old3.db --new new1.db new2.db new3.db",
            "is the new version slower?",
        ),
    ),
    _add_arguments,
    _run,
)
