"""How far a trace can be trusted: what its recorder saw, timed, skipped and lost."""

from __future__ import annotations

import numpy as np

from wavescope.arrays import Array
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.model.trace import Trace

UNKNOWN_COVERAGE = "unknown: the trace does not say what was skipped"

_COLUMNS = (
    ResultColumn("process", "Process", meaning="process row, see `processes`"),
    ResultColumn("gpu", "GPU", meaning="GPU number"),
    ResultColumn("queue", "Queue", meaning="queue number"),
    ResultColumn("mode", "Mode", Unit.NAME, "recording mode"),
    ResultColumn("seen", "Seen", Unit.COUNT, "dispatches that passed the recorder"),
    ResultColumn("timed", "Timed", Unit.COUNT, "of these, recorded with times"),
    ResultColumn("skipped", "Skipped", Unit.COUNT, "of these, left out on purpose"),
    ResultColumn("lost", "Lost", Unit.COUNT, "of these, lost"),
    ResultColumn("reason", "Reason", Unit.NAME, "why they were skipped or lost"),
)


def coverage(trace: Trace) -> Result:
    """The fact `coverage` always; a table when the trace states what it covers."""
    table = trace.coverage
    result = Result("Coverage", facts={"coverage": UNKNOWN_COVERAGE})
    if not len(table):
        return result
    table.load(*(column.name for column in _COLUMNS))
    result.tables.append(ResultTable("coverage", "Coverage", _COLUMNS, _rows(trace)))
    seen, timed, skipped, lost = (
        _known_sum(table[name]) for name in ("seen", "timed", "skipped", "lost")
    )
    result.facts["coverage"] = _sentence(seen, timed, skipped, lost)
    return result


def _rows(trace: Trace) -> list[tuple[Value, ...]]:
    table = trace.coverage
    columns: list[list[Value]] = []
    for column in _COLUMNS:
        if column.unit is Unit.NAME:
            columns.append(list(table.strings(column.name)))
        else:
            columns.append([value if value >= 0 else None for value in table[column.name].tolist()])
    return list(zip(*columns, strict=True))


def _known_sum(values: Array) -> int:
    return int(np.maximum(values, 0).sum())


def _sentence(seen: int, timed: int, skipped: int, lost: int) -> str:
    if not seen:
        return f"{timed:,} dispatches timed; the recorder saw none pass"
    parts = [f"{timed:,} of {seen:,} dispatches timed ({100 * timed / seen:.1f} %)"]
    if skipped:
        parts.append(f"{skipped:,} skipped")
    if lost:
        parts.append(f"{lost:,} lost")
    unexplained = seen - timed - skipped - lost
    if unexplained > 0:
        parts.append(f"{unexplained:,} unaccounted for")
    return ", ".join(parts)
