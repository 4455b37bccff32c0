"""Who makes the others wait, and over which link."""

from __future__ import annotations

from wavescope.analyze.ranks.findings.context import RankContext
from wavescope.analyze.ranks.stragglers import Cause, Culprit, CulpritKind, PathPart, Verdict
from wavescope.model.result import Finding, Severity, Value
from wavescope.units import counted, duration_text

ID = "straggler"
LINK_ID = "slow-link"
INCONCLUSIVE_ID = "inconclusive"

_PROBLEM_PERCENT = 10.0
_NEXT_STEP = {
    Cause.SLOWER_COMPUTE: "compare clocks, power and temperature of its GPU with another rank's, "
    "and what else runs there",
    Cause.MORE_WORK: "balance tokens, experts, layers or sequence lengths between ranks",
    Cause.HOST_LATE: "look at its host: data loading, garbage collection, pinning of threads, "
    "other processes on its cores",
    Cause.SLOW_LINK: "test the link alone (nccl-tests, rccl-tests) and look at its errors, its "
    "speed and the path that traffic takes",
    Cause.WAITING_ONLY: "it waits for others: look at whom its exchanges wait for",
    Cause.UNKNOWN: "compare it with a rank that is on time",
}
_WORDS = {
    Cause.SLOWER_COMPUTE: "computes slower",
    Cause.MORE_WORK: "has more work",
    Cause.HOST_LATE: "is launched late by its host",
    Cause.SLOW_LINK: "has a slow link",
    Cause.WAITING_ONLY: "waits for others",
    Cause.UNKNOWN: "is late",
}


def stragglers(context: RankContext) -> list[Finding]:
    """A finding for each culprit, or that nobody can tell."""
    report = context.measures.report
    if report.verdict is Verdict.INCONCLUSIVE:
        return [_inconclusive(report.reason)]
    return [_finding(context, culprit) for culprit in report.culprits]


def _inconclusive(reason: str) -> Finding:
    return Finding(
        INCONCLUSIVE_ID,
        Severity.INFO,
        "who makes others wait cannot be told",
        reason or "the traces do not say enough",
        "record all ranks over the same steps, with collectives and their arguments; tables "
        "`clocks` and `mismatches` say what does not fit",
    )


def _finding(context: RankContext, culprit: Culprit) -> Finding:
    is_link = culprit.kind is CulpritKind.LINK or culprit.cause is Cause.SLOW_LINK
    is_problem = culprit.share_percent >= _PROBLEM_PERCENT
    numbers: dict[str, Value] = {
        "kind": culprit.kind.value,
        "cause": culprit.cause.value,
        "delay_ns": culprit.delay_ns,
        "share_percent": culprit.share_percent,
        "step_count": culprit.step_count,
        "ranks": context.measures.rank_text(culprit.places),
    }
    numbers |= {name: value for name, value in culprit.numbers.items() if name not in numbers}
    recurrence = culprit.recurrence or f"in {counted(culprit.step_count, 'step')}"
    return Finding(
        LINK_ID if is_link else ID,
        Severity.PROBLEM if is_problem else Severity.WARNING,
        _title(context, culprit),
        f"{culprit.evidence}; {duration_text(culprit.delay_ns)} of delay, {recurrence}",
        _suggestion(context, culprit),
        where=culprit.name,
        gain_percent=culprit.share_percent,
        gain_basis="steps without this delay",
        numbers=numbers,
    )


def _title(context: RankContext, culprit: Culprit) -> str:
    if culprit.kind is CulpritKind.ROTATING:
        return f"late ranks change from step to step: {culprit.share_percent:.1f} % of the time"
    name = culprit.name or context.ranks_name(culprit.places)
    words = _WORDS[culprit.cause]
    phase = f" in {culprit.phase}" if culprit.phase else ""
    return f"{name} {words}{phase}: {culprit.share_percent:.1f} % of the job's time"


def _suggestion(context: RankContext, culprit: Culprit) -> str:
    step = _NEXT_STEP[culprit.cause]
    if culprit.kind is CulpritKind.ROTATING:
        step = "look for what differs from step to step: data, garbage collection, checkpoints"
    shown = _worst_moment(context, culprit)
    return f"{step}; where it costs most: `{shown}`" if shown else step


def _worst_moment(context: RankContext, culprit: Culprit) -> str:
    """The command that shows the part of the critical path that it held up longest."""
    places = set(culprit.places)
    worst: PathPart | None = None
    for account in context.measures.report.steps:
        for part in account.parts:
            if part.place in places and (worst is None or part.excess_ns > worst.excess_ns):
                worst = part
    if worst is None or worst.excess_ns <= 0:
        return ""
    return context.view_common(worst.place, worst.start_ns, worst.end_ns)
