"""The table `clocks`: how each rank's clock was made comparable, and how sure that is."""

from __future__ import annotations

from typing import NamedTuple

from wavescope.analyze.ranks.job import ClockState, Job, RankClock
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of

_ORDER = (
    ClockState.CONTRADICTED,
    ClockState.TOO_WIDE,
    ClockState.UNKNOWN,
    ClockState.ALIGNED,
    ClockState.SHARED,
    ClockState.REFERENCE,
)


class _Row(NamedTuple):
    number: int
    host: str
    clock: RankClock

    @property
    def width_ns(self) -> int | None:
        if self.clock.low_ns is None or self.clock.high_ns is None:
            return None
        return self.clock.high_ns - self.clock.low_ns


def clocks_table(job: Job) -> ResultTable:
    """All clocks: those that cannot be compared first, then the least certain."""
    rows = [
        _Row(number, rank.identity.host, clock)
        for number, rank, clock in zip(job.numbers, job.ranks, job.clocks, strict=True)
    ]
    rows.sort(key=lambda row: (_ORDER.index(row.clock.state), -(row.width_ns or 0), row.number))
    return table_of("clocks", "Clocks", _COLUMNS, rows)


def _fitted(row: _Row, value: int | float | None) -> int | float | None:
    """A figure of the fit; None where there is none that may be used."""
    return value if row.clock.is_comparable else None


_COLUMNS: tuple[ColumnOf[_Row], ...] = (
    ResultColumn("rank", "Rank", Unit.NONE, "global rank").of(lambda row: row.number),
    ResultColumn("host", "Host", Unit.NAME, "machine it ran on").of(lambda row: row.host or None),
    ResultColumn(
        "state", "State", Unit.NAME, "reference, aligned, shared; or why it is not comparable"
    ).of(lambda row: row.clock.state.value),
    ResultColumn("offset_ns", "Offset", Unit.NS, "common time - own time, at `origin_ns`").of(
        lambda row: _fitted(row, row.clock.offset_ns)
    ),
    ResultColumn("drift_ppm", "Drift ppm", Unit.NONE, "us added to each second of its own time").of(
        lambda row: _fitted(row, row.clock.drift_ppm)
    ),
    ResultColumn("low_ns", "At least", Unit.NS, "least offset that causality allows").of(
        lambda row: row.clock.low_ns
    ),
    ResultColumn("high_ns", "At most", Unit.NS, "greatest offset that causality allows").of(
        lambda row: row.clock.high_ns
    ),
    ResultColumn("width_ns", "Width", Unit.NS, "at most - at least; negative: contradictory").of(
        lambda row: row.width_ns
    ),
    ResultColumn("residual_ns", "Residual", Unit.NS, "median distance of ends from the fit").of(
        lambda row: row.clock.residual_ns
    ),
    ResultColumn("exchange_count", "Exchanges", Unit.COUNT, "exchanges it was fitted to").of(
        lambda row: row.clock.exchange_count
    ),
    ResultColumn("reason", "Reason", Unit.NAME, "why it cannot be compared").of(
        lambda row: row.clock.reason or None
    ),
    ResultColumn("origin_ns", "Origin", Unit.NONE, "own time at which the offset holds").of(
        lambda row: row.clock.origin_ns
    ),
)
