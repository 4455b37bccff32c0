"""Several captures side by side, to choose one."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.analyze.capture.analysis import CaptureAnalysis, percent_of
from wavescope.analyze.capture.stall_types import main_type
from wavescope.model.capture import Capture
from wavescope.model.result import ColumnOf, Finding, Result, ResultColumn, Severity, Unit, table_of

_MOST_REASONS = 3
_COLUMNS: tuple[ColumnOf[CaptureAnalysis], ...] = (
    ResultColumn("kernel", "Kernel", Unit.NAME).of(
        lambda each: each.capture.kernel_name or each.capture.facts.name
    ),
    ResultColumn("dispatch", "Dispatch", Unit.NONE).of(lambda each: each.capture.facts.dispatch_id),
    ResultColumn("stall", "Stall", Unit.COUNT).of(lambda each: each.total_stall),
    ResultColumn("stall_rate_percent", "Stall rate", Unit.PERCENT, "stall of latency").of(
        lambda each: percent_of(each.total_stall, int(each.instructions.latency.sum()))
    ),
    ResultColumn("type", "Main type", meaning="the type with most of the stall").of(main_type),
    ResultColumn("executed_rows", "Executed", Unit.COUNT, "instructions that ran").of(
        lambda each: int(each.executed_rows.sum())
    ),
    ResultColumn("waves", "Waves", Unit.COUNT, "wave files that are listed").of(
        lambda each: each.capture.facts.expected_waves
    ),
    ResultColumn("is_partial", "Partial").of(lambda each: each.capture.is_partial),
    ResultColumn("path", "Path").of(lambda each: each.capture.facts.path),
)


def capture_overview(captures: Sequence[Capture], unreadable: Sequence[str] = ()) -> Result:
    """One row per capture in the order given; what could not be read becomes a finding."""
    return Result(
        "Captures",
        [table_of("captures", "Captures", _COLUMNS, map(CaptureAnalysis, captures))],
        [_unreadable(unreadable)] if unreadable else [],
        {"capture_count": len(captures)},
    )


def _unreadable(reasons: Sequence[str]) -> Finding:
    left = len(reasons) - _MOST_REASONS
    title = "1 capture" if len(reasons) == 1 else f"{len(reasons):,} captures"
    return Finding(
        "capture-unreadable",
        Severity.WARNING,
        f"{title} cannot be read",
        "; ".join(reasons[:_MOST_REASONS]) + (f"; and {left:,} more" if left > 0 else ""),
        numbers={"unreadable": len(reasons)},
    )
