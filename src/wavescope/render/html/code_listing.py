"""Source lines and instructions beside each other, readable without scripts.

`static/capture.js` ties them together: rows carry the key of their line, waits the rows they waited
for.
"""

from __future__ import annotations

from wavescope.analyze.capture.page import CodeRow, CodeView, SourceLine, SourceView, Stall
from wavescope.render.html.markup import Html, bounded, element
from wavescope.units import count_text

_LONGEST_CODE = 240


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
            f"what it waits for.{left_out}",
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
        ),
    )


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
