"""Lines that collect the stall of other places, and which line an instruction truly belongs to.

Compilers give instructions of no line of their own (addresses, waits, the prologue) the line of the
function around them: a decorator, a definition, the kernel's entry, line 0. Such entry lines then
lead every ranking and tell nothing. They are found here, so that reports show them apart; a wait on
one of them is charged to the line of its producer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.function_headers import is_statement
from wavescope.analyze.capture.source_lines import NO_SOURCE, FrameChoice, LineMap, line_map
from wavescope.model.capture import Frame, Integers

_KERNEL = re.compile(r"__global__|\bkernel\s+void\b|\bamdgpu_kernel\b")
_MOST_TEXT = 2000
_FEWEST_RUNS = 3
_SMALLEST_SPREAD = 0.5
_MOST_LISTED = 3


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
    if head := analysis.headers_of(frame.path).get(frame.line):
        return head
    text = text[:_MOST_TEXT]
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


def statement_frames(analysis: CaptureAnalysis) -> list[Frame | None]:
    """By source code the innermost frame that is a statement somebody could move.

    None where all frames only head functions or name no line: the instruction itself is then all
    that can be named. A line whose text is not kept counts as a statement unless its place tells.
    """
    lines = line_map(analysis.instructions, analysis.kind_code, FrameChoice.ANY)
    is_usable = [_is_usable(analysis, lines, line) for line in range(len(lines))]
    return [
        next((frame for frame in frames if is_usable[lines.number_of[frame]]), None)
        if all(frame in lines.number_of for frame in frames)
        else None
        for frames in analysis.instructions.frames
    ]


def _is_usable(analysis: CaptureAnalysis, lines: LineMap, line: int) -> bool:
    frame = lines.frames[line]
    if frame == NO_SOURCE or _reason(analysis, lines, line):
        return False
    text = analysis.capture.source_line(frame)
    return text is None or is_statement(text[:_MOST_TEXT])
