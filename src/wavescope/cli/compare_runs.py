"""The part of `wavescope compare` for repeated runs: flags, verdict, exit code."""

from __future__ import annotations

import argparse
from dataclasses import replace

import wavescope
from wavescope.cli.argument_numbers import percentage, significance
from wavescope.cli.inputs import TRACE, category_rules
from wavescope.cli.options import FOR_PEOPLE, OutputOptions, natural_number
from wavescope.cli.outputs import print_result
from wavescope.cli.progress import Progress
from wavescope.errors import EXIT_CHECK_FAILED, EXIT_INCONCLUSIVE, EXIT_OK, UsageError
from wavescope.model.result import Result

_EXIT_CODES = {
    "pass": EXIT_OK,
    "improvement": EXIT_OK,
    "regression": EXIT_CHECK_FAILED,
    "inconclusive": EXIT_INCONCLUSIVE,
}


def add_check_flags(parser: argparse.ArgumentParser) -> None:
    """The runs of both versions, and how sure the verdict must be."""
    group = parser.add_argument_group(
        "repeated runs",
        "--base and --new give a verdict. Exit code 0: pass or improvement, 1: regression, "
        "5: inconclusive.",
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
        help="what is compared: the sum of op durations (gpu-time, the default), the time with any "
        "op running (busy), or wall time; per step where there are steps",
    )
    group.add_argument(
        "--per",
        choices=("auto", "step", "run"),
        default="auto",
        help="compare steps, or whole runs; auto (the default) takes steps where they hold nearly "
        "all of the time",
    )
    group.add_argument(
        "--statistic",
        choices=("auto", "mean", "median"),
        default="auto",
        help="value of a run with several steps; auto (the default) takes the mean, or the median "
        "where single steps are far slower than the others",
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
        help="what can fail the check: the total (default), or also any single kernel",
    )
    group.add_argument(
        "--min-share",
        metavar="PERCENT",
        type=percentage,
        default=0.5,
        help="kernels with a smaller share of the time are not tested (default 0.5)",
    )
    group.add_argument(
        "--skip-steps",
        metavar="N",
        type=natural_number,
        help="leave out the first N steps of each run (default: the steps of a warm-up, if found)",
    )
    group.add_argument(
        "--order",
        metavar="ORDER",
        default="auto",
        help="how the runs were made: base-first, interleaved (base, new, base, new, ...), or a "
        "letter for each run, such as bnnb; auto (the default) takes the times of recording from "
        "the traces, and base-first where they have none",
    )
    group.add_argument(
        "--drift",
        metavar="PERCENT",
        type=percentage,
        default=0.2,
        help="how much faster or slower the machine may become from run to run (default 0.2)",
    )
    group.add_argument(
        "--seed",
        metavar="N",
        type=natural_number,
        default=0,
        help="seed of the resampling (default 0)",
    )


def figure_options(arguments: argparse.Namespace) -> wavescope.FigureOptions:
    """How ops are named and grouped, as the flags say."""
    return wavescope.FigureOptions(
        full_names=arguments.full_names,
        linked_only=arguments.linked,
        rules=category_rules(arguments.rules),
    )


def print_verdict(
    arguments: argparse.Namespace, output: OutputOptions, selection: wavescope.Selection
) -> int:
    """Print the verdict on the runs of --base and --new; the exit code that says it."""
    if arguments.traces:
        raise UsageError(
            "--base and --new name all traces: no others can be given",
            hint="wavescope compare --base old1.db old2.db --new new1.db new2.db",
        )
    if arguments.capture:
        raise UsageError(
            "--capture cannot be used with --base and --new: a verdict names no operators",
            hint="wavescope compare OLD NEW --capture FILE shows what changed by operator",
        )
    options = _check_options(arguments)
    base, new = arguments.base or (), arguments.new or ()
    with Progress(f"comparing {len(base) + len(new)} runs", quiet=arguments.quiet):
        result = wavescope.check_runs(base, new, options, selection=selection)
    verdict = str(result.facts["verdict"])
    if output.format in FOR_PEOPLE and not output.tables:
        result = _for_people(result, options)
    print_result(result, output)
    return _EXIT_CODES[verdict]


def _for_people(result: Result, options: wavescope.CheckOptions) -> Result:
    """Facts in words, and tables that have rows; programs get all of them, as numbers."""
    facts = result.facts
    level = 100 * (1 - options.test.significance)
    interval = ""
    if isinstance(facts["low_percent"], float) and isinstance(facts["high_percent"], float):
        low, high = facts["low_percent"], facts["high_percent"]
        interval = f", {level:g} % interval {low:+.1f} % to {high:+.1f} %"
    shown = ("detectable_percent", "threshold_percent", "run_noise_percent", "steps", "metric")
    return replace(
        result,
        tables=[table for table in result.tables if table.rows],
        facts={
            "verdict": facts["verdict"],
            "headline": facts["headline"],
            "change": f"{facts['change_percent']:+.1f} %{interval}",
            "runs": f"{facts['base_run_count']} base, {facts['new_run_count']} new, "
            f"{facts['order']} ({facts['order_source']})",
            **{key: facts[key] for key in (*shown, "selection") if facts.get(key) is not None},
        },
    )


def _check_options(arguments: argparse.Namespace) -> wavescope.CheckOptions:
    return wavescope.CheckOptions(
        threshold_percent=arguments.threshold,
        min_share_percent=arguments.min_share,
        gate=wavescope.Gate(arguments.gate),
        per=wavescope.Per(_per(arguments)),
        test=wavescope.TestOptions(
            arguments.significance,
            None if arguments.statistic == "auto" else wavescope.Statistic(arguments.statistic),
            arguments.seed,
            arguments.drift,
        ),
        order=arguments.order,
        runs=wavescope.RunOptions(
            metric=wavescope.Metric(arguments.metric),
            figures=figure_options(arguments),
            step=arguments.step,
            skip_steps=arguments.skip_steps,
        ),
        match_renamed=not arguments.no_match,
    )


def _per(arguments: argparse.Namespace) -> str:
    """Who says which markers are steps, or skips some, means steps."""
    means_steps = arguments.step or arguments.skip_steps
    return "step" if arguments.per == "auto" and means_steps else str(arguments.per)
