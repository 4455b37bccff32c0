"""`wavescope query`: SQL on any trace, read-only."""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import PurePath

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_counter_instances_flag, add_trace_argument
from wavescope.cli.options import (
    OutputFormat,
    add_quiet_flag,
    add_raw_text_flag,
    add_rows_flag,
    output_format,
    wants_raw_text,
)
from wavescope.cli.progress import Progress
from wavescope.cli.query_output import write_query

_FORMATS = ("table", *(choice.value for choice in OutputFormat))


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_trace_argument(parser)
    parser.add_argument("sql", metavar="SQL", help="one SELECT statement; - reads it from stdin")
    add_rows_flag(parser, "at most N rows (default all)", default=0)
    parser.add_argument("--format", choices=_FORMATS, help="output format (default table)")
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument(
        "--raw",
        action="store_true",
        help="query a foreign SQLite file as it is, not its conversion to wavescope's tables",
    )
    add_counter_instances_flag(
        parser,
        "have hardware counters for each instance of their block, SQ_WAVES[0] and so on, instead "
        "of their sum (of rocprofv3 JSON)",
    )
    add_raw_text_flag(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.format == "table":
        arguments.format = OutputFormat.TEXT.value
    wanted = output_format(arguments)
    raw_text = wants_raw_text(arguments, wanted)
    sql = sys.stdin.read() if arguments.sql == "-" else arguments.sql
    activity = f"opening {PurePath(arguments.trace).name}"
    with Progress(activity, quiet=arguments.quiet) as progress:
        rows = wavescope.query(
            arguments.trace,
            sql,
            raw=arguments.raw,
            counter_instances=arguments.counter_instances,
            progress=progress,
            tell=progress.tell,
        )
    with rows:
        shown = itertools.islice(rows, arguments.rows or None)
        write_query(rows.columns, shown, wanted, raw_text=raw_text)
    return 0


COMMAND = Command(
    "query",
    "Run one SQL statement on a trace and print the rows. It cannot change anything. Traces of "
    "other formats are converted to a temporary trace file first (see docs/trace-file.md for the "
    "tables); --raw queries a foreign SQLite file as it is.",
    (
        Example('wavescope query trace.db "SELECT * FROM top LIMIT 5"', "the five longest kernels"),
        Example(
            'wavescope query trace.json.gz "SELECT gpuId, Busy FROM busy" --format csv',
            "any format, rows as CSV",
        ),
        Example(
            'wavescope query run.rpd --raw "SELECT name FROM sqlite_master"',
            "the tables a foreign file really has",
        ),
    ),
    _add_arguments,
    _run,
)
