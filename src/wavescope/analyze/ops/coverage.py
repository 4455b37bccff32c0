"""How far a trace can be trusted: what its recorder saw, timed, skipped and lost, and whether it
recorded all the time: `recorded(trace)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wavescope.arrays import Array
from wavescope.arrays.coded_columns import DistinctRows
from wavescope.model.columns import OLDER_THAN_KEPT, OPS
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Finding, Result, ResultColumn, ResultTable, Unit, Value
from wavescope.model.trace import Trace, TraceTable
from wavescope.units import count_text

if TYPE_CHECKING:
    from wavescope.analyze.ops.recorded import Recorded

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
    if not len(table):
        return Result("Coverage", facts={"coverage": UNKNOWN_COVERAGE})
    table.load(*(column.name for column in _COLUMNS))
    seen, timed, skipped, lost = (
        _known_sum(table[name]) for name in ("seen", "timed", "skipped", "lost")
    )
    return Result(
        "Coverage",
        [ResultTable("coverage", "Coverage", _COLUMNS, _rows(trace))],
        facts={"coverage": _sentence(seen, timed, skipped, lost)},
    )


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
        return f"{timed:,} dispatches timed; the recorder counted none"
    parts = [f"{timed:,} of {seen:,} dispatches timed ({100 * timed / seen:.1f} %)"]
    if skipped:
        parts.append(f"{skipped:,} skipped")
    if lost:
        parts.append(f"{lost:,} lost")
    unexplained = seen - timed - skipped - lost
    if unexplained > 0:
        parts.append(f"{unexplained:,} unaccounted for")
    return ", ".join(parts)


def missing_ops_sentence(trace: Trace, complete_percent: float) -> str:
    """That more ops are missing than a complete trace lacks, where it shows that; else nothing."""
    told = trace.coverage
    if len(told):
        told.load("seen", "timed")
        seen, timed = (_known_sum(told[name]) for name in ("seen", "timed"))
        older = sum(older_than_kept(trace).values())
        if 100 * (timed + older) < complete_percent * seen:
            return f"only {100 * timed / seen:.1f} % of the dispatches are in the trace"
    if "selection" in trace.metadata:
        return f"the file holds only what was selected ({trace.metadata['selection'][:80]})"
    numbered = trace.derived(dispatch_numbers)
    if numbered is not None and 100 * numbered.present < complete_percent * numbered.numbered:
        return (
            f"{count_text(numbered.numbered - numbered.present)} of "
            f"{count_text(numbered.numbered)} dispatch numbers are missing from the trace"
        )
    return ""


class DispatchNumbers(NamedTuple):
    """How many dispatches have numbers between the first and the last, and how many are there."""

    numbered: int
    present: int


def dispatch_numbers(trace: Trace) -> DispatchNumbers | None:
    """What the numbers of dispatches say of missing ones; None where there are no such numbers.

    Recorders count the dispatches of a process, or of a queue. Where numbers repeat, they are no
    count.
    """
    first_rows = next(iter(trace.source.batches(OPS, ("sequence",))), None)
    if first_rows is None or not first_rows["sequence"].any():
        # Most formats have no numbers: that is seen without reading the whole column.
        return None
    ops = trace.ops
    ops.load("sequence", "process", "gpu", "queue")
    kernels = np.flatnonzero((ops["sequence"] > 0) & (trace.op_kind == OpKind.KERNEL))
    if not len(kernels) or 2 * len(kernels) < np.count_nonzero(trace.op_kind == OpKind.KERNEL):
        return None
    numbers = ops["sequence"][kernels]
    for columns in (("process",), ("process", "gpu", "queue")):
        groups, _ = DistinctRows(len(columns)).number([ops[name][kernels] for name in columns])
        order = np.lexsort((numbers, groups))
        groups, sorted_numbers = groups[order], numbers[order]
        new_group = groups[1:] != groups[:-1]
        steps = sorted_numbers[1:] - sorted_numbers[:-1]
        if np.any((steps == 0) & ~new_group):
            continue
        missing = int((steps[~new_group] - 1).sum())
        return DispatchNumbers(len(kernels) + missing, len(kernels))
    return None


def coverage_sentence(trace: Trace) -> str:
    """Such as 'timed 3.8 % of 5,490,000 dispatches: ... replayed from graphs, ...'."""
    table = trace.coverage
    if not len(table):
        return "the recorder counted no dispatches"
    table.load("seen", "timed", "skipped", "lost", "reason")
    seen, timed = (int(np.maximum(table[name], 0).sum()) for name in ("seen", "timed"))
    if not seen:
        return "the program dispatched no kernels"
    if timed >= seen:
        return f"timed all {count_text(seen)} dispatches"
    share = 100 * timed / seen
    shown = f"{share:.1f}" if share < 99.95 else "over 99.9"
    sentence = f"timed {shown} % of {count_text(seen)} dispatches"
    reasons = _missing_by_reason(table)
    if not reasons:
        return f"{sentence}; the others are not accounted for"
    parts = [f"{count_text(count)} {reason}" for reason, count in reasons]
    return f"{sentence}: {'; '.join(parts)}"


def older_than_kept(trace: Trace, rows: Array | None = None) -> dict[str, int]:
    """How many dispatches made room for newer ones, by the option that asked for it.

    Of these `rows` of its coverage; None for all.
    """
    trace.coverage.load("skipped", "lost", "reason")
    table = trace.coverage if rows is None else trace.coverage.take(rows)
    missing = dict(_missing_by_reason(table))
    return {
        option: missing[reason] for option, reason in OLDER_THAN_KEPT.items() if reason in missing
    }


def _missing_by_reason(table: TraceTable) -> list[tuple[str, int]]:
    """Why dispatches are missing and how many, the most frequent reason first."""
    missing = np.maximum(table["skipped"], 0) + np.maximum(table["lost"], 0)
    totals: dict[str, int] = {}
    for reason, count in zip(table.strings("reason"), missing.tolist(), strict=True):
        if count:
            stated = reason or "for no stated reason"
            totals[stated] = totals.get(stated, 0) + count
    return sorted(totals.items(), key=lambda row: -row[1])


def recorded(trace: Trace) -> Recorded | None:
    """When kernels of a sampled trace were recorded; None where they were all the time."""
    if not len(trace.slices):
        return None
    from wavescope.analyze.ops.recorded import recorded_slices  # noqa: PLC0415  few are sampled

    return trace.derived(recorded_slices)


def sampled_facts(trace: Trace) -> dict[str, Value]:
    """What is said first of a sampled trace; nothing of any other."""
    found = recorded(trace)
    if found is None:
        return {}
    from wavescope.analyze.ops.recorded import slice_facts  # noqa: PLC0415

    return slice_facts(found)


def sampled_finding(trace: Trace) -> list[Finding]:
    """That a trace is sampled, if it is."""
    found = recorded(trace)
    if found is None:
        return []
    from wavescope.analyze.ops.recorded import slice_finding  # noqa: PLC0415

    return [slice_finding(found)]
