"""`wavescope flame`: where time goes by stack."""

from __future__ import annotations

import argparse
from dataclasses import replace

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_capture_flag, add_trace_argument
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputOptions,
    add_filter_flags,
    add_force_flag,
    add_output_flags,
    add_output_path,
    add_quiet_flag,
    natural_number,
    selection_from,
)
from wavescope.cli.output_files import tell_written
from wavescope.cli.outputs import print_result
from wavescope.cli.progress import Progress
from wavescope.model.result import ResultTable


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_trace_argument(parser)
    group = parser.add_argument_group("stacks")
    group.add_argument(
        "--of",
        choices=("gpu", "host"),
        default="gpu",
        help="gpu: time of ops by the stack that launched them (default); host: time of threads "
        "by what they were in",
    )
    group.add_argument(
        "--depth",
        metavar="N",
        type=natural_number,
        default=0,
        help="at most N names of each stack (default 0: all)",
    )
    group.add_argument(
        "--by-kind",
        action="store_true",
        help="modules of a kind together: nn.Module: Block_1 and Block_2 are nn.Module: Block",
    )
    add_capture_flag(parser)
    add_output_path(
        parser,
        required=False,
        meaning="write folded stacks for flame graph tools to this file, such as gpu.folded",
    )
    add_force_flag(parser)
    add_filter_flags(parser)
    add_output_flags(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    is_file = arguments.output is not None
    with Progress(f"analysing {arguments.trace}", quiet=arguments.quiet) as progress:
        result = wavescope.flame(
            arguments.trace,
            arguments.of,
            # A file has all stacks unless fewer are asked for.
            most=(arguments.rows or 0) if is_file else output.rows,
            depth=arguments.depth,
            by_kind=arguments.by_kind,
            joined=not is_file and output.format in FOR_PEOPLE,
            captures=arguments.capture,
            selection=selection_from(arguments),
            tell=progress.tell,
        )
        if is_file:
            written = wavescope.save_flame(result, arguments.output, force=arguments.force)
    if is_file:
        tell_written(written, "folded", arguments)
        return 0
    if output.format in FOR_PEOPLE:
        result = result.with_only_tables(map(_indented, result.tables))
    print_result(result, output)
    return 0


def _indented(table: ResultTable) -> ResultTable:
    """The table as a tree: each name as far to the right as it is below others."""
    names = [column.name for column in table.columns]
    depth, name = names.index("depth"), names.index("name")
    rows = [
        (*row[:name], "  " * int(row[depth] or 0) + str(row[name]), *row[name + 1 :])
        for row in table.rows
    ]
    kept = [each for each in names if each != "depth"]
    return replace(table, rows=rows).with_only_columns(kept)


COMMAND = Command(
    "flame",
    "Show where time goes by stack: GPU time by the Python functions, modules, operators and call "
    "that launched it, or the time of host threads by what they were in. Prints the heaviest paths "
    "as a tree; -o writes all of them as folded stacks, which flame graph tools draw. Ops whose "
    "launch is not in the trace are under one name of their own. docs/flame.md defines every "
    "number.",
    (
        Example("wavescope flame trace.json.gz", "GPU time by what launched it"),
        Example("wavescope flame trace.json.gz --of host -n 40", "host time, 40 paths"),
        Example("wavescope flame trace.json.gz --by-kind", "all layers of a kind together"),
        Example("wavescope flame trace.json.gz --marker decode --depth 4", "of the decode phase"),
        Example("wavescope flame trace.json.gz -o gpu.folded", "folded stacks for other tools"),
        Example("wavescope flame trace.json.gz --json", "every path as JSON"),
    ),
    _add_arguments,
    _run,
)
