"""The source around hot lines, each line with its stall and a bar."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis, first_rows, percent_of
from wavescope.analyze.capture.source_lines import NO_SOURCE, LineMap, frame_label
from wavescope.model.capture import Frame, Integers, SourceFile
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of

_BAR_CELLS = 20
_MOST_INSTRUCTIONS = 6


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
        frame = lines.frames[line]
        source = analysis.capture.sources.get(frame.path)
        if source is not None:
            first, last = frame.line - size.around, frame.line + size.around
            numbers = range(max(first, 1), min(last, len(source.lines)) + 1)
            columns = _context_columns(analysis, lines, frame, source, heat)
            context = table_of(f"context_{rank}", title, columns, numbers)
            if context.rows:
                tables.append(context)
                title = f"Instructions of {frame_label(frame)}"
        tables.append(_line_instructions(analysis, lines, line, f"line_instructions_{rank}", title))
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


def _context_columns(
    analysis: CaptureAnalysis, lines: LineMap, frame: Frame, source: SourceFile, heat: LineHeat
) -> list[ColumnOf[int]]:
    """Of lines of the file that `frame` is in, by their number."""
    charged, total = lines.summed(analysis.charges.charged), max(analysis.total_stall, 1)

    def of_line(values: Integers, number: int) -> int:
        place = lines.number_of.get(Frame(frame.path, number))
        return 0 if place is None else int(values[place])

    return [
        ResultColumn("mark", " ", meaning="> marks the hot line").of(
            lambda number: ">" if number == frame.line else ""
        ),
        ResultColumn("line", "Line", Unit.NONE).of(lambda number: number),
        ResultColumn("stall", "Stall", Unit.COUNT).of(lambda number: of_line(lines.stall, number)),
        ResultColumn("charged_stall", "Charged", Unit.COUNT, "with waits charged to producers").of(
            lambda number: of_line(charged, number)
        ),
        ResultColumn(
            "heat_percent", "Share", Unit.PERCENT, "of all stall, charged or raw as ranked"
        ).of(lambda number: 100 * of_line(heat.by_line, number) / total),
        ResultColumn(
            "bar", "Heat", meaning="beside the most of any line that is not shown apart"
        ).of(lambda number: bar(of_line(heat.by_line, number), heat.most)),
        ResultColumn("text", "Source").of(
            lambda number: source.lines[number - 1].expandtabs(4).rstrip()
        ),
    ]


def _line_instructions(
    analysis: CaptureAnalysis, lines: LineMap, line: int, name: str, title: str
) -> ResultTable:
    """The instructions of a line that stall most."""
    instructions, rows = analysis.instructions, lines.rows(line)
    columns: list[ColumnOf[int]] = [
        ResultColumn("row", "Row", Unit.NONE).of(lambda row: row),
        ResultColumn("instruction", "Instruction").of(lambda row: instructions.text[row]),
        ResultColumn("type", "Type").of(lambda row: analysis.kind(row).value),
        ResultColumn("stall", "Stall", Unit.COUNT).of(lambda row: int(instructions.stall[row])),
        ResultColumn("stall_rate_percent", "Stall rate", Unit.PERCENT).of(
            lambda row: percent_of(int(instructions.stall[row]), int(instructions.latency[row]))
        ),
        ResultColumn("hits", "Hits", Unit.COUNT).of(lambda row: int(instructions.hits[row])),
        ResultColumn("latency", "Latency", Unit.COUNT).of(
            lambda row: int(instructions.latency[row])
        ),
    ]
    worst = rows[np.argsort(-instructions.stall[rows], kind="stable")].tolist()
    return first_rows(name, title, columns, worst, _MOST_INSTRUCTIONS)
