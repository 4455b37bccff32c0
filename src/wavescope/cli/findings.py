"""`wavescope findings` (also `analyze-trace`): what is worth changing, with evidence."""

from __future__ import annotations

import argparse

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_trace_argument
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputOptions,
    add_filter_flags,
    add_output_flags,
    add_quiet_flag,
    selection_from,
)
from wavescope.cli.outputs import print_result
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say
from wavescope.errors import UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_trace_argument(parser)
    group = parser.add_argument_group("findings")
    group.add_argument(
        "--only",
        metavar="ID,...",
        help="only these findings, such as gpu-idle,launch-bound (docs/findings.md lists them)",
    )
    group.add_argument(
        "--threshold",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="change a threshold, such as idle_percent=5 (may be repeated; docs/findings.md lists "
        "them)",
    )
    group.add_argument(
        "--fail-on",
        choices=("problem", "warning", "info"),
        help="exit with code 1 if there is a finding of this severity or worse",
    )
    add_filter_flags(parser)
    add_output_flags(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    selection = selection_from(arguments)
    thresholds = wavescope.Thresholds().with_values(_values(arguments.threshold))
    only = [part.strip() for part in arguments.only.split(",")] if arguments.only else []
    with Progress(f"analysing {arguments.trace}", quiet=arguments.quiet) as progress:
        result = wavescope.findings_result(
            arguments.trace, thresholds, only=only, selection=selection, tell=progress.tell
        )
    is_list = output.format in FOR_PEOPLE and not output.tables
    print_result(result.with_only_tables(()) if is_list else result, output)
    if result.facts["op_count"] and not result.findings and not arguments.quiet:
        say("no findings: nothing passed the thresholds of docs/findings.md")
    return 1 if _fails(result, arguments.fail_on) else 0


def _values(assignments: list[str]) -> dict[str, float]:
    values: dict[str, float] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        try:
            values[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise UsageError(f"'{text}' is not NAME=VALUE", hint="write for example idle_percent=5")
    return values


def _fails(result: wavescope.Result, fail_on: str | None) -> bool:
    if fail_on is None:
        return False
    graver = ("problem", "warning", "info")
    return any(
        graver.index(finding.severity.value) <= graver.index(fail_on) for finding in result.findings
    )


COMMAND = Command(
    "findings",
    "Show what is worth changing: phases limited by launches, idle GPUs and why, communication and "
    "copies that nothing hides, bursts of small copies, tiny kernels, a slower GPU, outliers and "
    "drift, queues that take turns, and whether the trace is complete enough to say so. Every "
    "finding has its numbers, the SQL that shows them, the most that could be gained, and the next "
    "step.",
    (
        Example("wavescope findings trace.db", "all findings, the most serious first"),
        Example("wavescope findings trace.db --json", "with SQL and op ids, for programs"),
        Example("wavescope findings trace.db --marker decode", "of the decode phase only"),
        Example("wavescope findings trace.db --threshold idle_percent=5", "a stricter threshold"),
        Example("wavescope findings trace.db --only gpu-idle --fail-on warning", "a check for CI"),
    ),
    _add_arguments,
    _run,
)
