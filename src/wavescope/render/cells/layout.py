"""Lays out one text table within a width.

Text columns shrink first, long names in the middle; when that is not enough, columns are left out
from the right: numbers but the first three, then shares but the first, then any; the caller is
told which. rich would do this too, but importing it and drawing a summary's tables costs 85 ms of
CPU, a fifth of what a summary of 2 M ops may take.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wavescope.render.cells.columns import FormattedColumn
from wavescope.render.cells.escape import cell_width, padded, shortened, shortened_texts

_GAP = "  "
_NARROWEST_TEXT = 12
_FIRST_NUMBERS = 3
"""Such as base, new and delta: what the table is about."""


class TableLayout(NamedTuple):
    """The columns that fit and how wide each of them is."""

    columns: tuple[FormattedColumn, ...]
    widths: tuple[int, ...]
    left_out: tuple[str, ...]
    """Titles of the columns for which there was no room."""

    def header(self) -> list[str]:
        """Titles on one or two lines, units where there are any, and a rule."""
        titles = [
            title_lines(column.title, width)
            for column, width in zip(self.columns, self.widths, strict=True)
        ]
        rows = [[upper for upper, _ in titles]] if any(upper for upper, _ in titles) else []
        rows.append([lower for _, lower in titles])
        if any(column.unit for column in self.columns):
            rows.append([column.unit for column in self.columns])
        rows.append(["-" * width for width in self.widths])
        return [self.line(row) for row in rows]

    def line(self, cells: Sequence[str]) -> str:
        """One row of already spelled cells; numbers are never cut, even if they stick out."""
        parts = [
            padded(
                cell if column.is_number else shortened(cell, width), width, right=column.is_number
            )
            for column, cell, width in zip(self.columns, cells, self.widths, strict=True)
        ]
        return _GAP.join(parts).rstrip()

    def body(self) -> list[str]:
        """All rows; texts of a column that differ stay different if they have to be cut."""
        cells = [
            column.cells if column.is_number else shortened_texts(column.cells, width)
            for column, width in zip(self.columns, self.widths, strict=True)
        ]
        return [self.line(row) for row in zip(*cells, strict=True)]


def layout_table(columns: Sequence[FormattedColumn], width: int) -> TableLayout:
    """The layout of `columns` in at most `width` cells; long titles are split when that helps."""
    kept = list(columns)
    natural = {id(column): _natural_width(column) for column in kept}
    if _total(natural.values()) > width:
        natural = {id(column): _narrow_width(column) for column in kept}
    least = _least_widths(kept, natural, width)
    while len(kept) > 2 and _total(least[id(column)] for column in kept) > width:
        kept.remove(_least_wanted(kept))
    left_out = tuple(column.title for column in columns if column not in kept)
    return TableLayout(tuple(kept), _widths(kept, natural, width), left_out)


def title_lines(title: str, width: int) -> tuple[str, str]:
    """The upper and the lower line of a title; the upper one is empty when `width` holds it."""
    words = title.split(" ")
    if cell_width(title) <= width or len(words) == 1:
        return "", title
    splits = [(" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words))]
    return min(splits, key=lambda lines: max(map(cell_width, lines)))


def _natural_width(column: FormattedColumn) -> int:
    return max(cell_width(text) for text in (column.title, column.unit, *column.cells))


def _narrow_width(column: FormattedColumn) -> int:
    inside = max(cell_width(text) for text in (column.unit, *column.cells))
    return max(inside, *map(cell_width, title_lines(column.title, inside)))


def _least_widths(
    columns: list[FormattedColumn], natural: dict[int, int], width: int
) -> dict[int, int]:
    """Numbers need all their room; the first text, which names the row, a good part of the line."""
    least = dict(natural)
    texts = [column for column in columns if not column.is_number]
    for place, column in enumerate(texts):
        wanted = max(_NARROWEST_TEXT, width * 3 // 8 if place == 0 else width // 8)
        least[id(column)] = min(natural[id(column)], wanted)
    return least


def _total(widths: Iterable[int]) -> int:
    listed = list(widths)
    return sum(listed) + len(_GAP) * (len(listed) - 1)


def _least_wanted(columns: list[FormattedColumn]) -> FormattedColumn:
    numbers = [column for column in columns[1:] if column.is_number and not column.is_share]
    shares = [column for column in columns[1:] if column.is_share]
    for found, kept in ((numbers, _FIRST_NUMBERS), (shares, 1)):
        if len(found) > kept:
            return found[-1]
    return columns[-1]


def _widths(columns: list[FormattedColumn], natural: dict[int, int], width: int) -> tuple[int, ...]:
    """Natural widths, the texts cut to one limit with which the table fits.

    The first text, which names the row, is cut less: no more than `_least_widths` lets it.
    """
    texts = [column for column in columns if not column.is_number]
    room = width - _total(natural[id(column)] for column in columns)
    room += sum(natural[id(column)] for column in texts)
    limit = _common_limit([natural[id(column)] for column in texts], room)
    limits = {id(column): limit for column in texts}
    if texts:
        named, others = texts[0], texts[1:]
        least = _least_widths(columns, natural, width)
        needed = sum(least[id(column)] for column in texts)
        if limit < least[id(named)] and needed <= room:
            limits[id(named)] = least[id(named)]
            rest = room - least[id(named)]
            limit = _common_limit([natural[id(column)] for column in others], rest)
            limits |= {id(column): limit for column in others}
    return tuple(
        min(natural[id(column)], limits.get(id(column), natural[id(column)])) for column in columns
    )


def _common_limit(wanted: Sequence[int], room: int) -> int:
    """The width to cut texts to, the longest ones only, so that all of them have room."""
    ordered = sorted(wanted)
    for place, text_width in enumerate(ordered):
        share = max(room // (len(ordered) - place), 1)
        if text_width > share:
            return share
        room -= text_width
    return ordered[-1] if ordered else 0
