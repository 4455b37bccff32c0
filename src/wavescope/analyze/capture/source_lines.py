"""Source lines with the sums of their instructions, by the chosen frame of the inline chain."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wavescope.analyze.capture.instruction_kinds import KINDS, Kind
from wavescope.model.capture import Codes, Frame, Instructions, Integers

NO_SOURCE = Frame("", 0)
"""Stands for instructions that no source line is known for."""


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
