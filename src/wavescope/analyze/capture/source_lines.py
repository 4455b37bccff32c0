"""Source lines with the sums of their instructions, by the chosen frame of the inline chain.

Hot lines are shown with the source around them.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis, first_rows
from wavescope.analyze.capture.instruction_kinds import KINDS, Kind
from wavescope.model.capture import Codes, Frame, Instructions, Integers, SourceFile
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of
from wavescope.units import percent_of

NO_SOURCE = Frame("", 0)
"""Stands for instructions that no source line is known for."""
_BAR_CELLS = 20
_MOST_INSTRUCTIONS = 6


class FrameChoice(str, enum.Enum):
    """Which frame of `a.h:7 -> b.cpp:20` an instruction counts for."""

    INNERMOST = "innermost"
    """a.h:7, where the instruction was written."""
    OUTERMOST = "outermost"
    """b.cpp:20, the line of the kernel that it was inlined into."""
    ANY = "any"
    """Both: lines then add up to more than the whole."""


@dataclass(frozen=True, eq=False)
class LineMap:
    """Which rows belong to which lines: pairs of row and line, sorted by row."""

    frames: Sequence[Frame]
    row: Integers
    line: Integers
    instructions: Instructions
    kind_code: Codes

    def __len__(self) -> int:
        return len(self.frames)

    def summed(self, by_row: Integers) -> Integers:
        """For each line the sum of `by_row` over its rows."""
        sums = np.zeros(len(self.frames), np.int64)
        np.add.at(sums, self.line, by_row[self.row])
        return sums

    @cached_property
    def stall(self) -> Integers:
        """Stall of each line."""
        return self.summed(self.instructions.stall)

    @cached_property
    def latency(self) -> Integers:
        """Latency of each line."""
        return self.summed(self.instructions.latency)

    @cached_property
    def idle(self) -> Integers:
        """Idle cycles before the instructions of each line."""
        return self.summed(self.instructions.idle)

    @cached_property
    def hits(self) -> Integers:
        """Executions of the most executed instruction of each line."""
        most = np.zeros(len(self.frames), np.int64)
        np.maximum.at(most, self.line, self.instructions.hits[self.row])
        return most

    @cached_property
    def row_count(self) -> Integers:
        """Instructions of each line."""
        return np.bincount(self.line, minlength=len(self.frames)).astype(np.int64)

    def main_kind(self, line: int, by_row: Integers) -> Kind:
        """The kind with the most of `by_row` on a line."""
        rows = self.rows(line)
        sums = np.zeros(len(KINDS), np.int64)
        np.add.at(sums, self.kind_code[rows], by_row[rows])
        return KINDS[int(sums.argmax())]

    def rows(self, line: int) -> Integers:
        """The rows of one line, in the order of the code."""
        rows, ends = self._grouped
        return rows[int(ends[line]) : int(ends[line + 1])]

    @cached_property
    def _grouped(self) -> tuple[Integers, Integers]:
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.row_count)])
        return self.row[np.argsort(self.line, kind="stable")], ends

    @cached_property
    def number_of(self) -> dict[Frame, int]:
        """The line of each frame."""
        return {frame: number for number, frame in enumerate(self.frames)}


def line_map(instructions: Instructions, kind_code: Codes, choice: FrameChoice) -> LineMap:
    """The lines of all instructions by the chosen frame; labels have none."""
    numbers: dict[Frame, int] = {}
    lines_of_code = [
        [numbers.setdefault(frame, len(numbers)) for frame in chosen_frames(frames, choice)]
        for frames in instructions.frames
    ]
    rows = np.flatnonzero(~instructions.is_label)
    codes = instructions.source_code[rows]
    counts = np.array([len(lines) for lines in lines_of_code] or [0], np.int64)
    flat = np.array([line for lines in lines_of_code for line in lines], np.int64)
    starts = np.cumsum(counts) - counts
    per_row = counts[codes]
    row = np.repeat(rows, per_row)
    offset = np.arange(len(row)) - np.repeat(np.cumsum(per_row) - per_row, per_row)
    line = flat[np.repeat(starts[codes], per_row) + offset] if len(row) else row
    return LineMap(list(numbers), row, line, instructions, kind_code)


def chosen_frames(frames: Sequence[Frame], choice: FrameChoice) -> Sequence[Frame]:
    """The frames that count, each once; `NO_SOURCE` where there is none."""
    if not frames:
        return (NO_SOURCE,)
    if choice is FrameChoice.INNERMOST:
        return frames[:1]
    if choice is FrameChoice.OUTERMOST:
        return frames[-1:]
    return tuple(dict.fromkeys(frames))


def frame_label(frame: Frame) -> str:
    """How reports name a line."""
    return "(no source)" if frame == NO_SOURCE else frame.label


def chain_label(frames: Sequence[Frame]) -> str:
    """`a.h:7 -> b.cpp:20`, files without their folders."""
    return " -> ".join(frame.label for frame in frames) or "(no source)"


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
