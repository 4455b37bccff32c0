"""The source around hot lines, each line with its stall and a bar."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.source_lines import NO_SOURCE, LineMap, frame_label
from wavescope.model.capture import Frame, Integers
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value

_BAR_CELLS = 20
_MOST_INSTRUCTIONS = 6
_CONTEXT_COLUMNS = (
    ResultColumn("mark", " ", meaning="> marks the hot line"),
    ResultColumn("line", "Line", Unit.NONE),
    ResultColumn("stall", "Stall", Unit.COUNT),
    ResultColumn("charged_stall", "Charged", Unit.COUNT, "with waits charged to producers"),
    ResultColumn("heat_percent", "Share", Unit.PERCENT, "of all stall, charged or raw as ranked"),
    ResultColumn("bar", "Heat", meaning="beside the most of any line that is not shown apart"),
    ResultColumn("text", "Source"),
)
_INSTRUCTION_COLUMNS = (
    ResultColumn("row", "Row", Unit.NONE),
    ResultColumn("instruction", "Instruction"),
    ResultColumn("type", "Type"),
    ResultColumn("stall", "Stall", Unit.COUNT),
    ResultColumn("stall_rate_percent", "Stall rate", Unit.PERCENT),
    ResultColumn("hits", "Hits", Unit.COUNT),
    ResultColumn("latency", "Latency", Unit.COUNT),
)


class ContextSize(NamedTuple):
    """How many hot lines are shown (0: all), and how many lines around each."""

    lines: int
    around: int


@dataclass(frozen=True, eq=False)
class LineHeat:
    """What lines are ranked and drawn by."""

    by_row: Integers
    by_line: Integers
    is_charged: bool
    most: int
    """Of any line that is not shown apart."""


def line_heat(
    analysis: CaptureAnalysis, lines: LineMap, apart: Collection[int], *, is_charged: bool
) -> LineHeat:
    """Raw or charged stall of lines."""
    by_row = analysis.charges.charged if is_charged else analysis.instructions.stall
    by_line = lines.summed(by_row)
    shown = np.ones(len(by_line), np.bool_)
    shown[list(apart)] = False
    return LineHeat(by_row, by_line, is_charged, int(by_line[shown].max(initial=0)))


def context_tables(
    analysis: CaptureAnalysis,
    lines: LineMap,
    apart: Collection[int],
    heat: LineHeat,
    size: ContextSize,
) -> list[ResultTable]:
    """For each of the hottest lines its surroundings and its worst instructions."""
    ranked = [
        line
        for line in np.argsort(-heat.by_line, kind="stable").tolist()
        if heat.by_line[line] > 0 and line not in apart and lines.frames[line] != NO_SOURCE
    ]
    tables: list[ResultTable] = []
    for rank, line in enumerate(ranked[: size.lines or None], start=1):
        title = _title(analysis, lines, line, rank, heat)
        rows = _context_rows(analysis, lines, line, heat, size.around)
        if rows:
            tables.append(ResultTable(f"context_{rank}", title, _CONTEXT_COLUMNS, rows))
        tables.append(
            ResultTable(
                f"line_instructions_{rank}",
                f"Instructions of {frame_label(lines.frames[line])}" if rows else title,
                _INSTRUCTION_COLUMNS,
                _instruction_rows(analysis, lines, line),
                total_rows=int(lines.row_count[line]),
            )
        )
    return tables


def bar(value: int, most: int) -> str:
    """A bar of 20 cells."""
    cells = 0 if most <= 0 else min(-(-value * _BAR_CELLS // most), _BAR_CELLS)
    return "█" * cells + "░" * (_BAR_CELLS - cells)


def _title(analysis: CaptureAnalysis, lines: LineMap, line: int, rank: int, heat: LineHeat) -> str:
    stall, latency = int(lines.stall[line]), int(lines.latency[line])
    total = max(analysis.total_stall, 1)
    share = f"{100 * int(heat.by_line[line]) / total:.1f} % of all stall"
    if heat.is_charged:
        share += f" charged ({100 * stall / total:.1f} % raw)"
    rate = f", stall rate {100 * stall / latency:.0f} %" if latency else ""
    kind = lines.main_kind(line, heat.by_row).value
    return f"#{rank} {frame_label(lines.frames[line])}: {share}, {kind}{rate}"


def _context_rows(
    analysis: CaptureAnalysis, lines: LineMap, line: int, heat: LineHeat, around: int
) -> list[tuple[Value, ...]]:
    frame = lines.frames[line]
    source = analysis.capture.sources.get(frame.path)
    if source is None:
        return []
    charged = lines.summed(analysis.charges.charged)
    first, last = max(frame.line - around, 1), min(frame.line + around, len(source.lines))
    rows: list[tuple[Value, ...]] = []
    for number in range(first, last + 1):
        place = lines.number_of.get(Frame(frame.path, number))
        value = 0 if place is None else int(heat.by_line[place])
        rows.append(
            (
                ">" if number == frame.line else "",
                number,
                0 if place is None else int(lines.stall[place]),
                0 if place is None else int(charged[place]),
                100 * value / max(analysis.total_stall, 1),
                bar(value, heat.most),
                source.lines[number - 1].expandtabs(4).rstrip(),
            )
        )
    return rows


def _instruction_rows(
    analysis: CaptureAnalysis, lines: LineMap, line: int
) -> list[tuple[Value, ...]]:
    instructions = analysis.instructions
    rows = lines.rows(line)
    worst = rows[np.argsort(-instructions.stall[rows], kind="stable")][:_MOST_INSTRUCTIONS]
    return [
        (
            row,
            instructions.text[row],
            analysis.kind(row).value,
            int(instructions.stall[row]),
            100 * int(instructions.stall[row]) / int(instructions.latency[row])
            if instructions.latency[row]
            else None,
            int(instructions.hits[row]),
            int(instructions.latency[row]),
        )
        for row in worst.tolist()
    ]
