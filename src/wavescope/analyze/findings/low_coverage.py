"""Traces that do not hold enough of what ran to support conclusions, or its newest part only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.ops.coverage import coverage_sentence, dispatch_numbers, older_than_kept
from wavescope.analyze.quick_findings import evidence_sql
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Finding, Severity
from wavescope.model.trace import Trace
from wavescope.units import count_text

ID = "low-coverage"


def low_coverage(context: FindingContext, told_elsewhere: int = 0) -> list[Finding]:
    """One finding if too few of the dispatches are in the trace, or none.

    Why `told_elsewhere` dispatches are missing is told by another finding.
    """
    table, limits = context.trace.coverage, context.thresholds
    if not len(table):
        return _missing_numbers(context)
    table.load("seen", "timed", "skipped", "lost")
    seen, timed, skipped, lost = (
        int(np.maximum(table[name], 0).sum()) for name in ("seen", "timed", "skipped", "lost")
    )
    share = 100 * timed / seen if seen else 100.0
    explained = timed + told_elsewhere
    if 100 * explained >= limits.coverage_percent * seen:
        return []
    found = Finding(
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
    older = older_than_kept(context.trace)
    if 100 * (explained + sum(older.values())) >= limits.coverage_percent * seen:
        kept = f"{count_text(timed)} of {count_text(seen)}"
        return [_as_asked(found, context.trace, kept, list(older))]
    return [found]


def _as_asked(found: Finding, trace: Trace, kept: str, options: Sequence[str]) -> Finding:
    """The finding where hardly more is missing than what made room for newer ones."""
    return found._replace(
        severity=Severity.INFO,
        title=f"The newest part of the run is in the trace, as asked: {kept} dispatches",
        evidence=f"the recorder {coverage_sentence(trace)}; other findings are about that part",
        suggestion=f"raise {' and '.join(f'`{each}`' for each in options)} to have more of the run",
    )


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
            f"Only {share:.1f} % of the dispatches are in the trace: their numbers have gaps",
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
