"""Source lines with the sums of their instructions, by the chosen frame of the inline chain.

Compilers give instructions of no line of their own (addresses, waits, the prologue) the line of the
function around them: a decorator, a definition, the kernel's entry, line 0. Such entry lines then
lead every ranking and tell nothing. They are found here, so that reports show them apart; a wait on
one of them is charged to the line of its producer.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.instruction_kinds import KINDS, Kind
from wavescope.model.capture import Codes, Frame, Instructions, Integers

NO_SOURCE = Frame("", 0)
"""Stands for instructions that no source line is known for."""
_DECORATOR = re.compile(r"\s*@\s*[A-Za-z_]")
_DEFINITION = re.compile(r"\s*(async\s+)?def\s+\w+")
_KERNEL = re.compile(r"__global__|\bkernel\s+void\b|\bamdgpu_kernel\b")
_MOST_TEXT = 2000
_FEWEST_RUNS = 3
_SMALLEST_SPREAD = 0.5
_MOST_LISTED = 3


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


class EntryLine(NamedTuple):
    """A line that collects stall of other places."""

    line: int
    frame: Frame
    reason: str
    stall: int
    charged_stall: int
    """With waits charged to producers: what is left here, and what producers here received."""
    charged_elsewhere: int
    """Stall of its waits whose producers are known and lie on other lines."""
    producers: tuple[tuple[Frame, int], ...]
    """The lines that this stall was charged to, most first."""


def entry_lines(analysis: CaptureAnalysis, lines: LineMap) -> list[EntryLine]:
    """The entry lines of a trace that have any stall, most stall first."""
    found = []
    charged = lines.summed(analysis.charges.charged)
    for line in np.flatnonzero((lines.stall > 0) | (charged > 0)).tolist():
        reason = _reason(analysis, lines, line)
        if reason:
            moved = _moved(analysis, lines, line)
            found.append(
                EntryLine(
                    line,
                    lines.frames[line],
                    reason,
                    int(lines.stall[line]),
                    int(charged[line]),
                    sum(stall for _, stall in moved),
                    tuple(moved[:_MOST_LISTED]),
                )
            )
    return sorted(found, key=lambda entry: (-entry.stall, entry.frame))


def _reason(analysis: CaptureAnalysis, lines: LineMap, line: int) -> str:
    """Why a line counts as an entry line, '' where it does not."""
    frame = lines.frames[line]
    if frame == NO_SOURCE:
        return ""
    if frame.line == 0:
        return "the compiler names no line"
    text = analysis.capture.source_line(frame)
    if text is None:
        return _reason_by_structure(analysis, lines, line)
    text = text[:_MOST_TEXT]
    if _DECORATOR.match(text):
        return "decorator"
    if _DEFINITION.match(text):
        return "function definition"
    if _KERNEL.search(text) or _declares(text, analysis.capture.kernel_name):
        return "kernel definition"
    return ""


def _declares(text: str, kernel_name: str) -> bool:
    """Whether a line begins the definition of the kernel."""
    base = re.split(r"[<(]", kernel_name, maxsplit=1)[0].strip().rpartition(" ")[2]
    base = base.rpartition("::")[2]
    if not base:
        return False
    found = re.search(rf"\b{re.escape(base)}\s*[(<]", text)
    return (
        found is not None
        and ";" not in text
        and re.match(r"\s*[\w\s*&<>:]+$", text[: found.start()] or " ") is not None
    )


def _reason_by_structure(analysis: CaptureAnalysis, lines: LineMap, line: int) -> str:
    """Without the text: the line of the first instruction, met again all over the code."""
    first, last = analysis.executed_span
    rows = lines.rows(line)
    if not len(rows) or rows[0] > first:
        return ""
    runs = 1 + int((np.diff(rows) > 1).sum())
    spread = int(rows[-1] - rows[0]) / max(last - first, 1)
    if runs >= _FEWEST_RUNS and spread >= _SMALLEST_SPREAD:
        return "first line of the kernel, spread over its code"
    return ""


def _moved(analysis: CaptureAnalysis, lines: LineMap, line: int) -> list[tuple[Frame, int]]:
    """Where the stall of a line's waits was charged to, other lines only."""
    charges = analysis.charges
    on_line = np.zeros(len(analysis.instructions), np.bool_)
    on_line[lines.rows(line)] = True
    pairs = on_line[charges.wait_row] & ~on_line[charges.producer_row] & (charges.stall > 0)
    by_row: Integers = np.zeros(len(analysis.instructions), np.int64)
    np.add.at(by_row, charges.producer_row[pairs], charges.stall[pairs])
    sums = lines.summed(by_row)
    order: Sequence[int] = np.argsort(-sums, kind="stable")[: int((sums > 0).sum())].tolist()
    return [(lines.frames[number], int(sums[number])) for number in order]
