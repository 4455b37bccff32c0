"""How evenly waves ran: how long they lived, how much they executed, which were slowest."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.model.capture import Integers, Waves
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value

_MOST_WAVES = 10
_SPREAD_COLUMNS = (
    ResultColumn("what", "Of a wave"),
    ResultColumn("minimum", "Least", Unit.COUNT),
    ResultColumn("median", "Median", Unit.COUNT),
    ResultColumn("p95", "95 %", Unit.COUNT, "nearest rank"),
    ResultColumn("maximum", "Most", Unit.COUNT),
    ResultColumn("maximum_over_median", "Most/median", Unit.NONE),
)
_WAVE_COLUMNS = (
    ResultColumn("wave", "Wave", meaning="where it ran"),
    ResultColumn("lifetime", "Lifetime", Unit.COUNT, "cycles from begin to end"),
    ResultColumn("instructions", "Executed", Unit.COUNT),
    ResultColumn("stall", "Stall", Unit.COUNT),
    ResultColumn("stall_percent", "Stall share", Unit.PERCENT, "of the lifetime"),
    ResultColumn("begin", "Begin", Unit.NONE, "shader clock"),
    ResultColumn("is_partial", "Partial"),
)


def wave_lifetimes(waves: Waves) -> Integers:
    """Cycles from begin to end of each wave."""
    return np.asarray(np.maximum(waves.end - waves.begin, 0), np.int64)


def sums_by_wave(waves: Waves, values: Integers) -> Integers:
    """Exact sums of a column of events by wave."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(values, dtype=np.int64)])
    return np.asarray(np.diff(ends[waves.event_offsets]), np.int64)


def wave_spread(decoded: DecodedTrace) -> list[ResultTable]:
    """A table of spreads, and the slowest waves."""
    waves = decoded.waves
    if not len(waves):
        return []
    lifetime = wave_lifetimes(waves)
    stall = sums_by_wave(waves, waves.stall.astype(np.int64))
    executed = np.diff(waves.event_offsets)
    rows = [
        _spread("lifetime in cycles", lifetime),
        _spread("executed instructions", executed),
        _spread("stalled cycles", stall),
    ]
    slowest = np.argsort(-lifetime, kind="stable")[:_MOST_WAVES].tolist()
    slow_rows: list[tuple[Value, ...]] = [
        (
            waves.label(wave),
            int(lifetime[wave]),
            int(executed[wave]),
            int(stall[wave]),
            100 * int(stall[wave]) / int(lifetime[wave]) if lifetime[wave] else None,
            int(waves.begin[wave]),
            bool(waves.is_partial[wave]),
        )
        for wave in slowest
    ]
    return [
        ResultTable("wave_spread", "How evenly waves ran", _SPREAD_COLUMNS, rows),
        ResultTable("slowest_waves", "Slowest waves", _WAVE_COLUMNS, slow_rows, len(waves)),
    ]


def _spread(what: str, values: Integers) -> tuple[Value, ...]:
    ordered = np.sort(values)
    median, p95 = _nearest_rank(ordered, 50), _nearest_rank(ordered, 95)
    most = int(ordered[-1])
    return what, int(ordered[0]), median, p95, most, most / median if median else None


def _nearest_rank(ordered: Integers, percent: int) -> int:
    return int(ordered[max(-(-len(ordered) * percent // 100), 1) - 1])
