"""Writes tables of metrics as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TextIO

from wavescope.model.result import Finding, Result, ResultTable
from wavescope.render.escape import visible
from wavescope.render.metric_tables import NumberStyle, reasons, spelled_metrics
from wavescope.render.values import fact_label, fact_text

_STYLE = """body{font:14px/1.4 sans-serif;margin:2em auto;max-width:75em;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:.3em 0 1em}
th,td{padding:.15em .7em;border-bottom:1px solid #ddd}
th{text-align:left;position:sticky;top:0;background:#fff}td.n,th.n{text-align:right;
font-variant-numeric:tabular-nums}td.k{max-width:34em;overflow-wrap:anywhere}
p.r{color:#777;margin:.2em 0}li{margin:.5em 0}summary{cursor:pointer;font-weight:bold;margin:.6em 0}
.problem b{color:#b00020}.warning b{color:#9a6700}"""


def write_metric_html(
    result: Result, stream: TextIO, numbers: NumberStyle, pictures: Mapping[str, str]
) -> None:
    """Write facts, findings and tables; `pictures` are SVG drawings by the table they belong to."""
    facts = "".join(
        f"<tr><th>{_safe(fact_label(key))}</th><td>{_safe(fact_text(key, value))}</td></tr>"
        for key, value in result.facts.items()
    )
    stream.write(
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f"<title>{_safe(result.title)}</title>\n<style>{_STYLE}</style></head>\n<body>\n"
        f"<h1>{_safe(result.title)}</h1>\n<table>{facts}</table>\n"
    )
    if result.findings:
        items = "\n".join(map(_finding_html, result.findings))
        stream.write(f"<h2>Findings</h2>\n<ul>\n{items}\n</ul>\n")
    for table in result.tables:
        stream.write(_table_html(table, numbers, pictures.get(table.name, "")))
    stream.write("</body></html>\n")


def _table_html(table: ResultTable, numbers: NumberStyle, picture: str) -> str:
    columns = spelled_metrics(table, numbers)
    head = "".join(
        f"<th{' class=n' if column.is_number else ''}>{escape(column.title)}"
        f"{f' ({escape(column.unit)})' if column.unit else ''}</th>"
        for column in columns
    )
    body = "\n".join(
        "<tr>"
        + "".join(
            f'<td class="{"n" if column.is_number else "k"}">{escape(cell)}</td>'
            for column, cell in zip(columns, cells, strict=True)
        )
        + "</tr>"
        for cells in zip(*(column.cells for column in columns), strict=True)
    )
    told = "".join(f'<p class="r">{_safe(reason)}</p>\n' for reason in reasons(table))
    return (
        f"<details open><summary>{_safe(table.title)}</summary>\n{picture}"
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>\n{told}"
        "</details>\n"
    )


def _finding_html(finding: Finding) -> str:
    advice = f"<br>{_safe(finding.suggestion)}" if finding.suggestion else ""
    place = f" <i>{_safe(finding.where)}</i>" if finding.where else ""
    return (
        f'<li class="{finding.severity.value}"><b>{_safe(finding.title)}</b>: '
        f"{_safe(finding.evidence)}{place}{advice}</li>"
    )


def _safe(text: str) -> str:
    return escape(visible(text))
