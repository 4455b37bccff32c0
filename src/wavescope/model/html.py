"""Tables and findings as HTML for notebooks; every text from a trace is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from wavescope.units import count_text

MOST_ROWS = 50
_MOST_CHARACTERS = 160
_NUMBER_STYLE = ' style="text-align: right"'


def titled_html(title: str, body: str) -> str:
    """HTML under a title."""
    return f"<h3>{escape(title)}</h3>{body}"


def rows_html(
    title: str,
    heads: Iterable[tuple[str, str]],
    cells: Sequence[Sequence[tuple[str, bool]]],
    total_rows: int,
) -> str:
    """A table of texts: `heads` are titles and meanings, a cell's flag says that it is a number."""
    head = "".join(
        f'<th title="{escape(meaning)}">{escape(text)}</th>'
        if meaning
        else f"<th>{escape(text)}</th>"
        for text, meaning in heads
    )
    body = "".join(f"<tr>{''.join(_cell_html(*cell) for cell in row)}</tr>" for row in cells)
    rest = f"<p>({len(cells)} of {count_text(total_rows)} rows)</p>"
    return (
        f"<h4>{escape(title)}</h4>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"{rest if len(cells) < total_rows else ''}"
    )


def _cell_html(text: str, is_number: bool) -> str:
    if len(text) > _MOST_CHARACTERS:
        text = text[: _MOST_CHARACTERS - 30] + "…" + text[-29:]
    return f"<td{_NUMBER_STYLE if is_number else ''}>{escape(text)}</td>"


def findings_html(findings: Iterable[tuple[str, str, str]]) -> str:
    """A list of titles, each with its evidence and what to do about it; empty without any."""
    items = "".join(
        f"<li><b>{escape(title)}</b>: {escape(evidence)}"
        + (f"<br>{escape(suggestion)}" if suggestion else "")
        + "</li>"
        for title, evidence, suggestion in findings
    )
    return f"<ul>{items}</ul>" if items else ""
