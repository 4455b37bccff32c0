"""The part of `wavescope compare` for repeated runs: flags, verdict, exit code."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.cli.argument_numbers import natural_number, percentage, significance
from wavescope.cli.inputs import TRACE, opened_trace
from wavescope.cli.options import FOR_PEOPLE, OutputOptions
from wavescope.cli.outputs import print_result
from wavescope.cli.progress import Progress
from wavescope.errors import UsageError

if TYPE_CHECKING:
    from wavescope.analyze.compare.check_options import CheckOptions, Per
    from wavescope.analyze.compare.figures import FigureOptions
    from wavescope.analyze.compare.renames import Rename
    from wavescope.analyze.compare.run_values import RunOptions, RunValues
    from wavescope.model.result import Finding, Result
    from wavescope.model.selection import Selection

_EXIT_CODES = {"pass": 0, "improvement": 0, "regression": 1, "inconclusive": 2}


def add_check_flags(parser: argparse.ArgumentParser) -> None:
    """The runs of both versions, and how sure the verdict must be."""
    group = parser.add_argument_group(
        "repeated runs",
        "With --base and --new a verdict; exit code 0 pass or improvement, 1 regression, "
        "2 inconclusive (also of a wrong command line, which prints no verdict).",
    )
    group.add_argument(
        "--base", metavar="TRACE", type=TRACE, nargs="+", help="runs of the old version"
    )
    group.add_argument(
        "--new", metavar="TRACE", type=TRACE, nargs="+", help="runs of the new version"
    )
    group.add_argument(
        "--metric",
        choices=("gpu-time", "busy", "wall"),
        default="gpu-time",
        help="durations added up (default), time with any op running, or wall time; of one step "
        "where there are steps",
    )
    group.add_argument(
        "--per",
        choices=("auto", "step", "run"),
        default="auto",
        help="what a value stands for: a step where steps hold nearly all of the time, else a run "
        "(auto), or always one of them",
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
        type=percentage,
        default=1.0,
        help="smallest change that matters (default 1)",
    )
    group.add_argument(
        "--significance",
        metavar="P",
        type=significance,
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
        type=percentage,
        default=0.5,
        help="kernels with a smaller share of the time are not tested (default 0.5)",
    )
    group.add_argument(
        "--skip-steps", metavar="N", type=natural_number, default=0, help="first steps to leave out"
    )
    group.add_argument(
        "--seed", metavar="N", type=natural_number, default=0, help="of the resampling (default 0)"
    )


def figure_options(arguments: argparse.Namespace) -> FigureOptions:
    """How ops are named and grouped, as the flags say."""
    from wavescope.analyze.compare.figures import FigureOptions  # noqa: PLC0415
    from wavescope.formats.toml_rules import read_rules  # noqa: PLC0415
    from wavescope.names.kernel_meaning import CategoryRules  # noqa: PLC0415

    return FigureOptions(
        full_names=arguments.full_names,
        linked_only=arguments.linked,
        rules=CategoryRules.from_document(read_rules(arguments.rules)) if arguments.rules else None,
    )


def check_runs(arguments: argparse.Namespace, output: OutputOptions, selection: Selection) -> int:
    """Print the verdict on the runs of --base and --new; the exit code that says it."""
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
    repaired: list[Finding] = []
    base, new = (
        [
            _run_values(path, run_options, selection, repaired, quiet=arguments.quiet)
            for path in paths
        ]
        for paths in (arguments.base, arguments.new)
    )
    renamed: Sequence[Rename] = ()
    if not arguments.no_match and only_in_one_arm(base, new):
        renamed = _renamed(arguments, run_options, selection)
    with Progress(f"testing {len(base) + len(new)} runs", quiet=arguments.quiet):
        verdict, result = check_regression(base, new, check_options, renamed)
    result.findings += repaired
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
    from wavescope.analyze.compare.check_options import CheckOptions, Gate  # noqa: PLC0415
    from wavescope.analyze.compare.run_values import Metric, RunOptions  # noqa: PLC0415
    from wavescope.analyze.compare.statistics.step_noise import Statistic  # noqa: PLC0415
    from wavescope.analyze.compare.statistics.two_arms import TestOptions  # noqa: PLC0415

    test = TestOptions(arguments.significance, Statistic(arguments.statistic), arguments.seed)
    return (
        RunOptions(
            metric=Metric(arguments.metric),
            figures=figure_options(arguments),
            step=arguments.step,
            skip_steps=arguments.skip_steps,
        ),
        CheckOptions(
            threshold_percent=arguments.threshold,
            min_share_percent=arguments.min_share,
            gate=Gate(arguments.gate),
            per=_per(arguments),
            test=test,
        ),
    )


def _per(arguments: argparse.Namespace) -> Per:
    """Who says which markers are steps, or skips some, means steps."""
    from wavescope.analyze.compare.check_options import Per  # noqa: PLC0415

    means_steps = bool(arguments.step or arguments.skip_steps)
    return Per.STEP if arguments.per == "auto" and means_steps else Per(arguments.per)


def _run_values(
    path: str, options: RunOptions, selection: Selection, repaired: list[Finding], *, quiet: bool
) -> RunValues:
    """The values of one run; `repaired` is told what its reader had to skip or repair.

    The trace is closed again, so that many runs need little memory.
    """
    from wavescope.analyze.compare.run_values import run_values  # noqa: PLC0415
    from wavescope.analyze.findings.input_repaired import input_repaired  # noqa: PLC0415
    from wavescope.model.selection import select  # noqa: PLC0415

    with (
        opened_trace(path, quiet=quiet) as trace,
        Progress(f"reading {Path(path).name}", quiet=quiet),
    ):
        values = run_values(select(trace, selection), options)
        repaired += input_repaired(trace)
        return values
