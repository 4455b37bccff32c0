"""Findings and whole results as parts of a page, and the page of an overhead measurement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from wavescope.model.result import Finding, Result, Severity, Value
from wavescope.render.cells.columns import fact_label, fact_text
from wavescope.render.html.markup import Html, bounded, element, joined
from wavescope.render.html.page import Card, Page, Section, cards_html
from wavescope.render.html.tables import TableView, table_html

_AT_ONCE = 3
"""Findings that are seen without asking for more."""
_ORDER = {Severity.PROBLEM: 0, Severity.WARNING: 1, Severity.INFO: 2}
_SIGN = {Severity.PROBLEM: "!!", Severity.WARNING: "!", Severity.INFO: "i"}
_NOTHING_STOOD_OUT = "No findings: nothing stood out by the published thresholds."
_TONES = {"free": "good", "faster": "good", "costs": "warning"}


def findings_html(
    findings: Sequence[Finding],
    none: str = _NOTHING_STOOD_OUT,
    link_of: Callable[[Finding], str | None] | None = None,
) -> Html:
    """The findings, the largest gain of the gravest kind first; `none` where there are none.

    `link_of` gives the place in the page that a finding is about.
    """
    if not findings:
        return element("p", none, class_="none")
    ordered = sorted(findings, key=lambda f: (_ORDER[f.severity], -(f.gain_percent or 0.0)))
    items = [_finding(finding, link_of(finding) if link_of else None) for finding in ordered]
    first = element("ul", *items[:_AT_ONCE], class_="findings")
    if len(items) <= _AT_ONCE + 1:
        return element("ul", *items, class_="findings")
    more = element("summary", f"{len(items) - _AT_ONCE} more findings")
    rest = element("ul", *items[_AT_ONCE:], class_="findings")
    return joined([first, element("details", more, rest)])


def _finding(finding: Finding, link: str | None) -> Html:
    severity = finding.severity
    return element(
        "li",
        element(
            "div",
            element("span", _SIGN[severity], class_="sign", aria_hidden="true"),
            element("span", f"{severity.value}: ", class_="unseen"),
            element("strong", bounded(finding.title)),
            _where(finding, link),
            _gain(finding),
            class_="head",
        ),
        element("p", _words(finding.evidence)),
        element("p", _words(finding.suggestion), class_="next") if finding.suggestion else None,
        _details(finding),
        class_=f"finding {severity.value}",
    )


def _where(finding: Finding, link: str | None) -> Html | None:
    if not finding.where:
        return None
    text = bounded(finding.where, 60)
    return element("span", element("a", text, href=link) if link else text, class_="where")


def _words(text: str) -> Html:
    """The text, what stands between backquotes as code."""
    parts = bounded(text).split("`")
    if len(parts) % 2 == 0:
        return joined(["`".join(parts)])
    return joined(element("code", part) if place % 2 else part for place, part in enumerate(parts))


def _gain(finding: Finding) -> Html | None:
    if finding.gain_percent is None:
        return None
    text = f"up to {finding.gain_percent:.1f} %"
    return element("span", text, class_="gain", title=bounded(finding.gain_basis) or None)


def _details(finding: Finding) -> Html | None:
    numbers = [
        element(
            "div",
            element("dt", fact_label(key)),
            element("dd", bounded(fact_text(key, value), 300)),
        )
        for key, value in finding.numbers.items()
    ]
    if not (numbers or finding.sql or finding.gain_basis):
        return None
    return element(
        "details",
        element("summary", "Evidence"),
        element("p", f"Gain: {bounded(finding.gain_basis)}") if finding.gain_basis else None,
        element("dl", *numbers, class_="numbers") if numbers else None,
        _query(finding.sql) if finding.sql else None,
    )


def _query(sql: str) -> Html:
    lines = [bounded(line) for line in sql.splitlines()[:40]]
    return element("pre", element("code", "\n".join(lines)), tabindex="0")


def with_results(page: Page, results: Iterable[Result]) -> Page:
    """The page with a section for each of `results` after its own."""
    sections = [_result_section(number, result) for number, result in enumerate(results, 1)]
    return replace(page, sections=[*page.sections, *sections])


def _result_section(number: int, result: Result) -> Section:
    """The section of the `number`-th result that was added to a page."""
    return Section(f"added-{number}", bounded(result.title, 80), _result_html(result))


def _result_html(result: Result) -> Html:
    """Facts, findings and the tables that have rows."""
    facts = [
        element("div", element("dt", fact_label(bounded(key, 60))), element("dd", text))
        for key, text in _fact_texts(result)
    ]
    tables = [table_html(table) for table in result.tables if table.rows]
    return element(
        "div",
        element("dl", *facts, class_="numbers") if facts else None,
        findings_html(result.findings) if result.findings else None,
        *tables,
        class_="blocks",
    )


def _fact_texts(result: Result) -> list[tuple[str, str]]:
    return [(key, bounded(fact_text(key, value), 300)) for key, value in result.facts.items()]


def overhead_page(result: Result) -> Page:
    """The page: one figure for each mode, the tables, what stands out."""
    rows = result.table("overhead").records()
    is_rate = bool(result.facts["higher_is_better"])
    cards = [
        Card(
            " · ".join((*_case_words(row), f"mode {row['mode']}")),
            _slower_or_faster(row["cost_percent"]),
            f"{row['verdict']}, {_cost_interval(row, is_rate=is_rate)}",
            _TONES.get(str(row["verdict"]), ""),
        )
        for row in rows
    ]
    sections = [Section("figures", "", cards_html(cards), is_bare=True)]
    sections += [
        Section(table.name, table.title, table_html(table, TableView(caption="")))
        for table in result.tables
        if table.rows
    ]
    sections.append(Section("findings", "Findings", findings_html(result.findings)))
    header = element(
        "header",
        element("h1", result.title),
        element("p", bounded(f"{result.facts['label']}: {result.facts['command']}", 400)),
    )
    return Page(result.title, header, sections)


def _case_words(row: Mapping[str, Value]) -> list[str]:
    """What was measured, where several things were."""
    return [
        bounded(f"{key.removeprefix('case_')} {value}", 60)
        for key, value in row.items()
        if key.startswith("case_") and value is not None
    ]


def _slower_or_faster(cost_percent: Value) -> str:
    """A cost in words: signs mean one thing of times and another of rates."""
    if not isinstance(cost_percent, float):
        return "?"
    shown = f"{abs(cost_percent):.1f} %"
    if shown == "0.0 %":
        return shown
    return f"{shown} {'slower' if cost_percent > 0 else 'faster'}"


def _cost_interval(row: Mapping[str, Value], *, is_rate: bool) -> str:
    """The interval of the cost, from that of the metric."""
    low, high = row["low_percent"], row["high_percent"]
    if not isinstance(low, float) or not isinstance(high, float):
        return "interval unknown"
    if is_rate:
        low, high = (100 * (100 / (100 + percent) - 1) for percent in (high, low))
    return f"{_slower_or_faster(low)} to {_slower_or_faster(high)}"
