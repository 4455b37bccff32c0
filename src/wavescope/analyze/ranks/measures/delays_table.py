"""The tables `stragglers` and `delays`: who makes others wait, and where the delay comes from."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from wavescope.analyze.ranks.measures.job_measures import JobMeasures
from wavescope.analyze.ranks.stragglers import Culprit
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of
from wavescope.units import percent_of


def stragglers_table(measures: JobMeasures) -> ResultTable:
    """One row for each culprit, that of most delay first."""
    ranks: ColumnOf[Culprit] = ResultColumn(
        "ranks", "Ranks", Unit.NAME, "which ranks are meant"
    ).of(lambda row: measures.rank_text(row.places))
    culprits = sorted(measures.report.culprits, key=lambda culprit: -culprit.delay_ns)
    columns = (*_CULPRIT_NAME, ranks, *_CULPRIT_COLUMNS)
    return table_of("stragglers", "Stragglers", columns, culprits)


class DelayRow(NamedTuple):
    """The parts of the critical path of one kind on one rank, or of one group."""

    kind: str
    where: str
    place: int | None
    group: int | None
    part_count: int
    step_count: int
    actual_ns: int
    reference_ns: int
    share_percent: float | None

    @property
    def excess_ns(self) -> int:
        return self.actual_ns - self.reference_ns


def delay_rows(measures: JobMeasures) -> list[DelayRow]:
    """All parts of the critical path, of ranks by rank and of transfers by group; their excesses
    add up to the delay of all steps exactly. The largest first."""
    sums: dict[tuple[str, int], list[int]] = {}
    steps: dict[tuple[str, int], set[int]] = {}
    for account in measures.report.steps:
        for part in account.parts:
            kind = str(getattr(part.kind, "value", part.kind))
            key = kind, part.place if kind == "local" else part.group
            total = sums.setdefault(key, [0, 0, 0])
            total[0] += 1
            total[1] += part.actual_ns
            total[2] += part.reference_ns
            steps.setdefault(key, set()).add(account.step)
    whole = sum(account.actual_ns - account.ideal_ns for account in measures.report.steps)
    rows = [
        DelayRow(
            kind,
            _where(measures, kind, number),
            number if kind == "local" else None,
            None if kind == "local" else number,
            count,
            len(steps[kind, number]),
            actual,
            reference,
            percent_of(actual - reference, whole) if whole > 0 else None,
        )
        for (kind, number), (count, actual, reference) in sums.items()
    ]
    return sorted(rows, key=lambda row: (-row.excess_ns, row.kind, row.where))


def delays_table(rows: list[DelayRow]) -> ResultTable:
    """The table of these parts; they mean something together only."""
    table = table_of("delays", "Where the delay comes from", _DELAY_COLUMNS, rows)
    return replace(table, is_whole=True)


def _where(measures: JobMeasures, kind: str, number: int) -> str:
    if kind == "local" and 0 <= number < len(measures.job):
        return f"rank {measures.job.numbers[number]}"
    if kind != "local" and 0 <= number < len(measures.job.groups):
        return measures.group_text(number)
    return "unknown"


_CULPRIT_NAME: tuple[ColumnOf[Culprit], ...] = (
    ResultColumn("culprit", "Culprit", Unit.NAME, "who or what is late").of(lambda row: row.name),
    ResultColumn("kind", "Kind", Unit.NAME, "rank, host, gpu_model, link, group or rotating").of(
        lambda row: row.kind.value
    ),
)
_CULPRIT_COLUMNS: tuple[ColumnOf[Culprit], ...] = (
    ResultColumn("cause", "Cause", Unit.NAME, "why, as far as traces tell").of(
        lambda row: row.cause.value
    ),
    ResultColumn("phase", "Phase", Unit.NAME, "in which part of the step").of(
        lambda row: row.phase or None
    ),
    ResultColumn("delay_ns", "Delay", Unit.NS, "what it adds to the critical path").of(
        lambda row: row.delay_ns
    ),
    ResultColumn("share_percent", "Share %", Unit.PERCENT, "of the time of all steps").of(
        lambda row: row.share_percent
    ),
    ResultColumn("step_count", "Steps", Unit.COUNT, "steps in which it is late").of(
        lambda row: row.step_count
    ),
    ResultColumn("recurrence", "Recurs", Unit.NAME, "always, for a time, or in turn").of(
        lambda row: row.recurrence
    ),
    ResultColumn("evidence", "Evidence", Unit.NAME, "in words").of(lambda row: row.evidence),
)
_DELAY_COLUMNS: tuple[ColumnOf[DelayRow], ...] = (
    ResultColumn("where", "Where", Unit.NAME, "a rank's own work, or a group's transfers").of(
        lambda row: row.where
    ),
    ResultColumn("kind", "Kind", Unit.NAME, "local or transfer").of(lambda row: row.kind),
    ResultColumn("excess_ns", "Delay", Unit.NS, "actual - reference; adds up over all rows").of(
        lambda row: row.excess_ns
    ),
    ResultColumn("share_percent", "Share %", Unit.PERCENT, "of the delay of all steps").of(
        lambda row: row.share_percent
    ),
    ResultColumn("actual_ns", "Actual", Unit.NS, "time on the critical path").of(
        lambda row: row.actual_ns
    ),
    ResultColumn("reference_ns", "Reference", Unit.NS, "what that usually takes").of(
        lambda row: row.reference_ns
    ),
    ResultColumn("part_count", "Parts", Unit.COUNT, "pieces of the critical path").of(
        lambda row: row.part_count
    ),
    ResultColumn("step_count", "Steps", Unit.COUNT, "steps with such pieces").of(
        lambda row: row.step_count
    ),
)
