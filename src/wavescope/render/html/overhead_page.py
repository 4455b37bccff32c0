"""An overhead measurement as a page of HTML."""

from __future__ import annotations

from wavescope.model.result import Result, Value
from wavescope.render.html.cards import Card, cards_html
from wavescope.render.html.findings import findings_html
from wavescope.render.html.markup import bounded, element
from wavescope.render.html.page import Page, Section
from wavescope.render.html.tables import TableView, table_html

_TONES = {"free": "good", "faster": "good", "costs": "warning"}


def overhead_page(result: Result) -> Page:
    """The page: one figure for each mode, the tables, what stands out."""
    rows = result.table("overhead").records()
    cards = [
        Card(
            f"mode {row['mode']}",
            f"{_signed(row['overhead_percent'])} %",
            f"{row['verdict']}, {_signed(row['low_percent'])} to {_signed(row['high_percent'])} %",
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


def _signed(value: Value) -> str:
    return f"{value:+.1f}" if isinstance(value, float) else "?"
