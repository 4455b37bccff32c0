"""`wavescope report`: a trace as one page to read, send and print."""

from __future__ import annotations

import argparse
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from wavescope.cli.command import Command, Example
from wavescope.cli.opened import opened_trace
from wavescope.cli.options import (
    add_force_flag,
    add_json_flag,
    add_output_path,
    add_quiet_flag,
)
from wavescope.cli.progress import Progress
from wavescope.cli.written import tell_written

if TYPE_CHECKING:
    from wavescope.render.html.page import Page


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "traces", metavar="TRACE", nargs="+", help="trace of any known format; it is never changed"
    )
    add_output_path(parser, required=False, meaning="page to write (default report.html)")
    parser.add_argument(
        "--title", metavar="TEXT", help="title of the page (default: the file's name)"
    )
    add_force_flag(parser)
    add_quiet_flag(parser)
    add_json_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.store.output import replaced, require_free  # noqa: PLC0415  slow to import

    target: Path = arguments.output or Path("report.html")
    inputs = [Path(path) for path in arguments.traces]
    require_free(target, inputs, force=arguments.force)
    page = _page(arguments)
    from wavescope.render.html.page import write_page  # noqa: PLC0415

    with (
        replaced(target, inputs, force=arguments.force) as temporary,
        temporary.open("w", encoding="utf-8") as stream,
    ):
        write_page(page, stream)
    tell_written(target, "html", arguments)
    return 0


def _page(arguments: argparse.Namespace) -> Page:
    from wavescope.analyze.report.trace_report import report_of  # noqa: PLC0415  slow to import
    from wavescope.render.html.report_page import report_page  # noqa: PLC0415

    path = arguments.traces[0]
    title = arguments.title or PurePath(path).name
    with (
        opened_trace(path, quiet=arguments.quiet) as trace,
        Progress(f"analysing {path}", quiet=arguments.quiet),
    ):
        return report_page(report_of(trace), trace.strings, title)


COMMAND = Command(
    "report",
    "Write a trace as one page of HTML that needs nothing else: figures, findings, a timeline to "
    "zoom into, hot kernels of each phase, histograms, gaps, coverage and environment. It works "
    "from a mail attachment, without a network, in light and dark, and on paper.",
    (
        Example("wavescope report trace.db -o report.html", "the report of one trace"),
        Example("wavescope report trace.db --title 'Llama on MI300X' --force", "write it again"),
    ),
    _add_arguments,
    _run,
)
