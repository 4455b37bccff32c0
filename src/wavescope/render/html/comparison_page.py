"""Several traces as one page: metrics side by side, trends, what changed, each trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from wavescope.analyze.page import Metric, TraceReport, Trends, change_percent
from wavescope.model.result import Result, ResultTable, Unit, Value
from wavescope.model.strings import StringTable
from wavescope.render.html.charts import BarRow, WaterfallStep, stacked_bars, trend_lines, waterfall
from wavescope.render.html.markup import Html, bounded, element, joined
from wavescope.render.html.page import Page, Section
from wavescope.render.html.results import findings_html
from wavescope.render.html.tables import TableView, table_html
from wavescope.render.html.timelines import LARGEST_BYTES, timeline_data, timeline_html
from wavescope.render.html.trace_page import SCRIPTS, phases_html
from wavescope.units import counted, duration_text


class ComparedTrace(NamedTuple):
    """One of the traces; `strings` are its own."""

    label: str
    report: TraceReport
    strings: StringTable


def comparison_page(
    traces: Sequence[ComparedTrace], found: Trends, changed: Result, title: str
) -> Page:
    """The page of several traces; `changed` says what differs between them."""
    tables = {table.name: table for table in found.result.tables}
    data: dict[str, Any] = {}
    blocks = []
    for number, trace in enumerate(traces):
        source = f"timeline-data-{number}"
        drawn, data[source] = timeline_data(
            trace.report.timeline,
            trace.report.op_names,
            trace.strings,
            LARGEST_BYTES // len(traces),
        )
        blocks.append(_trace_html(trace, timeline_html(source, drawn), is_open=number == 0))
    sections = [
        Section(
            "figures", "Traces by metrics", table_html(tables["figures"], TableView(caption=""))
        ),
        Section(
            "trends",
            "Trends",
            joined([trends_html(found), table_html(tables["regressions"])]),
        ),
        Section("shares", "Where the time goes", _shares_html(traces)),
        Section("findings", "What stands out", findings_html(changed.findings)),
        Section("changes", "What changed", _changes_html(changed, found.labels)),
        Section("kernels", "Kernels", table_html(tables["kernel_changes"], TableView(caption=""))),
        Section("traces", "Each trace", element("div", *blocks, class_="blocks")),
    ]
    header = joined(
        [
            element("h1", bounded(title, 200)),
            element(
                "div",
                element("span", f"{len(traces)} traces"),
                element("span", f"compared with {bounded(traces[0].label, 100)}"),
                class_="facts",
            ),
            _headline(changed),
        ]
    )
    shown = [section for section in sections if section.body]
    return Page(title, header, shown, data, SCRIPTS)


def _headline(changed: Result) -> Html | None:
    """What changed, in a sentence for each trace."""
    sentence = changed.facts.get("headline")
    return element("p", bounded(str(sentence), 1_000), class_="headline") if sentence else None


def trends_html(found: Trends) -> Html:
    """A small chart for each metric with the change from the first to the last trace."""
    charts = [_trend(found.labels, metric) for metric in found.metrics]
    return element("div", *charts, class_="trends")


def _trend(labels: Sequence[str], metric: Metric) -> Html:
    texts = [_spelled(value, metric.unit) for value in metric.values]
    return element(
        "div",
        element("h3", metric.title.removesuffix(" %"), " ", _change(metric), title=metric.meaning),
        trend_lines(labels, metric.values, texts),
    )


def _change(metric: Metric) -> Html | None:
    first, last = metric.values[0], metric.values[-1]
    if metric.unit is Unit.PERCENT:
        # A percentage of percentages is what nobody can read.
        change, unit = None if first is None or last is None else last - first, "points"
    else:
        change, unit = change_percent(first, last), "%"
    if change is None or abs(change) < 0.05:
        return None
    is_better = (change > 0) == metric.is_better_high
    words = f"{change:+.1f} {unit}"
    return element("span", words, class_="down" if is_better else "up")


def _spelled(value: float | None, unit: Unit) -> str:
    if value is None:
        return "-"
    return duration_text(value) if unit is Unit.NS else f"{value:.1f} %"


def _shares_html(traces: Sequence[ComparedTrace]) -> Html:
    """The categories of each trace, all classes of any of them."""
    labels = list(
        dict.fromkeys(
            label for trace in traces for label in trace.report.timeline.colourings[0].labels
        )
    )
    rows = []
    for trace in traces:
        by_label = dict(
            zip(
                trace.report.timeline.colourings[0].labels,
                trace.report.category_shares[0].times_ns,
                strict=True,
            )
        )
        rows.append(BarRow(trace.label, [by_label.get(label, 0) for label in labels]))
    return stacked_bars(rows, labels, "Summed durations by category")


def _changes_html(changed: Result, labels: Sequence[str]) -> Html:
    """The tables of what changed; waterfalls are drawn too."""
    shown = []
    for table in changed.tables:
        if not table.rows or table.name == "traces":
            continue
        if table.name.startswith("waterfall_"):
            shown += _waterfalls(table, labels)
        shown.append(_kernels_html(table) if table.name == "kernels" else table_html(table))
    return element("div", *shown, class_="blocks") if shown else Html("")


_FOLDED = ("status", "matched_by", "delta_calls", "base_mean_ns", "new_mean_ns")
"""What the other columns tell, or the words below a kernel's name."""


def _kernels_html(table: ResultTable) -> Html:
    """The kernels, with what became of each below its name: so all columns have room."""
    places = {column.name: place for place, column in enumerate(table.columns)}
    below = places["base_name"]
    rows = [(*row[:below], _became(row, places), *row[below + 1 :]) for row in table.rows]
    view = TableView(hidden=frozenset(_FOLDED), below="base_name")
    return table_html(replace(table, rows=rows), view)


def _became(row: Sequence[Value], places: Mapping[str, int]) -> str | None:
    status, was, matched = (row[places[name]] for name in ("status", "base_name", "matched_by"))
    if status == "both":
        return None
    if was is None:
        return "only in the base" if status == "gone" else "not in the base"
    return f"{status}, was {was} (same {matched})"


def _waterfalls(table: ResultTable, labels: Sequence[str]) -> list[Html]:
    """One chart for each trace that is compared with the first."""
    steps: dict[int, list[WaterfallStep]] = {}
    for row in table.records():
        number, running = row.get("trace", 2), row["running_ns"]
        assert isinstance(number, int)
        assert isinstance(running, int)
        delta = row["delta_ns"]
        before = running - delta if isinstance(delta, int) else 0
        step = WaterfallStep(str(row["name"]), before, running, delta is None)
        steps.setdefault(number, []).append(step)
    return [
        element(
            "div",
            element(
                "h3",
                f"{table.title}: {bounded(labels[0], 60)} to {bounded(labels[number - 1], 60)}",
            ),
            waterfall(found, table.title),
        )
        for number, found in steps.items()
    ]


def _trace_html(trace: ComparedTrace, timeline: Html, *, is_open: bool) -> Html:
    """One trace: its timeline, the hot kernels of its phases, its findings."""
    facts = trace.report.overview.facts
    words = (
        f"{counted(int(facts.get('op_count') or 0), 'op')} · "
        f"{counted(int(facts.get('kernel_name_count') or 0), 'kernel')}"
    )
    return element(
        "details",
        element(
            "summary", element("strong", bounded(trace.label, 150)), " ", element("span", words)
        ),
        element(
            "div",
            timeline,
            phases_html(trace.report.phases),
            findings_html(trace.report.findings),
            class_="blocks",
        ),
        open=is_open,
        class_="trace",
    )
