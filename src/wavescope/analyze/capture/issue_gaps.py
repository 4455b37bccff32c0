"""Gaps between the instructions of a wave: cycles in which it had nothing to issue."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.analyze.capture.source_lines import chain_label
from wavescope.model.capture import Integers, Waves
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value

_MOST_ROWS = 15
_COLUMNS = (
    ResultColumn("instruction", "Before"),
    ResultColumn("gap", "Gap", Unit.COUNT, "cycles of all waves with nothing to issue"),
    ResultColumn("gap_percent", "Share", Unit.PERCENT, "of all gaps"),
    ResultColumn("count", "Gaps", Unit.COUNT),
    ResultColumn("longest", "Longest", Unit.COUNT),
    ResultColumn("type", "Type"),
    ResultColumn("source", "Source"),
    ResultColumn("row", "Row", Unit.NONE),
)


def issue_gaps(waves: Waves, wave: int) -> Integers:
    """For each event of a wave the cycles from the end of all before it to its own time."""
    events = waves.events(wave)
    time = waves.time[events]
    if not len(time):
        return time
    before = np.empty_like(time)
    before[0] = waves.begin[wave]
    np.maximum.accumulate(time[:-1] + waves.duration[events][:-1], out=before[1:])
    gaps: Integers = np.maximum(time - before, 0)
    return gaps


def gap_table(decoded: DecodedTrace) -> ResultTable | None:
    """The instructions before which waves were idle longest; None without wave files."""
    waves = decoded.waves
    sums, longest, times = np.zeros((3, len(decoded.instructions)), np.int64)
    for wave in range(len(waves)):
        gaps, rows = issue_gaps(waves, wave), waves.row[waves.events(wave)]
        known = (gaps > 0) & (rows >= 0)
        np.add.at(sums, rows[known], gaps[known])
        np.maximum.at(longest, rows[known], gaps[known])
        np.add.at(times, rows[known], 1)
    if not sums.any():
        return None
    ranked = np.argsort(-sums, kind="stable")[: int((sums > 0).sum())]
    total = int(sums.sum())
    found: list[tuple[Value, ...]] = [
        (
            decoded.instructions.text[row],
            int(sums[row]),
            100 * int(sums[row]) / total,
            int(times[row]),
            int(longest[row]),
            decoded.kind(row).value,
            chain_label(decoded.instructions.frames_of(row)),
            row,
        )
        for row in ranked[:_MOST_ROWS].tolist()
    ]
    return ResultTable(
        "issue_gaps", "Gaps: waves with nothing to issue", _COLUMNS, found, len(ranked)
    )
