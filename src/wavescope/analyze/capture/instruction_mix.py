"""What kinds of instructions a kernel executed, and what issuing them cost."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.analyze.capture.instruction_kinds import KINDS
from wavescope.analyze.capture.stall_types import by_kind
from wavescope.model.capture import Measure
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value

_COLUMNS = (
    ResultColumn("type", "Type"),
    ResultColumn("executed", "Executed", Unit.COUNT, "by all traced waves"),
    ResultColumn("executed_percent", "Share", Unit.PERCENT, "of all executed instructions"),
    ResultColumn("issue", "Issue", Unit.COUNT, "cycles of latency without stall"),
    ResultColumn("issue_percent", "Issue share", Unit.PERCENT, "of all issue cycles"),
    ResultColumn("stall", "Stall", Unit.COUNT, "where it shows"),
    ResultColumn("stall_per_execution", "Stall each", Unit.NONE, "mean"),
)


def instruction_mix(decoded: DecodedTrace) -> ResultTable | None:
    """Executions by kind, most first; None for PC samples, which count no executions."""
    instructions = decoded.instructions
    if instructions.measure is Measure.SAMPLES or not len(instructions):
        return None
    executed = by_kind(decoded.kind_code, instructions.hits)
    issue = by_kind(decoded.kind_code, np.maximum(instructions.latency - instructions.stall, 0))
    stall = by_kind(decoded.kind_code, instructions.stall)
    total, total_issue = max(int(executed.sum()), 1), max(int(issue.sum()), 1)
    rows: list[tuple[Value, ...]] = [
        (
            KINDS[code].value,
            int(executed[code]),
            100 * int(executed[code]) / total,
            int(issue[code]),
            100 * int(issue[code]) / total_issue,
            int(stall[code]),
            int(stall[code]) / int(executed[code]),
        )
        for code in np.argsort(-executed, kind="stable").tolist()
        if executed[code]
    ]
    return ResultTable("instruction_mix", "Instruction mix", _COLUMNS, rows) if rows else None
