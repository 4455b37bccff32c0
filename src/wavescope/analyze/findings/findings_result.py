"""The findings of a trace as a result: a table for programs, the findings for people."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.analyze.findings.find_all import find
from wavescope.analyze.findings.thresholds import DEFAULT_THRESHOLDS, Thresholds
from wavescope.analyze.summary.coverage import coverage
from wavescope.model.result import Finding, Result, ResultColumn, ResultTable, Unit, Value
from wavescope.model.trace import Trace

_COLUMNS = (
    ResultColumn("id", "Finding", Unit.NAME, "which finding, see docs/findings.md"),
    ResultColumn("severity", "Severity", Unit.NAME, "problem, warning or info"),
    ResultColumn("where", "Where", Unit.NAME, "GPU, phase or kernel it is about"),
    ResultColumn("gain_percent", "Gain %", Unit.PERCENT, "of the time of `where`, at most"),
    ResultColumn("title", "Title", Unit.NAME, "the conclusion"),
    ResultColumn("sql", "SQL", Unit.NAME, "query that shows the evidence"),
)


def findings_result(
    trace: Trace,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    only: Sequence[str] = (),
) -> Result:
    """Table `findings` and the findings themselves, all or only those with some ids."""
    found = [finding for finding in find(trace, thresholds) if not only or finding.id in only]
    facts: dict[str, Value] = {
        "path": trace.path,
        "op_count": len(trace.ops),
        "finding_count": len(found),
        "coverage": coverage(trace).facts["coverage"],
    }
    rows = [_row(finding) for finding in found]
    return Result("Findings", [ResultTable("findings", "Findings", _COLUMNS, rows)], found, facts)


def _row(finding: Finding) -> tuple[Value, ...]:
    return (
        finding.id,
        finding.severity.value,
        finding.where or None,
        finding.gain_percent,
        finding.title,
        finding.sql or None,
    )
