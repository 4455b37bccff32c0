"""`wavescope ranks`: many ranks of one job, who is late, and why."""

from __future__ import annotations

import argparse

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import RANK_TRACES
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputOptions,
    add_force_flag,
    add_output_flags,
    add_output_path,
    add_quiet_flag,
    add_step_flag,
    natural_number,
    regular_expression,
    size_bytes,
)
from wavescope.cli.output_files import tell_file
from wavescope.cli.outputs import print_result, tell_left_out, without_details
from wavescope.cli.progress import Progress
from wavescope.errors import EXIT_CHECK_FAILED, EXIT_INCONCLUSIVE, EXIT_OK
from wavescope.model.result import Result

_DETAILS = (
    *("files", "groups", "mismatches", "clocks", "collectives_by_step", "steps", "delays"),
    "outliers",
)
"""Tables that the page and --table show; what matters of them is a finding."""
_COLUMNS = {
    "stragglers": ("culprit", "cause", "delay_ns", "share_percent", "recurrence", "phase"),
    "ranks": (
        *("rank", "host", "gpu", "median_step_ns", "exposed_wait_ns", "delay_ns", "busy_percent"),
        *("exposed_percent", "last_count", "clock"),
    ),
    "collectives": (
        *("operation", "group", "message_bytes", "exchange_count", "skew_median_ns"),
        *("transfer_median_ns", "bus_gb_per_s", "wait_percent", "nature", "last_rank"),
    ),
}
"""What people read of the widest tables; --table, --json and the page have all of it."""
_EXIT_CODES = {"culprit": EXIT_CHECK_FAILED, "inconclusive": EXIT_INCONCLUSIVE}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "traces",
        metavar="TRACE",
        type=RANK_TRACES,
        nargs="+",
        help="traces of the ranks, folders of them, or quoted patterns ('run/rank*.json.gz'); any "
        "known format, never changed, never merged",
    )
    add_output_path(parser, required=False, meaning="also write a page for the browser")
    parser.add_argument("--title", metavar="TEXT", default="", help="title of the page")
    group = parser.add_argument_group("what is compared")
    group.add_argument(
        "--rank-pattern",
        metavar="REGEX",
        type=regular_expression,
        default="",
        help="how a path tells its rank, and its host if you like: 'rank(?P<rank>\\d+)', "
        "'(?P<host>\\w+)/(?P<rank>\\d+)' (default: what traces and file names say)",
    )
    add_step_flag(group)
    group.add_argument(
        "--base",
        metavar="TRACE",
        type=RANK_TRACES,
        nargs="+",
        default=[],
        help="traces of an earlier run of as many ranks: what changed since",
    )
    group.add_argument(
        "--fail",
        action="store_true",
        help="exit with code 1 if somebody is late, 5 if that cannot be told",
    )
    _add_engine_flags(parser)
    add_force_flag(parser)
    add_output_flags(parser)
    add_quiet_flag(parser)


def _add_engine_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "where it is computed", "Without --scheduler, --ssh or --slurm: in processes here."
    )
    group.add_argument(
        "--workers", metavar="N", type=natural_number, help="processes (default: one per CPU)"
    )
    group.add_argument(
        "--memory-limit",
        metavar="SIZE",
        type=size_bytes,
        help="memory of each worker, such as 2G; a file that needs more is a row that says so",
    )
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        default="",
        help="a Dask scheduler: tcp://HOST:PORT, tls://HOST:PORT, its scheduler file, or local "
        "(needs wavescope[cluster])",
    )
    group.add_argument(
        "--ssh",
        metavar="HOST,...",
        default="",
        help="start Dask on these hosts by SSH; the first one schedules, too",
    )
    group.add_argument(
        "--slurm",
        metavar="NAME=VALUE,...",
        default="",
        help="start Dask in Slurm jobs: queue=gpu,cores=8,memory=32GB,walltime=00:30:00",
    )


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    with Progress("reading the ranks", quiet=arguments.quiet) as progress:
        result = wavescope.ranks(
            arguments.traces,
            base=arguments.base,
            rank_pattern=arguments.rank_pattern,
            step_marker=arguments.step,
            engine=_engine(arguments),
            page=arguments.output,
            title=arguments.title,
            force=arguments.force,
            progress=progress,
            tell=progress.tell,
        )
    shown, left_out = without_details(result, output, _DETAILS)
    print_result(_narrowed(shown, output), output)
    if not arguments.quiet:
        if arguments.output is not None:
            tell_file(arguments.output, "html")
        elif output.format in FOR_PEOPLE:
            tell_left_out(left_out, output, quiet=False)
    return _EXIT_CODES.get(str(result.facts["verdict"]), EXIT_OK) if arguments.fail else EXIT_OK


def _narrowed(result: Result, output: OutputOptions) -> Result:
    """The result with the columns that fit into a terminal, where nobody asked for a table."""
    if output.format not in FOR_PEOPLE or output.tables:
        return result
    return result.with_only_tables(
        table.with_only_columns(_COLUMNS.get(table.name, [c.name for c in table.columns]))
        for table in result.tables
    )


def _engine(arguments: argparse.Namespace) -> wavescope.EngineOptions:
    return wavescope.EngineOptions(
        workers=arguments.workers,
        memory_limit_bytes=arguments.memory_limit,
        scheduler=arguments.scheduler,
        ssh_hosts=tuple(host.strip() for host in arguments.ssh.split(",") if host.strip()),
        slurm=arguments.slurm,
    )


COMMAND = Command(
    "ranks",
    "Compare the ranks of a job, from 8 to thousands: which rank, host, GPU or link makes the "
    "others wait, in which steps, for how long and why; collectives matched across ranks with "
    "arrival skew, wait, transfer and bus bandwidth; clocks aligned, with certified bounds; steps, "
    "pipeline stages, experts and outliers. Each file is read where it lies and never merged; one "
    "that cannot be read costs one row that says so.",
    (
        Example("wavescope ranks run/", "every trace in a folder, one rank each"),
        Example("wavescope ranks 'run/rank*.json.gz' -o ranks.html", "also a page with heat maps"),
        Example("wavescope ranks new/ --base old/", "what changed since an earlier run"),
        Example(
            "wavescope ranks run/ --rank-pattern '(?P<host>node\\d+)/gpu(?P<rank>\\d+)'",
            "ranks and hosts by your own names",
        ),
        Example(
            "wavescope ranks run/ --scheduler tcp://10.0.0.1:8786",
            "on a Dask cluster that sees the same files (docs/cluster.md)",
        ),
        Example("wavescope ranks run/ --fail -q --json", "a check for CI"),
    ),
    _add_arguments,
    _run,
)
