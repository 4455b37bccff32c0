"""The page of an analysis of hardware counters: findings, then a section for each panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from wavescope.model.result import Result, ResultTable, Value
from wavescope.render.cells.columns import fact_label, fact_text
from wavescope.render.counters.metric_tables import (
    NumberStyle,
    common_reason,
    is_metric_table,
    reasons,
    shown_columns,
)
from wavescope.render.html.markup import Html, bounded, element, joined
from wavescope.render.html.page import Card, Page, Section, cards_html
from wavescope.render.html.results import findings_html
from wavescope.render.html.tables import TableColumn, TableView, are_shares, table_html
from wavescope.units import count_text

_MOST_ROWS = 400
_COLLAPSED_FROM_ROWS = 65
"""No table of metrics is so long, those of many L2 channels are."""
_CARDS = ("chip", "kernel_count", "dispatch_count", "selected_dispatch_count", "time_ns")
"""Facts that are figures to begin with; the others stand below the title."""
_SHARE = "percent_of_peak"
_NAMES = frozenset({"kernel", "instruction", "operator"})
"""Columns of names that come from programs."""


@dataclass(frozen=True)
class CounterWords:
    """What tables are about."""

    panels: Mapping[int, str] = field(default_factory=dict)
    """Titles of the panels by their numbers."""
    aliases: Mapping[int, str] = field(default_factory=dict)
    """Their short names, which -b takes too."""
    meanings: Mapping[str, str] = field(default_factory=dict)
    """What a metric tells, by its key."""


def counter_page(
    result: Result, numbers: NumberStyle, words: CounterWords, pictures: Mapping[str, Html]
) -> Page:
    """The page; `pictures` are drawings by the table that they stand above."""
    cards = _cards(result)
    sections = [Section("figures", "", cards_html(cards), is_bare=True)] if cards else []
    if result.findings:
        sections.append(Section("findings", "Findings", findings_html(result.findings)))
    by_panel: dict[str, list[Html]] = {}
    for table in result.tables:
        parts = by_panel.setdefault(table.name.rpartition(".")[0] or table.name, [])
        if table.name in pictures:
            parts.append(element("div", pictures[table.name], class_="scroll"))
        parts.append(metric_table_html(table, numbers, words))
    for panel, parts in by_panel.items():
        number = int(panel) if panel.isdecimal() else -1
        title = f"{panel} {words.panels.get(number, '')}".strip()
        body = element("div", *parts, class_="blocks")
        short = words.aliases.get(number, "")
        sections.append(Section(f"panel-{len(sections)}", bounded(title, 80), body, short))
    return Page(result.title, _header(result), sections, styles=("page", "counters"))


def _header(result: Result) -> Html:
    facts = [
        element("span", bounded(f"{fact_label(key)}: {fact_text(key, value)}", 300))
        for key, value in result.facts.items()
        if key not in _CARDS and value is not None
    ]
    return joined(
        [element("h1", bounded(result.title, 200)), element("div", *facts, class_="facts")]
    )


def _cards(result: Result) -> list[Card]:
    return [
        Card(fact_label(name).capitalize(), fact_text(name, result.facts[name]))
        for name in _CARDS
        if result.facts.get(name) is not None
    ]


def metric_table_html(table: ResultTable, numbers: NumberStyle, words: CounterWords) -> Html:
    """A table of metrics, and below it why values are not there."""
    if reason := common_reason(table):
        told = f"{reason} (all {count_text(len(table.rows))} rows)"
        heading = element("h3", bounded(table.title, 150))
        return element("div", heading, element("p", bounded(told), class_="note"))
    shown = table.head(_MOST_ROWS)
    view = TableView(
        columns=_columns(shown, numbers, words),
        most_rows=_MOST_ROWS,
        collapsed_from=_COLLAPSED_FROM_ROWS,
    )
    notes = [element("p", bounded(reason), class_="note") for reason in reasons(table)]
    return element("div", table_html(shown, view), *notes)


def _columns(table: ResultTable, numbers: NumberStyle, words: CounterWords) -> list[TableColumn]:
    keys = table.column("key") if is_metric_table(table) and _has(table, "key") else []
    hints = [words.meanings.get(str(key), "") for key in keys]
    return [
        TableColumn(
            spelled,
            column.meaning,
            is_name=not spelled.is_number and column.name in _NAMES,
            is_share=column.name == _SHARE and _are_drawn(table.column(_SHARE)),
            hints=hints if column.name == "metric" else (),
        )
        for column, spelled in shown_columns(table, numbers)
    ]


def _has(table: ResultTable, name: str) -> bool:
    return any(column.name == name for column in table.columns)


def _are_drawn(values: list[Value]) -> bool:
    return are_shares(values) and any(value is not None for value in values)
