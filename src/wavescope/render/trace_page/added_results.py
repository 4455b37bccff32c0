"""Results that are added to a page: each a section with its facts, findings and tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from wavescope.model.result import Result
from wavescope.render.cells.columns import fact_label, fact_text
from wavescope.render.html.findings import findings_html
from wavescope.render.html.markup import Html, bounded, element
from wavescope.render.html.page import Page, Section
from wavescope.render.html.tables import table_html


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
