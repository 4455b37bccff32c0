"""What one trace says: what it holds, where its time goes, what is worth changing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from wavescope.analyze.summary import SummaryOptions, summarize
from wavescope.api.opened import Where, concluded, opened, selection_of
from wavescope.model.paths import PathLike
from wavescope.model.progress import Tell, tell_nobody
from wavescope.model.result import Finding, Result, ResultTable
from wavescope.model.selection import Selection
from wavescope.model.trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from wavescope.analyze.quick_findings import Thresholds


def summary(
    trace: Trace | PathLike,
    options: SummaryOptions | None = None,
    *,
    captures: Sequence[Trace | PathLike] = (),
    selection: Selection | None = None,
    tell: Tell = tell_nobody,
    **where: Unpack[Where],
) -> Result:
    """Kernels, operators, utilization, gaps, copies, host calls and findings of a trace.

    `captures` are traces in which the graphs that this one replays were captured: their operators
    are those of the replays.
    """
    chosen, options = selection_of(selection, where), options or SummaryOptions()
    with opened(trace, chosen) as part, ExitStack() as stack:
        given = (*options.operators.captures, *captures)
        shown = tuple(stack.enter_context(opened(each)) for each in given)
        operators = replace(options.operators, captures=shown)
        result = summarize(part, replace(options, operators=operators))
        if options.work:
            result = result.with_tables(*_work_tables(trace, part, chosen, shown))
        return concluded(result, [part], chosen, tell)


def _work_tables(
    trace: Trace | PathLike, part: Trace, selection: Selection, captures: Sequence[Trace]
) -> Sequence[ResultTable]:
    # Few summaries ask for it, and it imports every formula.
    from wavescope.api.work import work  # noqa: PLC0415

    # A kernel's name chooses operators, whose other kernels count, too: `part` has them no more.
    if selection.kernel:
        return work(trace, captures=captures, selection=selection).tables
    return work(part, captures=captures).tables


def findings_result(
    trace: Trace | PathLike,
    thresholds: Thresholds | None = None,
    *,
    only: Sequence[str] = (),
    selection: Selection | None = None,
    tell: Tell = tell_nobody,
    **where: Unpack[Where],
) -> Result:
    """What is worth changing, the gravest first, as a table and as findings.

    `only` names the ids of the findings that are wanted, all by default.
    """
    # Phases and all finders: more than a summary needs, which this module is imported for, too.
    from wavescope.analyze import findings as all_findings  # noqa: PLC0415

    chosen = selection_of(selection, where)
    with opened(trace, chosen) as part:
        result = all_findings.findings_result(part, thresholds, only)
        return concluded(result, [part], chosen, tell)


def findings(
    trace: Trace | PathLike,
    thresholds: Thresholds | None = None,
    *,
    only: Sequence[str] = (),
    selection: Selection | None = None,
    **where: Unpack[Where],
) -> list[Finding]:
    """What is worth changing, the gravest first, each with its numbers, SQL and next step."""
    result = findings_result(trace, thresholds, only=only, selection=selection, **where)
    return list(result.findings)


find = findings
"""The same by its first name."""
