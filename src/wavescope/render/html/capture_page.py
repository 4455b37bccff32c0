"""The page of a thread-trace capture: plan, source beside instructions, waves over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wavescope.analyze.capture.page import (
    CaptureReport,
    CodeRow,
    CodeView,
    SourceLine,
    SourceView,
    Stall,
)
from wavescope.model.result import Finding, Result, ResultTable, Value
from wavescope.model.strings import StringTable
from wavescope.render.html.markup import Html, bounded, element, joined
from wavescope.render.html.page import Card, Page, Section, cards_html
from wavescope.render.html.results import findings_html
from wavescope.render.html.tables import table_html
from wavescope.render.html.timelines import TimelineWords, timeline_data, timeline_html
from wavescope.units import count_text

SCRIPTS = ("page", "tables", "report_timeline", "capture")
_WORDS = TimelineWords("waves", "instructions", "slots", "cycles")
_MOST_SKETCHES = 8
_BASE_PERCENT = 86.0
"""Where the bars stand; the span of time is written below."""
_LONGEST_CODE = 240


def capture_page(report: CaptureReport, title: str) -> Page:
    """The page of one capture."""
    timeline, data = _timeline(report)
    sections = [
        Section("figures", "", cards_html(_cards(report)), is_bare=True),
        Section("plan", "Plan", _plan(report)),
        Section("code", "Source and instructions", code_html(report.code), "Code"),
        Section("waves", "Waves over time", timeline, "Waves"),
        Section("occupancy", "Occupancy", _occupancy(report)),
        Section("stalls", "Stalls", _tables(report.hotspots, ("stall_types", "coverage"))),
        Section("running", "How waves ran", _tables(report.running, None)),
    ]
    shown = [section for section in sections if section.body]
    return Page(title, _header(report, title), shown, data, SCRIPTS, ("page", "capture"))


def _header(report: CaptureReport, title: str) -> Html:
    capture = report.capture
    words = [
        capture.facts.path,
        str(report.plan.facts.get("chip") or ""),
        f"{count_text(len(capture.waves))} waves",
        *(["partial: " + "; ".join(capture.missing)] if capture.missing else []),
    ]
    return joined(
        [
            element("h1", bounded(title, 200)),
            element(
                "div",
                *(element("span", bounded(word, 300)) for word in words if word),
                class_="facts",
            ),
        ]
    )


def _cards(report: CaptureReport) -> list[Card]:
    facts = report.plan.facts
    gains = [finding.gain_percent for finding in report.plan.findings if finding.gain_percent]
    cards = [
        Card("Stall", _percent(facts.get("stall_percent")), f"of all {report.code.unit}"),
        Card("Exposed stall", _percent(facts.get("exposed_stall_percent")), "hidden by nothing")
        if len(report.capture.waves)
        else Card("Exposed stall", "unknown", "no wave files"),
        Card("Best change", f"{max(gains):.1f} %", "at most")
        if gains
        else Card("Best change", "none", "found"),
        Card("Waves", count_text(len(report.capture.waves)), "traced"),
    ]
    if report.occupancy is not None:
        found = report.occupancy
        measured = found.measured
        remark = f"measured at most {measured.peak}" if measured else "by its resources"
        waves = f"{found.occupancy.waves_per_simd:g} of {found.occupancy.chip.waves_per_simd}"
        if not found.is_lds_known:
            remark += "; at most, LDS is unknown"
        cards.append(Card("Waves per SIMD", waves, remark))
    return cards


def _percent(value: Value) -> str:
    return f"{value:.1f} %" if isinstance(value, int | float) else "unknown"


def _plan(report: CaptureReport) -> Html:
    plan, shown = report.plan, {row.row for row in report.code.rows}

    def link_of(finding: Finding) -> str | None:
        row = finding.numbers.get("row")
        return f"#row-{row}" if row in shown else None

    sketches = [
        _sketch(finding, link_of(finding))
        for finding in plan.findings[:_MOST_SKETCHES]
        if finding.numbers.get("before")
    ]
    return joined(
        [
            findings_html([_without_sketch(finding) for finding in plan.findings], link_of=link_of),
            element("div", *sketches, class_="sketches") if sketches else None,
        ]
    )


def _without_sketch(finding: Finding) -> Finding:
    numbers = {
        key: value for key, value in finding.numbers.items() if key not in {"before", "after"}
    }
    return finding._replace(numbers=numbers)


def _sketch(finding: Finding, link: str | None) -> Html:
    parts = [
        element(
            "figure",
            element("figcaption", label),
            element("pre", "\n".join(_code_lines(finding.numbers.get(key))), tabindex="0"),
        )
        for label, key in (("Before", "before"), ("After", "after"))
    ]
    title = bounded(finding.title, 200)
    heading = element("h3", element("a", title, href=link) if link else title)
    return element("div", heading, *parts, class_="sketch")


def _code_lines(value: Value) -> list[str]:
    return [bounded(line, 200) for line in str(value or "").split("\n")[:20]]


def _timeline(report: CaptureReport) -> tuple[Html, dict[str, Any]]:
    if report.waves is None:
        return Html(""), {}
    drawn, data = timeline_data(
        report.waves.timeline,
        report.waves.names,
        StringTable(),
        labels=report.waves.strip_labels,
    )
    return timeline_html("timeline-data", drawn, _WORDS), {"timeline-data": data}


def _occupancy(report: CaptureReport) -> Html:
    parts: list[Html] = []
    over_time = _named(report.running, "occupancy_over_time")
    theory = report.occupancy.occupancy.waves_per_simd if report.occupancy else None
    if over_time is not None and over_time.rows:
        means = [float(value or 0) for value in over_time.column("mean_per_simd")]
        last = over_time.column("end")[-1]
        parts.append(step_chart(means, theory, int(last or 0), "waves per SIMD over time"))
    if report.limits is not None:
        parts += [table_html(table) for table in report.limits.tables]
    return element("div", *parts, class_="blocks") if parts else Html("")


def _named(result: Result, name: str) -> ResultTable | None:
    return next((table for table in result.tables if table.name == name), None)


def _tables(result: Result, names: Sequence[str] | None) -> Html:
    shown = [
        table_html(table)
        for table in result.tables
        if table.rows and (names is None or table.name in names)
    ]
    return element("div", *shown, class_="blocks") if shown else Html("")


def step_chart(values: Sequence[float], limit: float | None, span_cycles: int, what: str) -> Html:
    """Bars of equal pieces of time; the scale ends at the limit or the largest value."""
    largest = max([*values, limit or 0.0, 0.001])
    width = 100 / max(len(values), 1)
    piece = span_cycles / max(len(values), 1)
    bars = [
        element(
            "rect",
            element("title", f"{value:.2f} from {count_text(round(number * piece))} cycles"),
            x=f"{number * width:.3f}%",
            y=f"{_BASE_PERCENT * (1 - value / largest):.2f}%",
            width=f"{0.97 * width:.3f}%",
            height=f"{_BASE_PERCENT * value / largest:.2f}%",
            class_="bar",
        )
        for number, value in enumerate(values)
    ]
    marks = [
        element("text", "0", x="0", y="98%"),
        element("text", f"{count_text(span_cycles)} cycles", x="100%", y="98%", text_anchor="end"),
    ]
    if limit is not None:
        y = f"{_BASE_PERCENT * (1 - limit / largest):.2f}%"
        marks.append(element("line", x1="0%", x2="100%", y1=y, y2=y, class_="limit"))
    fits = f"; the dashed line is what fits: {limit:g}" if limit is not None else ""
    return element(
        "figure",
        element("svg", *bars, *marks, class_="steps", role="img", aria_label=what),
        element("figcaption", f"{what}, largest {max([*values, 0.0]):.2f}{fits}"),
    )


def code_html(view: CodeView) -> Html:
    """Both listings, the source first; what did not fit is said."""
    if not view.rows:
        return Html("")
    notes = []
    if view.left_out_rows:
        notes.append(f"{count_text(view.left_out_rows)} instructions with the least latency")
    if view.left_out_files:
        notes.append(f"{count_text(view.left_out_files)} files with the least stall")
    if not view.files:
        notes.append("the source, which the capture does not keep")
    left_out = f" Not in this page: {' and '.join(notes)}." if notes else ""
    return element(
        "div",
        element(
            "p",
            "Choose a line to see its instructions, an instruction to see its line, a wait to see "
            f"what it waits for.{left_out} ",
            _hottest(view),
            class_="note",
        ),
        element(
            "div",
            element("div", *(_file(file, view.unit) for file in view.files), class_="pane")
            if view.files
            else None,
            element(
                "div",
                element("h3", "Instructions"),
                element("output", class_="told", aria_live="polite"),
                _listing("isa", "Instruction", [_instruction(row, view.unit) for row in view.rows]),
                class_="pane",
            ),
            class_="code",
            data_unit=view.unit,
            data_line=view.hottest_line or None,
            data_row=None if view.hottest_row is None else str(view.hottest_row),
        ),
    )


def _hottest(view: CodeView) -> Html | None:
    """Leads there where scripts do not run, too."""
    if view.hottest_line:
        return element("a", "The hottest line", href=f"#{_line_id(view.hottest_line)}")
    if view.hottest_row is not None:
        return element("a", "The hottest instruction", href=f"#row-{view.hottest_row}")
    return None


def _line_id(key: str) -> str:
    return f"line-{key.replace(':', '-')}"


def _file(file: SourceView, unit: str) -> Html:
    more = f", {count_text(file.left_out_count)} lines left out" if file.left_out_count else ""
    return element(
        "div",
        element("h3", bounded(file.path, 120)),
        element("p", f"{file.stall_percent:.1f} % of all stall{more}", class_="note"),
        _listing("source", "Source", [_line(line, unit) for line in file.lines]),
    )


def _listing(kind: str, what: str, rows: list[Html]) -> Html:
    head = element(
        "tr",
        element("th", "", element("span", "Number", class_="unseen"), scope="col"),
        element("th", "Stall %", scope="col"),
        element("th", "Charged %", scope="col", title="stall, waits charged to their causes"),
        element("th", what, scope="col"),
    )
    table = element("table", element("thead", head), element("tbody", *rows), class_=kind)
    return element("div", table, class_="listing", tabindex="0", role="region", aria_label=what)


def _line(line: SourceLine, unit: str) -> Html:
    return element(
        "tr",
        element("td", element("button", str(line.number), type="button"), class_="number"),
        *_shares(line.stall, unit),
        element("td", bounded(line.text.expandtabs(4), _LONGEST_CODE), class_="text"),
        id=_line_id(line.key),
        data_line=line.key,
    )


def _instruction(row: CodeRow, unit: str) -> Html:
    waited = " ".join(f"{producer.row}:{producer.stall}" for producer in row.producers)
    return element(
        "tr",
        element("td", element("button", str(row.row), type="button"), class_="number"),
        *_shares(row.stall, unit),
        element(
            "td",
            bounded(row.text, _LONGEST_CODE),
            class_="text",
            title=f"{row.kind}, {count_text(row.hits)} executions",
        ),
        id=f"row-{row.row}",
        data_row=str(row.row),
        data_line=row.line or None,
        data_producers=waited or None,
    )


def _shares(stall: Stall, unit: str) -> tuple[Html, Html]:
    return (
        _share(stall.raw_percent, stall.raw, stall.raw_heat, unit),
        _share(stall.charged_percent, stall.charged, stall.charged_heat, unit),
    )


def _share(percent: float, stall: int, heat: int, unit: str) -> Html:
    text = f"{percent:.1f}" if stall else ""
    return element("td", text, class_=f"number heat h{heat}", title=f"{count_text(stall)} {unit}")
