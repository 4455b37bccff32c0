"""Runs all patterns and puts what they found in order: the plan of a traced kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.analyze.capture.plan.context import Counters, PlanContext
from wavescope.analyze.capture.plan.opportunity import (
    LEAST_PERCENT,
    REMOVED_ROWS,
    REMOVED_STALL,
    Opportunity,
    Priority,
    priority_of,
)
from wavescope.analyze.capture.plan.patterns import (
    back_to_back_loads,
    barrier_skew,
    exposed_load,
    lds_before_matrix,
    lds_conflicts,
    load_in_matrix_loop,
    low_occupancy,
    matrix_chain,
    memory_bound,
    scalar_entry,
    scale_load,
    spills,
    uneven_waves,
)
from wavescope.model.capture import Flags, Measure
from wavescope.model.result import Finding, Result, ResultColumn, ResultTable, Severity, Unit, Value

PATTERNS: tuple[Callable[[PlanContext, Flags], list[Opportunity]], ...] = (
    spills.find,
    scalar_entry.find,
    scale_load.find,
    lds_before_matrix.find,
    back_to_back_loads.find,
    load_in_matrix_loop.find,
    exposed_load.find,
    matrix_chain.find,
    barrier_skew.find,
    low_occupancy.find,
    uneven_waves.find,
    lds_conflicts.find,
    memory_bound.find,
)
"""In this order: stall that one pattern explains is not counted again by the next."""
_MOST_SKETCHES = 5
_SEVERITY = {
    Priority.HIGH: Severity.PROBLEM,
    Priority.MEDIUM: Severity.WARNING,
    Priority.LOW: Severity.INFO,
}
_PLAN_COLUMNS = (
    ResultColumn("number", "#", Unit.COUNT),
    ResultColumn("priority", "Priority", Unit.NAME, "HIGH from 8 % gain, MED from 3 %"),
    ResultColumn("pattern", "Pattern", Unit.NAME),
    ResultColumn("where", "Where", Unit.NAME),
    ResultColumn("gain_percent", "Gain at most", Unit.PERCENT, "of the waves' time"),
    ResultColumn("title", "What", Unit.NAME),
)
_SKETCH_COLUMNS = (
    ResultColumn("before", "Before", Unit.NAME),
    ResultColumn("after", "After", Unit.NAME),
)


class PlannedChange(NamedTuple):
    """An opportunity with what it is worth at most."""

    opportunity: Opportunity
    priority: Priority
    gain_percent: float | None
    gain_basis: str


def planned_changes(context: PlanContext) -> list[PlannedChange]:
    """All opportunities, that with the largest gain first."""
    free = np.ones(len(context.pieces), np.bool_)
    found: list[PlannedChange] = []
    for find in PATTERNS:
        for opportunity in find(context, free):
            free[opportunity.pieces] = False
            found.append(_planned(context, opportunity))
    worth = [
        each for each in found if each.gain_percent is None or each.gain_percent >= LEAST_PERCENT
    ]
    return sorted(worth, key=lambda each: -(each.gain_percent or 0.0))


def plan_result(decoded: DecodedTrace, counters: Counters | None = None) -> Result:
    """The table `plan`, a table of before and after for the first changes, and findings."""
    context = PlanContext(decoded, counters)
    is_sampled = decoded.instructions.measure is Measure.SAMPLES
    changes = [] if is_sampled else planned_changes(context)
    result = Result("Plan", [_plan_table(changes)], facts=_facts(context))
    for number, change in enumerate(changes, 1):
        sketch = change.opportunity.sketch
        if sketch.before and number <= _MOST_SKETCHES:
            result.tables.append(_sketch_table(number, change))
        result.findings.append(_finding(number, change))
    if is_sampled:
        result.findings.append(_samples_only())
    elif not context.has_waves:
        result.findings.append(_rows_only())
    return result


def _planned(context: PlanContext, opportunity: Opportunity) -> PlannedChange:
    if opportunity.gain_cycles is not None:
        gain = min(context.share(opportunity.gain_cycles), 100.0)
        return PlannedChange(opportunity, priority_of(gain), gain, opportunity.gain_basis)
    if not len(opportunity.pieces):
        return PlannedChange(opportunity, Priority.LOW, None, "")
    exposed = int(context.pieces.exposed[opportunity.pieces].sum())
    basis = REMOVED_STALL if context.has_waves else REMOVED_ROWS
    gain = min(context.share(exposed), 100.0)
    words = basis.format(exposed=exposed, lifetime=context.lifetime)
    return PlannedChange(opportunity, priority_of(gain), gain, words)


def _facts(context: PlanContext) -> dict[str, Value]:
    trace, pieces = context.decoded.trace, context.pieces
    return {
        "path": trace.capture.path,
        "kernel": trace.kernel_name,
        "chip": f"{context.decoded.chip.name or 'unknown'} ({context.decoded.chip.basis})",
        "wave_count": len(trace.waves),
        "wave_cycles": context.lifetime,
        "stall_percent": context.share(int(pieces.stall.sum())),
        "exposed_stall_percent": context.share(int(pieces.exposed.sum()))
        if context.has_waves
        else None,
        "partial": "; ".join(trace.missing) or None,
    }


def _plan_table(changes: list[PlannedChange]) -> ResultTable:
    rows: list[tuple[Value, ...]] = [
        (
            number,
            change.priority.value,
            change.opportunity.pattern,
            change.opportunity.where,
            change.gain_percent,
            change.opportunity.title,
        )
        for number, change in enumerate(changes, 1)
    ]
    return ResultTable("plan", "Priority order", _PLAN_COLUMNS, rows)


def _sketch_table(number: int, change: PlannedChange) -> ResultTable:
    sketch = change.opportunity.sketch
    length = max(len(sketch.before), len(sketch.after))
    before, after = (
        [*lines, *[""] * (length - len(lines))] for lines in (sketch.before, sketch.after)
    )
    rows: list[tuple[Value, ...]] = list(zip(before, after, strict=True))
    title = f"#{number} {change.opportunity.where}: {change.opportunity.pattern}"
    return ResultTable(f"sketch_{number}", title, _SKETCH_COLUMNS, rows)


def _finding(number: int, change: PlannedChange) -> Finding:
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
        "capture a thread trace: `wavescope capture-att --kernel REGEX -- CMD`",
    )
