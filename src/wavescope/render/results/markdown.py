"""Writes a result as GitHub-flavoured Markdown, for issues and pull requests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TextIO

from wavescope.model.result import Finding, Result, ResultTable
from wavescope.render.cells.columns import (
    FormattedColumn,
    counted_from_start,
    fact_label,
    fact_text,
    format_columns,
    gain_text,
)
from wavescope.render.cells.escape import shortened, shortened_texts, visible
from wavescope.units import count_text

_LONGEST_CELL = 120
_MARKUP = re.compile(r"[\\`*_\[\]|~#]")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def write_markdown(result: Result, stream: TextIO) -> None:
    """Write all of `result` to `stream`."""
    result = counted_from_start(result)
    sections = [f"## {escaped(result.title)}"] if result.title else []
    if result.facts:
        sections.append(
            "\n".join(
                f"- {escaped(fact_label(key))}: {escaped(fact_text(key, value))}"
                for key, value in result.facts.items()
            )
        )
    sections += [_table_markdown(table) for table in result.tables]
    if result.findings:
        sections.append(_findings_markdown(result.findings))
    stream.write("\n\n".join(sections) + "\n")


def escaped(text: str) -> str:
    """`text` such that Markdown shows it literally: no markup, HTML, cell or line ends."""
    text = shortened(visible(text), _LONGEST_CELL)
    text = _MARKUP.sub(lambda match: "\\" + match.group(), text)
    return re.sub("[&<>]", lambda match: _HTML[match.group()], text)


def table_head(columns: list[FormattedColumn]) -> list[str]:
    """The header row and the row that aligns the columns."""
    titles = [
        escaped(column.title) + (f" ({escaped(column.unit)})" if column.unit else "")
        for column in columns
    ]
    return [
        _row(titles),
        _row(["---:" if column.is_number else "---" for column in columns]),
    ]


def table_row(cells: list[str] | tuple[str, ...]) -> str:
    """One row of already spelled cells."""
    return _row([escaped(cell) for cell in cells])


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _table_markdown(table: ResultTable) -> str:
    columns = format_columns(table)
    lines = [f"### {escaped(table.title)}", "", *table_head(columns)]
    cells = [
        column.cells if column.is_number else shortened_texts(column.cells, _LONGEST_CELL)
        for column in columns
    ]
    lines += [table_row(row) for row in zip(*cells, strict=True)]
    total = len(table.rows) if table.total_rows is None else table.total_rows
    if total > len(table.rows):
        lines += ["", f"{count_text(len(table.rows))} of {count_text(total)} rows"]
    return "\n".join(lines)


def _findings_markdown(findings: Sequence[Finding]) -> str:
    lines = ["### Findings", ""]
    for finding in findings:
        place = f" ({escaped(finding.where)})" if finding.where else ""
        lines.append(
            f"- **{finding.severity.value}: {escaped(finding.title)}**: "
            f"{_sentence(finding.evidence)}{place}{_advice(finding)}"
        )
    return "\n".join(lines)


def _advice(finding: Finding) -> str:
    gain = gain_text(finding)
    parts = [f"; gain {_sentence(gain)}" if gain else ""]
    parts.append(f"; suggestion: {_sentence(finding.suggestion)}" if finding.suggestion else "")
    return "".join(parts)


def _sentence(text: str) -> str:
    return " ".join(escaped(part.rstrip()) for part in re.findall(r".{1,100}(?:\s|$)|\S+", text))
