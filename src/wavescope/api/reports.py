"""Traces as one page of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.analyze.compare import CompareOptions
from wavescope.analyze.compare import compare as compared
from wavescope.analyze.compare.overhead import overhead_result
from wavescope.analyze.ops.coverage import recorded
from wavescope.analyze.page import ReportOptions, report_of, trends
from wavescope.api.opened import (
    Where,
    labels_of,
    opened,
    paths_of,
    selection_of,
    tell_shortcomings,
)
from wavescope.errors import UsageError
from wavescope.formats.results import RUNS_SCHEMA, json_document, load_result, load_runs
from wavescope.model.paths import PathLike
from wavescope.model.progress import Tell, tell_nobody
from wavescope.model.result import Result
from wavescope.model.selection import Selection
from wavescope.model.trace import Trace
from wavescope.outputs import replaced, require_free
from wavescope.render.html.comparison_page import ComparedTrace, comparison_page
from wavescope.render.html.page import Page, write_page
from wavescope.render.html.results import with_results
from wavescope.render.html.trace_page import report_page

if TYPE_CHECKING:
    from typing_extensions import Unpack

_WATERFALL_ROWS = 12


def report(
    traces: PathLike | Sequence[PathLike],
    output: PathLike,
    *,
    labels: Sequence[str] = (),
    title: str = "",
    additions: Sequence[PathLike] = (),
    selection: Selection | None = None,
    force: bool = False,
    tell: Tell = tell_nobody,
    **where: Unpack[Where],
) -> Path:
    """Write one page of HTML that shows a trace, or compares several with the first.

    `additions` are files of results, as commands print them with --json, or of kept overhead
    measurements: each becomes a section. `tell` is told what readers skipped or repaired.
    """
    target, inputs, kept = Path(output), paths_of(traces), [Path(path) for path in additions]
    names = labels_of(inputs, labels)
    chosen = selection_of(selection, where)
    require_free(target, [*inputs, *kept], force=force)
    added = _added_results(kept)
    with ExitStack() as stack:
        parts = [stack.enter_context(opened(path, chosen)) for path in inputs]
        page = with_results(_page(parts, names, title), added)
        tell_shortcomings(parts, chosen, tell)
        temporary = stack.enter_context(replaced(target, [*inputs, *kept], force=force))
        with temporary.open("w", encoding="utf-8") as stream:
            write_page(page, stream)
    return target


def _page(traces: Sequence[Trace], labels: Sequence[str], title: str) -> Page:
    if len(traces) == 1:
        return report_page(report_of(traces[0]), traces[0], title or labels[0])
    if any(recorded(trace) is not None for trace in traces):
        raise UsageError(
            "a page that compares traces needs all of their kernels, and one of them is sampled",
            hint="`wavescope compare` compares sampled traces; report each on a page of its own",
        )
    options = ReportOptions.for_one_of(len(traces))
    reports = [report_of(trace, options) for trace in traces]
    shown = [
        ComparedTrace(label, each, trace.strings)
        for label, each, trace in zip(labels, reports, traces, strict=True)
    ]
    changed = compared(traces, CompareOptions(waterfall_rows=_WATERFALL_ROWS))
    title = title or f"{labels[0]} and {len(labels) - 1} more"
    return comparison_page(shown, trends(labels, reports), changed, title)


def _added_results(paths: Sequence[Path]) -> list[Result]:
    """The results in files; overhead measurements as one, each beside the ones before it."""
    are_runs = {path: json_document(path).get("schema") == RUNS_SCHEMA for path in paths}
    added = [load_result(path) for path in paths if not are_runs[path]]
    runs = [load_runs(path) for path in paths if are_runs[path]]
    if not runs:
        return added
    *earlier, last = runs
    return [overhead_result(last, earlier), *added]
