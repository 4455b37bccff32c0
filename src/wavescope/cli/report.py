"""`wavescope report`: a trace as one page to read, send and print."""

from __future__ import annotations

import argparse
from pathlib import Path

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import RESULT_FILE, add_traces_argument
from wavescope.cli.options import (
    add_file_flags,
    add_filter_flags,
    add_output_path,
    selection_from,
)
from wavescope.cli.output_files import tell_written
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say
from wavescope.model.progress import tell_nobody


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces_argument(
        parser, "trace of any known format, never changed; several are compared with the first"
    )
    add_output_path(parser, required=False, meaning="page to write (default report.html)")
    parser.add_argument("--title", metavar="TEXT", help="title of the page (default: file names)")
    parser.add_argument(
        "--label",
        metavar="TEXT",
        action="append",
        help="name of a trace, such as a model or a version, once for each in order (default: the "
        "file name)",
    )
    parser.add_argument(
        "--with",
        metavar="FILE",
        dest="additions",
        type=RESULT_FILE,
        action="append",
        default=[],
        help="add a section: a file of `wavescope overhead --save`, or what a command printed with "
        "--json; may be repeated, and overhead measurements are compared with each other",
    )
    add_filter_flags(parser)
    add_file_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    target: Path = arguments.output or Path("report.html")
    with Progress("writing the report", quiet=arguments.quiet):
        wavescope.report(
            arguments.traces,
            target,
            labels=arguments.label or (),
            title=arguments.title or "",
            additions=arguments.additions,
            selection=selection_from(arguments),
            force=arguments.force,
            tell=tell_nobody if arguments.quiet else _say_note,
        )
    tell_written(target, "html", arguments)
    return 0


def _say_note(sentence: str) -> None:
    say(sentence, label="note")


COMMAND = Command(
    "report",
    "Write a trace as one page of HTML that needs nothing else: figures, findings, a timeline to "
    "zoom into, hot kernels of each phase, histograms, gaps, coverage and environment. It works "
    "from a mail attachment, without a network, in light and dark, and on paper. Several traces "
    "are compared with the first.",
    (
        Example("wavescope report trace.db -o report.html", "the report of one trace"),
        Example("wavescope report trace.db --title 'Llama on MI300X' --force", "write it again"),
        Example("wavescope report trace.db --marker decode -o decode.html", "only what decode did"),
        Example(
            "wavescope report old.db new.db --label v1 --label v2",
            "what changed: metrics, trends, kernels, and each trace",
        ),
        Example(
            "wavescope report trace.db --with v1.json --with v2.json",
            "also what recording cost, as saved by `wavescope overhead --save`",
        ),
    ),
    _add_arguments,
    _run,
)
