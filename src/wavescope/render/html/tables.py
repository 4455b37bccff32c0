"""Result tables as HTML: sortable, searchable, readable without scripts and by screen readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from wavescope.model.result import ResultTable, Unit, Value
from wavescope.render.cells.columns import FormattedColumn, counterpart_of, format_column
from wavescope.render.cells.escape import shortened_texts
from wavescope.render.html.markup import Html, bounded, element
from wavescope.units import ABSENT, count_text

_LONGEST_CELL = 150
_SEARCH_FROM_ROWS = 12
_COLLAPSE_FROM_ROWS = 25
_ROWS_SHOWN = 20
_PROSE = frozenset({"note", "meaning", "reason", "value", "direction", "category", "tag", "mode"})
"""Columns of words rather than of names."""


@dataclass(frozen=True)
class TableColumn:
    """A column as it is shown."""

    spelled: FormattedColumn
    meaning: str = ""
    is_name: bool = False
    is_change: bool = False
    is_share: bool = False
    """Whether a bar shows each value: all of them are parts of a whole."""
    hints: Sequence[str] = ()
    """What a name means, one text for each row."""

    @property
    def kind(self) -> str:
        return "number" if self.spelled.is_number else "name" if self.is_name else "text"


@dataclass(frozen=True)
class TableView:
    """How a table is shown beyond its own columns and rows."""

    hidden: frozenset[str] = frozenset()
    """Names of columns that are left out."""
    most_rows: int = 400
    collapsed_from: int = _COLLAPSE_FROM_ROWS
    """A table of so many rows shows its first ones until it is asked for all."""
    extra_title: str = ""
    extra_cells: Sequence[Html | None] = ()
    """A last column of markup, one cell for each row."""
    below: str = ""
    """A column of words that stand below the first column of names instead of beside it."""
    caption: str | None = None
    """Instead of the table's title; empty for none that is seen."""
    columns: Sequence[TableColumn] = ()
    """Instead of the table's own, with a cell for each row, spelled already."""


_CHANGES = ("change_percent", "delta_percent", "mean_percent", "of_base_percent")
"""Ends of the names of columns that say by how much something changed."""


def table_html(table: ResultTable, view: TableView | None = None) -> Html:
    """The table with its caption; a sentence where there are more rows than are shown."""
    view = view or TableView()
    shown = table.head(view.most_rows)
    columns = list(view.columns) or _columns(shown, view)
    total = shown.total_rows or 0
    row_count = len(shown.rows)
    if not row_count:
        return element("p", f"{bounded(table.title, _LONGEST_CELL)}: none.", class_="none")
    title = bounded(table.title, _LONGEST_CELL)
    caption = title if view.caption is None else view.caption
    controls = element(
        "div",
        element("h3", caption) if caption else None,
        _search(caption or title) if row_count >= _SEARCH_FROM_ROWS else None,
        class_="controls",
    )
    rest = f"{count_text(row_count)} of {count_text(total)} rows are in this page."
    return element(
        "div",
        controls if caption or row_count >= _SEARCH_FROM_ROWS else None,
        element(
            "div",
            _table(shown, columns, view),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label=caption or title,
        ),
        _more(row_count) if row_count >= view.collapsed_from else None,
        element("p", rest, class_="note") if total > row_count else None,
        class_="table",
    )


def _columns(table: ResultTable, view: TableView) -> list[TableColumn]:
    found = []
    for number, column in enumerate(table.columns):
        values = [row[number] for row in table.rows]
        if column.name in {*view.hidden, view.below} or all(value is None for value in values):
            continue
        spelled = format_column(column, values, counterpart_of(table, column))
        is_name = column.unit is Unit.NAME and column.name not in _PROSE
        is_change = column.name.endswith(_CHANGES)
        is_share = spelled.is_share and not is_change and are_shares(values)
        found.append(TableColumn(spelled, column.meaning, is_name, is_change, is_share))
    return found


def are_shares(values: Sequence[Value]) -> bool:
    """Whether all values are parts of a whole: a bar can show no others."""
    return all(0 <= value <= 100 for value in values if isinstance(value, int | float))


def _table(table: ResultTable, columns: Sequence[TableColumn], view: TableView) -> Html:
    below = _texts(table, view.below) if view.below else []
    heads = [_head(column) for column in columns]
    if view.extra_title:
        heads.append(element("th", view.extra_title, scope="col", class_="extra"))
    cells = zip(*(_cells(column, below) for column in columns), strict=True)
    extra = [element("td", cell, class_="extra") for cell in view.extra_cells]
    rows = [
        element("tr", *row, last if view.extra_title else None)
        for row, last in zip_longest(cells, extra[: len(table.rows)])
    ]
    return element(
        "table",
        element("caption", bounded(table.title, _LONGEST_CELL), class_="unseen"),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
    )


def _head(column: TableColumn) -> Html:
    unit = column.spelled.unit
    return element(
        "th",
        element(
            "button",
            column.spelled.title,
            element("span", f" {unit}", class_="unit") if unit else None,
            type="button",
        ),
        scope="col",
        class_=column.kind,
        title=column.meaning or None,
    )


def _texts(table: ResultTable, name: str) -> list[str]:
    return [
        "" if value is None else bounded(str(value), _LONGEST_CELL) for value in table.column(name)
    ]


def _cells(column: TableColumn, below: Sequence[str]) -> list[Html]:
    spelled = column.spelled
    if column.is_change:
        return [_change_cell(text) for text in spelled.cells]
    if column.is_share:
        return [
            element("td", share_bar(text), text, class_="number share") for text in spelled.cells
        ]
    if spelled.is_number:
        return [element("td", text, class_="number") for text in spelled.cells]
    words = below[: len(spelled.cells)] if column.is_name else ()
    whole = [bounded(text) for text in spelled.cells]
    shown = shortened_texts(whole, _LONGEST_CELL)
    return [
        _text_cell(full, cut, column.kind, small, hint)
        for full, cut, small, hint in zip_longest(whole, shown, words, column.hints, fillvalue="")
    ]


def _change_cell(text: str) -> Html:
    """A change with its sign: more is red, less is green, because most figures are times."""
    if not text.strip("-0.,"):
        return element("td", text if text == ABSENT else text.lstrip("-"), class_="number")
    if text.startswith("-"):
        return element("td", text, class_="number down")
    return element("td", f"+{text}", class_="number up")


def _text_cell(whole: str, shown: str, kind: str, below: str, hint: str) -> Html:
    small = element("small", below) if below else None
    told = hint or (whole if whole != shown else None)
    return element("td", shown, small, class_=kind, title=told)


def share_bar(percent: str) -> Html | None:
    """A bar as long as the share, behind a number that says the same."""
    try:
        width = min(100.0, max(0.0, float(percent.replace(",", ""))))
    except ValueError:
        return None
    bar = element("rect", width=f"{width:.2f}%", height="100%", class_="bar")
    return element("svg", bar, class_="sharebar", aria_hidden="true")


def _search(title: str) -> Html:
    field = element(
        "input",
        type="search",
        name="filter",
        placeholder="Filter rows",
        aria_label=f"Filter {title}",
    )
    return element("span", element("output", aria_live="polite"), field, class_="search")


def _more(row_count: int) -> Html:
    text = f"Show all {row_count} rows"
    return element("button", text, type="button", class_="more", data_shown=_ROWS_SHOWN)
