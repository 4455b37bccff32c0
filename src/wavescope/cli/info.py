"""`wavescope info`: what a trace holds, without judging it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_trace_argument, opened_trace
from wavescope.cli.options import OutputOptions, add_output_flags, add_quiet_flag
from wavescope.cli.outputs import print_result, size_of
from wavescope.errors import UsageError

if TYPE_CHECKING:
    from wavescope.model.result import Result
    from wavescope.model.trace import Trace


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_trace_argument(parser, required=False)
    parser.add_argument(
        "--markers", action="store_true", help="list the markers: how often, how long in all"
    )
    parser.add_argument(
        "--kernels", action="store_true", help="list the kernels by whole name, with registers"
    )
    parser.add_argument(
        "--formats", action="store_true", help="list the formats that can be read and written"
    )
    add_output_flags(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    options = OutputOptions.from_arguments(arguments)
    if arguments.formats:
        print_result(_formats(), options)
        return 0
    if arguments.trace is None:
        raise UsageError("which trace?", hint="wavescope info TRACE, or wavescope info --formats")
    with opened_trace(arguments.trace, quiet=arguments.quiet) as trace:
        print_result(_described(trace, arguments), options)
    return 0


def _described(trace: Trace, arguments: argparse.Namespace) -> Result:
    from wavescope.analyze.summary.coverage import coverage  # noqa: PLC0415
    from wavescope.analyze.summary.overview import kernel_list, marker_list, overview  # noqa: PLC0415

    found = overview(trace)
    coverage_found = coverage(trace)
    found.facts = {
        "path": trace.path,
        "format": trace.format,
        "size_bytes": size_of(Path(trace.path)),
        **found.facts,
        **coverage_found.facts,
    }
    found.tables += coverage_found.tables
    lists = []
    if arguments.markers:
        lists.append(marker_list(trace))
    if arguments.kernels:
        lists.append(kernel_list(trace))
    found.tables = lists or found.tables
    return found


def _formats() -> Result:
    from wavescope.formats import exporters, importers  # noqa: PLC0415
    from wavescope.model.result import Result, ResultColumn, ResultTable, Unit  # noqa: PLC0415

    readable = ResultTable(
        "readable",
        "Formats that can be read (told by content, gzip included)",
        (ResultColumn("format", "Format", Unit.NAME),),
        [(importer.name,) for importer in importers()],
    )
    writable = ResultTable(
        "writable",
        "Formats that `wavescope convert` writes",
        (
            ResultColumn("format", "Format", Unit.NAME, "for --format"),
            ResultColumn("suffixes", "Suffixes", Unit.NAME, "endings of -o that choose it"),
            ResultColumn("meaning", "Meaning", Unit.NAME),
        ),
        [(e.name, " ".join(e.suffixes), e.meaning) for e in exporters()],
    )
    return Result("Formats", [readable, writable])


COMMAND = Command(
    "info",
    "Show what a trace holds: format, span, GPUs, processes, queues, tables, coverage, metadata, "
    "and what had to be skipped or repaired while reading it.",
    (
        Example("wavescope info trace.db", "everything the trace says about itself"),
        Example("wavescope info trace.json.gz --markers", "markers by name, the longest first"),
        Example("wavescope info trace.db --kernels -n 0 --format csv", "all kernel names as CSV"),
        Example("wavescope info --formats", "formats that can be read and written"),
    ),
    _add_arguments,
    _run,
)
