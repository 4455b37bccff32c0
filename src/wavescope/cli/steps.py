"""`wavescope steps`: how long each step of a program takes."""

from __future__ import annotations

import argparse
from dataclasses import replace

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_trace_argument
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputOptions,
    add_filter_flags,
    add_output_flags,
    add_quiet_flag,
    add_step_flag,
    selection_from,
)
from wavescope.cli.outputs import print_result, tell_left_out, without_details
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say
from wavescope.model.result import ResultTable

_NO_STEPS = (
    "the number of steps is unknown: nothing repeats at least three times in a row on any queue, "
    "or what repeats may be a part of a step; ranges around steps would tell (--step)"
)
_DETAIL_TABLES = ("steps",)
"""Left to --table, --json and --format csv: one row for every step."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_trace_argument(parser)
    group = parser.add_argument_group("steps")
    add_step_flag(group)
    group.add_argument(
        "--without-markers",
        action="store_true",
        help="find steps by what repeats, even where markers show them",
    )
    add_filter_flags(parser)
    add_output_flags(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    options = wavescope.StepOptions(arguments.step, use_markers=not arguments.without_markers)
    with Progress(f"analysing {arguments.trace}", quiet=arguments.quiet) as progress:
        result = wavescope.steps(
            arguments.trace,
            options,
            selection=selection_from(arguments),
            most_steps=output.rows or None,
            tell=progress.tell,
        )
    if result.facts["op_count"] and not result.facts["step_count"] and not arguments.quiet:
        say(_NO_STEPS, label="note")
    result, hidden = without_details(result, output, _DETAIL_TABLES)
    if output.format in FOR_PEOPLE and not output.tables:
        result = result.with_only_tables(map(_without_single_process, result.tables))
    print_result(result, output)
    tell_left_out(hidden, output, quiet=arguments.quiet)
    return 0


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
    "Show how long each step takes (decode steps, training iterations, graph replays), with or "
    "without markers: steps are marker ranges named like steps, else what repeats in the kernels "
    "of each queue. Prints how many there are, median and 95th percentile from start to start, GPU "
    "busy time, and the slow ones; warm-up steps are counted but left out. "
    "docs/serving-phases.md defines every number.",
    (
        Example("wavescope steps trace.db", "steps by kind, and the slow ones"),
        Example("wavescope steps trace.json.gz --gpu 0 --json", "of one GPU, as JSON"),
        Example("wavescope steps trace.db --table steps --format csv", "every step as CSV"),
    ),
    _add_arguments,
    _run,
)
