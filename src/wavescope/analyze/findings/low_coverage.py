"""Traces that do not hold enough of what ran to support conclusions."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.ops.coverage import coverage_sentence
from wavescope.analyze.quick_findings import evidence_sql
from wavescope.model.result import Finding, Severity

ID = "low-coverage"


def low_coverage(context: FindingContext) -> list[Finding]:
    """One finding if the recorder timed too few of the dispatches it saw, or none."""
    table, limits = context.trace.coverage, context.thresholds
    if not len(table):
        return []
    table.load("seen", "timed", "skipped", "lost")
    seen, timed, skipped, lost = (
        int(np.maximum(table[name], 0).sum()) for name in ("seen", "timed", "skipped", "lost")
    )
    share = 100 * timed / seen if seen else 100.0
    if share >= limits.coverage_percent:
        return []
    return [
        Finding(
            ID,
            Severity.PROBLEM if share < limits.coverage_problem_percent else Severity.WARNING,
            f"Only {share:.1f} % of the dispatches are in the trace",
            f"the recorder {coverage_sentence(context.trace)}; busy times are lower bounds, idle "
            f"times upper bounds, and shares of phases and kernels may be wrong",
            "record again with a mode that times what is missing (`wavescope trace --mode full` "
            "for graph replays) before acting on other findings",
            "trace",
            sql=evidence_sql.coverage_sql(),
            numbers={
                "seen": seen,
                "timed": timed,
                "skipped": skipped,
                "lost": lost,
                "timed_percent": share,
            },
        )
    ]
