"""`wavescope steps`: how long each step of a program takes."""

from __future__ import annotations

import argparse
from dataclasses import replace
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
    add_trace_argument,
    selection_from,
)
from wavescope.cli.output import print_result
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say

if TYPE_CHECKING:
    from wavescope.model.result import Result, ResultTable

_NO_STEPS = "nothing repeats at least three times in a row on any queue: no steps to measure"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_trace_argument(parser)
    add_filter_flags(parser)
    add_output_flags(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    selection = selection_from(arguments)
    with opened_trace(arguments.trace, quiet=arguments.quiet) as trace:
        from wavescope.analyze.findings.input_repaired import input_repaired  # noqa: PLC0415
        from wavescope.analyze.serving.steps_result import steps_result  # noqa: PLC0415  slow
        from wavescope.model.selection import select  # noqa: PLC0415

        with Progress(f"analysing {arguments.trace}", quiet=arguments.quiet):
            chosen = select(trace, selection)
            result = steps_result(chosen, most_steps=output.rows or None)
            op_count = len(chosen.ops)
        result.findings += input_repaired(trace)
    if not selection.is_everything:
        result.facts["selection"] = str(selection)
    _tell(result, op_count, quiet=arguments.quiet)
    hidden = _fit_for_people(result, output) if output.format in FOR_PEOPLE else []
    print_result(result, output)
    if hidden and output.format is OutputFormat.TEXT and not arguments.quiet:
        say(f"more with --table NAME: {', '.join(hidden)}")
    return 0


def _tell(result: Result, op_count: int, *, quiet: bool) -> None:
    """Say why there may be nothing to see."""
    if quiet:
        return
    if not op_count:
        say(NO_OPS_LEFT, label="note")
    elif not result.facts["step_count"]:
        say(_NO_STEPS, label="note")


def _fit_for_people(result: Result, output: OutputOptions) -> list[str]:
    """Leave out the table of every step unless asked for, and tables without rows."""
    if output.tables:
        return []
    hidden = [table.name for table in result.tables if table.name == "steps" and table.rows]
    result.tables = [
        _without_single_process(table)
        for table in result.tables
        if table.rows and table.name not in hidden
    ]
    return hidden


def _without_single_process(table: ResultTable) -> ResultTable:
    """The table without the column of processes when there is only one."""
    if len(set(table.column("process"))) > 1:
        return table
    place = [column.name for column in table.columns].index("process")
    return replace(
        table,
        columns=(*table.columns[:place], *table.columns[place + 1 :]),
        rows=[(*row[:place], *row[place + 1 :]) for row in table.rows],
    )


COMMAND = Command(
    "steps",
    "Show how long each step takes, whether the trace has markers or not: steps (decode steps, "
    "training iterations, graph replays) are found by what repeats in the sequence of kernels of "
    "each queue. Prints how many there are, median and 95th percentile from start to start, GPU "
    "busy time, and the slow ones; warm-up is left out and counted. docs/serving-phases.md "
    "defines every number.",
    (
        Example("wavescope steps trace.db", "steps by kind, and the slow ones"),
        Example("wavescope steps trace.json.gz --gpu 0 --json", "of one GPU, as JSON"),
        Example("wavescope steps trace.db --table steps --format csv", "every step as CSV"),
    ),
    _add_arguments,
    _run,
)
