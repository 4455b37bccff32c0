"""`wavescope report`: a trace as one page to read, send and print."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import (
    RESULT_FILE,
    add_traces_argument,
    opened_trace,
    tell_no_ops,
    tell_notes,
)
from wavescope.cli.options import (
    add_filter_flags,
    add_force_flag,
    add_json_flag,
    add_output_path,
    add_quiet_flag,
    selection_from,
)
from wavescope.cli.outputs import tell_written
from wavescope.cli.progress import Progress
from wavescope.errors import UsageError

if TYPE_CHECKING:
    from wavescope.model.result import Result
    from wavescope.model.trace import Trace
    from wavescope.render.html.page import Page


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
        help="what a trace is called, once for each in order: a model, a version (default: file)",
    )
    parser.add_argument(
        "--with",
        metavar="FILE",
        dest="additions",
        type=RESULT_FILE,
        action="append",
        default=[],
        help="add a section: what `wavescope overhead --save` kept, or what a command printed with "
        "--json; may be repeated, and overhead measurements are compared with each other",
    )
    add_filter_flags(parser)
    add_force_flag(parser)
    add_quiet_flag(parser)
    add_json_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.formats.files import replaced, require_free  # noqa: PLC0415  slow to import

    target: Path = arguments.output or Path("report.html")
    inputs = [Path(path) for path in (*arguments.traces, *arguments.additions)]
    labels = _labels(arguments)
    require_free(target, inputs, force=arguments.force)
    page = _page(arguments, labels)
    from wavescope.render.html.page import write_page  # noqa: PLC0415

    with (
        replaced(target, inputs, force=arguments.force) as temporary,
        temporary.open("w", encoding="utf-8") as stream,
    ):
        write_page(page, stream)
    tell_written(target, "html", arguments)
    return 0


def _labels(arguments: argparse.Namespace) -> list[str]:
    """What the traces are called: as told, else by file, with folders where files are alike."""
    paths = [PurePath(path) for path in arguments.traces]
    if arguments.label:
        if len(arguments.label) != len(paths):
            raise UsageError(
                f"{len(arguments.label)} labels for {len(paths)} traces",
                hint="give --label once for each trace, in the same order",
            )
        return list(arguments.label)
    names = [path.name for path in paths]
    if len(set(names)) == len(names):
        return names
    levels = zip(*(path.parts[:-1] for path in paths), strict=False)
    shared = sum(1 for _ in takewhile(lambda level: len(set(level)) == 1, levels))
    return [str(PurePath(*path.parts[shared:])) for path in paths]


def _added_results(paths: Sequence[Path]) -> list[Result]:
    """The results in files; overhead measurements as one, each beside the ones before it."""
    from wavescope.collect.overhead import load_runs  # noqa: PLC0415  slow to import
    from wavescope.collect.overhead.file import SCHEMA  # noqa: PLC0415  slow to import
    from wavescope.formats.results import json_document, load_result  # noqa: PLC0415

    are_runs = {path: json_document(path).get("schema") == SCHEMA for path in paths}
    added = [load_result(path) for path in paths if not are_runs[path]]
    runs = [load_runs(path) for path in paths if are_runs[path]]
    if runs:
        from wavescope.analyze.compare import overhead_result  # noqa: PLC0415

        *earlier, last = runs
        added.insert(0, overhead_result(last, earlier))
    return added


def _has_ops(trace: Trace) -> bool:
    return len(trace.ops) > 0


def _page(arguments: argparse.Namespace, labels: list[str]) -> Page:
    selection = selection_from(arguments)
    added = _added_results([Path(path) for path in arguments.additions])
    with ExitStack() as stack:
        opened = [
            stack.enter_context(opened_trace(path, quiet=arguments.quiet))
            for path in arguments.traces
        ]
        from wavescope.model.selection import select  # noqa: PLC0415  slow to import
        from wavescope.render.html.trace_pages import trace_page  # noqa: PLC0415

        stack.enter_context(Progress("writing the report", quiet=arguments.quiet))
        chosen = [select(trace, selection) for trace in opened]
        if not any(map(_has_ops, chosen)):
            tell_no_ops(selection, quiet=arguments.quiet)
        page = trace_page(chosen, labels, arguments.title or "", added)
        if not arguments.quiet:
            for trace in opened:
                tell_notes(trace.notes)
        return page


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
            "also what recording cost, as kept by `wavescope overhead --save`",
        ),
    ),
    _add_arguments,
    _run,
)
