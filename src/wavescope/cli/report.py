"""`wavescope report`: a trace as one page to read, send and print."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
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
from wavescope.errors import UsageError

if TYPE_CHECKING:
    from wavescope.analyze.report.trace_report import ReportOptions
    from wavescope.model.result import Result
    from wavescope.render.html.page import Page

_WATERFALL_ROWS = 12


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "traces",
        metavar="TRACE",
        nargs="+",
        help="trace of any known format, never changed; several are compared with the first",
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
        type=Path,
        action="append",
        default=[],
        help="add a section: what `wavescope overhead --save` kept, or what a command printed with "
        "--json; may be repeated, and overhead measurements are compared with each other",
    )
    add_force_flag(parser)
    add_quiet_flag(parser)
    add_json_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.store.output import replaced, require_free  # noqa: PLC0415  slow to import

    target: Path = arguments.output or Path("report.html")
    inputs = [Path(path) for path in arguments.traces]
    labels = _labels(arguments)
    require_free(target, [*inputs, *arguments.additions], force=arguments.force)
    added = _added_results(arguments.additions)
    page = _page_of_one(arguments, labels[0]) if len(labels) == 1 else _page(arguments, labels)
    from wavescope.render.html.page import write_page  # noqa: PLC0415
    from wavescope.render.html.result_section import result_section  # noqa: PLC0415

    sections = [result_section(number, result) for number, result in enumerate(added, 1)]
    page = replace(page, sections=[*page.sections, *sections])
    with (
        replaced(target, [*inputs, *arguments.additions], force=arguments.force) as temporary,
        temporary.open("w", encoding="utf-8") as stream,
    ):
        write_page(page, stream)
    tell_written(target, "html", arguments)
    return 0


def _labels(arguments: argparse.Namespace) -> list[str]:
    """What the traces are called: as told, else by file, with the folder where files are alike."""
    paths = [PurePath(path) for path in arguments.traces]
    if arguments.label:
        if len(arguments.label) != len(paths):
            raise UsageError(
                f"{len(arguments.label)} labels for {len(paths)} traces",
                hint="give --label once for each trace, in the same order",
            )
        return list(arguments.label)
    names = [path.name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def _added_results(paths: Sequence[Path]) -> list[Result]:
    """The results in files; overhead measurements as one, each beside the ones before it."""
    from wavescope.collect.overhead_file import SCHEMA, load_runs  # noqa: PLC0415  slow to import
    from wavescope.load.result_file import json_document, load_result  # noqa: PLC0415

    are_runs = {path: json_document(path).get("schema") == SCHEMA for path in paths}
    added = [load_result(path) for path in paths if not are_runs[path]]
    runs = [load_runs(path) for path in paths if are_runs[path]]
    if runs:
        from wavescope.analyze.compare.overhead_table import overhead_result  # noqa: PLC0415

        *earlier, last = runs
        added.insert(0, overhead_result(last, earlier))
    return added


def _page_of_one(arguments: argparse.Namespace, label: str) -> Page:
    from wavescope.analyze.report.trace_report import report_of  # noqa: PLC0415  slow to import
    from wavescope.render.html.report_page import report_page  # noqa: PLC0415

    path = arguments.traces[0]
    with (
        opened_trace(path, quiet=arguments.quiet) as trace,
        Progress(f"analysing {path}", quiet=arguments.quiet),
    ):
        return report_page(report_of(trace), trace, arguments.title or label)


def _page(arguments: argparse.Namespace, labels: list[str]) -> Page:
    from wavescope.analyze.compare.comparison import CompareOptions, compare  # noqa: PLC0415
    from wavescope.analyze.report.trace_report import report_of  # noqa: PLC0415  slow to import
    from wavescope.analyze.report.trends import trends  # noqa: PLC0415
    from wavescope.render.html.comparison_page import (  # noqa: PLC0415
        ComparedTrace,
        comparison_page,
    )

    with ExitStack() as stack:
        opened = [
            stack.enter_context(opened_trace(path, quiet=arguments.quiet))
            for path in arguments.traces
        ]
        stack.enter_context(Progress(f"comparing {len(labels)} traces", quiet=arguments.quiet))
        options = share_of_page(len(labels))
        reports = [report_of(trace, options) for trace in opened]
        traces = [
            ComparedTrace(label, report, trace.strings)
            for label, report, trace in zip(labels, reports, opened, strict=True)
        ]
        changed = compare(opened, CompareOptions(waterfall_rows=_WATERFALL_ROWS))
        title = arguments.title or f"{labels[0]} and {len(labels) - 1} more"
        return comparison_page(traces, trends(labels, reports), changed, title)


def share_of_page(trace_count: int) -> ReportOptions:
    """How much of each of several traces one page has room for."""
    from wavescope.analyze.report.timeline import TimelineOptions  # noqa: PLC0415
    from wavescope.analyze.report.trace_report import ReportOptions  # noqa: PLC0415

    whole = TimelineOptions()
    return ReportOptions(
        timeline=TimelineOptions(
            bins=whole.bins // trace_count,
            ops=whole.ops // trace_count,
            markers=whole.markers // trace_count,
        )
    )


COMMAND = Command(
    "report",
    "Write a trace as one page of HTML that needs nothing else: figures, findings, a timeline to "
    "zoom into, hot kernels of each phase, histograms, gaps, coverage and environment. It works "
    "from a mail attachment, without a network, in light and dark, and on paper. Several traces "
    "are compared with the first.",
    (
        Example("wavescope report trace.db -o report.html", "the report of one trace"),
        Example("wavescope report trace.db --title 'Llama on MI300X' --force", "write it again"),
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
