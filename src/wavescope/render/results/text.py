"""Writes a result as text for a terminal: facts, tables and findings within a given width."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TextIO

from wavescope.model.result import Finding, Result, ResultTable, Severity, Value
from wavescope.render.cells.columns import (
    counted_from_start,
    fact_label,
    fact_text,
    format_columns,
    gain_text,
)
from wavescope.render.cells.escape import cell_width, padded, visible
from wavescope.render.cells.layout import TableLayout, layout_table
from wavescope.units import count_text

_COLOR_OF = {Severity.INFO: "36", Severity.WARNING: "33", Severity.PROBLEM: "31"}


class TextStyle(NamedTuple):
    """How wide lines may be, and whether the reader's terminal shows colours."""

    width: int = 80
    color: bool = False

    def bold(self, text: str) -> str:
        """`text` emphasised where colours are shown."""
        return self.painted(text, "1")

    def painted(self, text: str, code: str) -> str:
        """`text` in the terminal's colour `code` where colours are shown."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text


def write_text(result: Result, stream: TextIO, style: TextStyle) -> None:
    """Write all of `result` to `stream`."""
    result = counted_from_start(result)
    sections = [_facts_text(result.title, result.facts, style)]
    sections += [_table_text(table, style) for table in result.tables]
    if result.findings:
        sections.append(_findings_text(result.findings, style))
    stream.write("\n\n".join(section for section in sections if section) + "\n")


def result_layout(table: ResultTable, width: int) -> TableLayout:
    """The layout of a result table in at most `width` cells."""
    return layout_table(format_columns(table), width)


def left_out_note(layout: TableLayout) -> str:
    """A sentence on the columns that did not fit, or nothing."""
    if not layout.left_out:
        return ""
    names = ", ".join(layout.left_out)
    return f"(no room for: {names}; a wider terminal, --json or --format csv show them)"


def _facts_text(title: str, facts: Mapping[str, Value], style: TextStyle) -> str:
    lines = [style.bold(visible(title))] if title else []
    labels = {key: visible(fact_label(key)) for key in facts}
    label_width = max((cell_width(label) for label in labels.values()), default=0)
    for key, label in labels.items():
        text = fact_text(key, facts[key])
        lines += _hanging(padded(label, label_width, right=False) + "  ", text, style.width)
    return "\n".join(lines)


def _table_text(table: ResultTable, style: TextStyle) -> str:
    lines = [style.bold(visible(table.title))]
    if not table.rows:
        return "\n".join([*lines, "(no rows)"])
    layout = result_layout(table, style.width)
    lines += layout.header() + layout.body()
    total = len(table.rows) if table.total_rows is None else table.total_rows
    if total > len(table.rows):
        lines.append(f"({count_text(len(table.rows))} of {count_text(total)} rows)")
    if note := left_out_note(layout):
        lines += _hanging("", note, style.width)
    return "\n".join(lines)


def _findings_text(findings: Sequence[Finding], style: TextStyle) -> str:
    lines = [style.bold("Findings")]
    for finding in findings:
        severity = style.painted(finding.severity.value, _COLOR_OF[finding.severity])
        head = _hanging("", f"{finding.severity.value}: {visible(finding.title)}", style.width)
        lines.append(head[0].replace(finding.severity.value, severity, 1))
        lines += head[1:]
        place = f" [{visible(finding.where)}]" if finding.where else ""
        lines += _hanging("  ", visible(finding.evidence) + place, style.width)
        if gain := gain_text(finding):
            lines += _hanging("  ", f"gain {visible(gain)}", style.width)
        if finding.suggestion:
            lines += _hanging("  -> ", visible(finding.suggestion), style.width)
    return "\n".join(lines)


def _hanging(first: str, text: str, width: int) -> list[str]:
    indent = " " * cell_width(first)
    wrapped = textwrap.wrap(
        text, max(width - len(indent), 20), break_long_words=True, break_on_hyphens=False
    )
    wrapped = wrapped or [""]
    return [(first + wrapped[0]).rstrip(), *(indent + line for line in wrapped[1:])]
