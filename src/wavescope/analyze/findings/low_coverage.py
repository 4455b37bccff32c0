"""Traces that do not hold enough of what ran to support conclusions."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.ops.coverage import coverage_sentence, dispatch_numbers
from wavescope.analyze.quick_findings import evidence_sql
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Finding, Severity
from wavescope.units import count_text

ID = "low-coverage"


def low_coverage(context: FindingContext) -> list[Finding]:
    """One finding if too few of the dispatches are in the trace, or none."""
    table, limits = context.trace.coverage, context.thresholds
    if not len(table):
        return _missing_numbers(context)
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
            f"the recorder {coverage_sentence(context.trace)}; {_consequence(context)}",
            "record again with a mode that times what is missing (`wavescope trace`, the "
            "mode standard, times all) before acting on other findings",
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


def _consequence(context: FindingContext) -> str:
    """What cannot be relied on: where whole graphs were timed, their kernels are unknown."""
    if (context.trace.op_kind == OpKind.GRAPH_RUN).any():
        return (
            "runs of graphs are timed as a whole: kernels and their shares are those outside of "
            "graphs"
        )
    return (
        "busy times are lower bounds, idle times upper bounds, and shares of phases and kernels "
        "may be wrong"
    )


def _missing_numbers(context: FindingContext) -> list[Finding]:
    """The same where a trace says nothing of its coverage, but its dispatches are numbered."""
    numbers, limits = context.trace.whole.derived(dispatch_numbers), context.thresholds
    if numbers is None or 100 * numbers.present >= limits.coverage_percent * numbers.numbered:
        return []
    share = 100 * numbers.present / numbers.numbered
    return [
        Finding(
            ID,
            Severity.PROBLEM if share < limits.coverage_problem_percent else Severity.WARNING,
            f"Only {share:.1f} % of the dispatches are in the trace: their numbers jump",
            f"{count_text(numbers.present)} of {count_text(numbers.numbered)} dispatches between "
            f"the first and the last number; busy times are lower bounds, idle times upper bounds, "
            f"and shares of phases and kernels may be wrong",
            "look for what left dispatches out (a filter of kernels, sampling, an edited file), "
            "and record all of them before acting on other findings",
            "trace",
            sql=evidence_sql.numbered_sql(),
            numbers={
                "seen": numbers.numbered,
                "timed": numbers.present,
                "timed_percent": share,
            },
        )
    ]
