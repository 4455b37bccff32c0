"""The page of one trace, or of several compared with the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wavescope.analyze.compare import CompareOptions, compare
from wavescope.analyze.page.timeline import TimelineOptions
from wavescope.analyze.page.trace_report import ReportOptions, report_of
from wavescope.analyze.page.trends import trends
from wavescope.model.result import Result
from wavescope.model.trace import Trace
from wavescope.render.html.comparison_page import ComparedTrace, comparison_page
from wavescope.render.html.page import Page
from wavescope.render.html.report_page import report_page
from wavescope.render.html.result_section import result_section

_WATERFALL_ROWS = 12


def trace_page(
    traces: Sequence[Trace], labels: Sequence[str], title: str = "", added: Sequence[Result] = ()
) -> Page:
    """The page of `traces`, called by `labels`; results in `added` become its last sections."""
    if len(traces) == 1:
        page = report_page(report_of(traces[0]), traces[0], title or labels[0])
    else:
        page = _page_of_many(traces, labels, title or f"{labels[0]} and {len(labels) - 1} more")
    sections = [result_section(number, result) for number, result in enumerate(added, 1)]
    return replace(page, sections=[*page.sections, *sections])


def _page_of_many(traces: Sequence[Trace], labels: Sequence[str], title: str) -> Page:
    options = share_of_page(len(traces))
    reports = [report_of(trace, options) for trace in traces]
    compared = [
        ComparedTrace(label, report, trace.strings)
        for label, report, trace in zip(labels, reports, traces, strict=True)
    ]
    changed = compare(traces, CompareOptions(waterfall_rows=_WATERFALL_ROWS))
    return comparison_page(compared, trends(labels, reports), changed, title)


def share_of_page(trace_count: int) -> ReportOptions:
    """How much of each of several traces one page has room for."""
    whole = TimelineOptions()
    return ReportOptions(
        timeline=TimelineOptions(
            bins=whole.bins // trace_count,
            ops=whole.ops // trace_count,
            markers=whole.markers // trace_count,
        )
    )
