"""Runs all patterns and puts what they found in order: the plan of a traced kernel."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.idle_waves import told_nothing
from wavescope.analyze.capture.plan.context import Opportunity, PlanContext
from wavescope.analyze.capture.plan.kernel_counters import KernelCounters
from wavescope.analyze.capture.plan.patterns import PATTERNS
from wavescope.model.capture import Measure
from wavescope.model.result import (
    ColumnOf,
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    Value,
    table_of,
)

HIGH_PERCENT = 8.0
MEDIUM_PERCENT = 3.0
_MOST_SKETCHES = 5


class Priority(str, enum.Enum):
    """How much a change is worth at most."""

    HIGH = "HIGH"
    MEDIUM = "MED"
    LOW = "LOW"


_SEVERITY = {
    Priority.HIGH: Severity.PROBLEM,
    Priority.MEDIUM: Severity.WARNING,
    Priority.LOW: Severity.INFO,
}


class PlannedChange(NamedTuple):
    """An opportunity with what it is worth at most."""

    opportunity: Opportunity
    gain_percent: float | None
    gain_basis: str

    @property
    def priority(self) -> Priority:
        """By the gain; what decides about all others is as high as they can be."""
        return Priority.HIGH if self.opportunity.comes_first else priority_of(self.gain_percent)


def priority_of(gain_percent: float | None) -> Priority:
    """HIGH from 8 % of the waves' time, MED from 3 %."""
    if gain_percent is None or gain_percent < MEDIUM_PERCENT:
        return Priority.LOW
    return Priority.HIGH if gain_percent >= HIGH_PERCENT else Priority.MEDIUM


def planned_changes(context: PlanContext) -> list[PlannedChange]:
    """All opportunities: what decides about all others first, then that with the largest gain."""
    free = np.ones(len(context.pieces), np.bool_)
    found: list[Opportunity] = []
    for find in PATTERNS:
        for opportunity in find(context, free):
            free[opportunity.pieces] = False
            found.append(opportunity)
    worth = [
        each
        for each in _with_gains(context, found)
        if each.gain_percent is None or each.gain_percent >= context.LEAST_PERCENT
    ]
    return sorted(
        worth, key=lambda each: (not each.opportunity.comes_first, -(each.gain_percent or 0.0))
    )


def _with_gains(context: PlanContext, found: Sequence[Opportunity]) -> list[PlannedChange]:
    """What each is worth, those that claim stall no more than fits together."""
    gains = [context.gain(each) for each in found]
    claiming = [place for place, each in enumerate(found) if len(each.pieces)]
    for place, gain in zip(
        claiming, context.limits.shared([gains[place] for place in claiming]), strict=True
    ):
        gains[place] = gain
    return [PlannedChange(each, *gain) for each, gain in zip(found, gains, strict=True)]


def plan_result(analysis: CaptureAnalysis, counters: KernelCounters | None = None) -> Result:
    """The table `plan`, a table of before and after for the first changes, and findings."""
    context = PlanContext(analysis, counters)
    if (nothing := told_nothing(analysis)) is not None:
        empty = table_of("plan", "Priority order", _PLAN_COLUMNS, [])
        return Result("Plan", [empty], [nothing], _facts(context))
    is_sampled = _is_sampled(analysis)
    changes = [] if is_sampled else list(enumerate(planned_changes(context), 1))
    findings = [
        _finding(number, change, context.main_row(change.opportunity)) for number, change in changes
    ]
    if is_sampled:
        findings.append(_samples_only())
    elif not context.has_waves:
        findings.append(_rows_only())
    sketches = [
        _sketch_table(number, change)
        for number, change in changes[:_MOST_SKETCHES]
        if change.opportunity.sketch.before
    ]
    plan = table_of("plan", "Priority order", _PLAN_COLUMNS, changes)
    return Result("Plan", [plan, *sketches], findings, _facts(context))


def _is_sampled(analysis: CaptureAnalysis) -> bool:
    return analysis.instructions.measure is Measure.SAMPLES


def _facts(context: PlanContext) -> dict[str, Value]:
    capture, pieces = context.analysis.capture, context.pieces
    return {
        "path": capture.facts.path,
        "kernel": capture.kernel_name,
        "chip": context.analysis.chip.words,
        "wave_count": len(capture.waves),
        # Samples count where waves were: they are no cycles.
        "wave_cycles": None if _is_sampled(context.analysis) else context.lifetime,
        "stall_percent": context.share(int(pieces.stall.sum())),
        "exposed_stall_percent": context.share(int(pieces.exposed.sum()))
        if context.has_waves
        else None,
        "memory": context.memory.words if context.memory else None,
        "partial": "; ".join(capture.missing) or None,
    }


_PLAN_COLUMNS: tuple[ColumnOf[tuple[int, PlannedChange]], ...] = (
    ResultColumn("number", "#", Unit.COUNT).of(lambda each: each[0]),
    ResultColumn("priority", "Priority", Unit.NAME, "HIGH from 8 % gain, MED from 3 %").of(
        lambda each: each[1].priority.value
    ),
    ResultColumn("pattern", "Pattern", Unit.NAME).of(lambda each: each[1].opportunity.pattern),
    ResultColumn("where", "Where", Unit.NAME).of(lambda each: each[1].opportunity.where),
    ResultColumn("gain_percent", "Gain at most", Unit.PERCENT, "of the waves' time").of(
        lambda each: each[1].gain_percent
    ),
    ResultColumn("title", "What", Unit.NAME).of(lambda each: each[1].opportunity.title),
)


def _sketch_table(number: int, change: PlannedChange) -> ResultTable:
    sketch = change.opportunity.sketch
    lines = zip_longest(sketch.before, sketch.after, fillvalue="")
    columns: list[ColumnOf[tuple[str, str]]] = [
        ResultColumn("before", "Before", Unit.NAME).of(lambda line: line[0]),
        ResultColumn("after", "After", Unit.NAME).of(lambda line: line[1]),
    ]
    title = f"#{number} {change.opportunity.where}: {change.opportunity.pattern}"
    return table_of(f"sketch_{number}", title, columns, lines)


def _finding(number: int, change: PlannedChange, row: int | None) -> Finding:
    opportunity = change.opportunity
    return Finding(
        opportunity.pattern,
        _SEVERITY[change.priority],
        f"#{number} [{change.priority.value}] {opportunity.title}",
        f"{opportunity.evidence}. Root cause: {opportunity.cause}",
        opportunity.fix,
        opportunity.where,
        change.gain_percent,
        change.gain_basis,
        numbers=dict(opportunity.numbers)
        | {
            "priority": change.priority.value,
            "row": row,
            "before": "\n".join(opportunity.sketch.before),
            "after": "\n".join(opportunity.sketch.after),
        },
    )


def _rows_only() -> Finding:
    return Finding(
        "plan-rows-only",
        Severity.INFO,
        "gains are rough: the capture has no wave files",
        "loops, distances between load and use, and what other waves hide are unknown",
        "keep the whole folder that rocprofv3 wrote, se*_sm*_sl*_wv*.json included",
    )


def _samples_only() -> Finding:
    return Finding(
        "plan-samples-only",
        Severity.INFO,
        "no plan: the capture holds PC samples, not a thread trace",
        "samples count where waves were, not for how long or what they waited for",
        "capture a thread trace: `wavescope capture --kernel REGEX -- CMD`",
    )
