"""Several captures side by side, to choose one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.analyze.capture.instruction_kinds import KINDS
from wavescope.analyze.capture.stall_types import split_stall
from wavescope.model.capture import ThreadTrace
from wavescope.model.result import Finding, Result, ResultColumn, ResultTable, Severity, Unit, Value

_MOST_REASONS = 3
_COLUMNS = (
    ResultColumn("kernel", "Kernel", Unit.NAME),
    ResultColumn("dispatch", "Dispatch", Unit.NONE),
    ResultColumn("stall", "Stall", Unit.COUNT),
    ResultColumn("stall_rate_percent", "Stall rate", Unit.PERCENT, "stall of latency"),
    ResultColumn("type", "Main type", meaning="the type with most of the stall"),
    ResultColumn("executed_rows", "Executed", Unit.COUNT, "instructions that ran"),
    ResultColumn("waves", "Waves", Unit.COUNT, "wave files that are listed"),
    ResultColumn("is_partial", "Partial"),
    ResultColumn("path", "Path"),
)


def capture_overview(traces: Sequence[ThreadTrace], unreadable: Sequence[str] = ()) -> Result:
    """One row per capture in the order given; what could not be read becomes a finding."""
    result = Result(title="Thread-trace captures", facts={"capture_count": len(traces)})
    rows = [_row(DecodedTrace(trace)) for trace in traces]
    result.tables.append(ResultTable("captures", "Captures", _COLUMNS, rows))
    if unreadable:
        result.findings.append(_unreadable(unreadable))
    return result


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


def _row(decoded: DecodedTrace) -> tuple[Value, ...]:
    trace = decoded.trace
    latency = int(decoded.instructions.latency.sum())
    sums = split_stall(decoded)
    return (
        trace.kernel_name or trace.capture.name,
        trace.capture.dispatch_id,
        decoded.total_stall,
        100 * decoded.total_stall / latency if latency else None,
        KINDS[int(np.argmax(sums))].value if decoded.total_stall else None,
        int(decoded.executed_rows.sum()),
        trace.capture.expected_waves,
        trace.is_partial,
        trace.capture.path,
    )
