"""Any result as a section of a page: its facts, findings and tables, in the order they come."""

from __future__ import annotations

from wavescope.model.result import Result
from wavescope.render.html.findings import findings_html
from wavescope.render.html.markup import Html, bounded, element
from wavescope.render.html.page import Section
from wavescope.render.html.tables import table_html
from wavescope.render.values import fact_label, fact_text


def result_section(number: int, result: Result) -> Section:
    """The section of the `number`-th result that was added to a page."""
    return Section(f"added-{number}", bounded(result.title, 80), result_html(result))


def result_html(result: Result) -> Html:
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
