"""Everything that the page of a capture shows: source beside instructions, waves, plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.hotspot_report import hotspots
from wavescope.analyze.capture.kernel_occupancy import TracedOccupancy, traced_occupancy
from wavescope.analyze.capture.page.wave_timeline import WaveTimeline, wave_timeline
from wavescope.analyze.capture.plan import KernelCounters, plan_result
from wavescope.analyze.capture.wave_behaviour import wave_behaviour
from wavescope.analyze.occupancy import occupancy_result
from wavescope.model.capture import Capture, Integers, SourceFile
from wavescope.model.result import Result

HEAT_LEVELS = 10
_MOST_PRODUCERS = 8


@dataclass(frozen=True)
class CodeViewOptions:
    """How much code a page carries."""

    rows: int = 4_000
    files: int = 8
    lines_of_a_file: int = 3_000


class Producer(NamedTuple):
    """An operation that a wait waited for, and the stall it caused there."""

    row: int
    stall: int


class Stall(NamedTuple):
    """The stall of an instruction or line: where it shows, and waits charged to their causes."""

    raw: int
    raw_percent: float
    raw_heat: int
    """0 for no stall, else 1 to 9 beside the largest."""
    charged: int
    charged_percent: float
    charged_heat: int


class CodeRow(NamedTuple):
    """One instruction; `line` is the key of its source line, '' where the source is not kept."""

    row: int
    text: str
    kind: str
    hits: int
    stall: Stall
    line: str
    producers: tuple[Producer, ...]


class SourceLine(NamedTuple):
    """One line of a source file; `key` is what its instructions name."""

    key: str
    number: int
    text: str
    stall: Stall


class SourceView(NamedTuple):
    """A source file, or the part of it that instructions come from."""

    path: str
    stall_percent: float
    lines: list[SourceLine]
    left_out_count: int


class CodeView(NamedTuple):
    """All of it; files with the most stall first."""

    rows: list[CodeRow]
    files: list[SourceView]
    left_out_rows: int
    left_out_files: int
    unit: str = "cycles"
    """`samples` where the capture holds such."""
    hottest_line: str = ""
    """The key of the statement with the most charged stall, '' where no source is kept."""
    hottest_row: int | None = None
    """The instruction with the most charged stall."""


def code_view(analysis: CaptureAnalysis, options: CodeViewOptions | None = None) -> CodeView:
    """The instructions and kept sources of a capture."""
    options = options or CodeViewOptions()
    keys, stall_of_path = _line_keys(analysis)
    shown = _shown_rows(analysis, options.rows)
    paths = sorted(stall_of_path, key=lambda path: -stall_of_path[path])
    files = [
        _file_view(analysis, analysis.capture.sources[path], keys, options)
        for path in paths[: options.files]
    ]
    total = int((~analysis.instructions.is_label).sum())
    rows = _code_rows(analysis, shown, keys)
    return CodeView(
        rows,
        files,
        total - len(shown),
        max(len(paths) - options.files, 0),
        analysis.instructions.measure.value,
        _hottest_line(analysis, files),
        _hottest_row(rows),
    )


def _hottest_row(rows: list[CodeRow]) -> int | None:
    hottest = max(rows, key=lambda row: row.stall.charged, default=None)
    return hottest.row if hottest is not None and hottest.stall.charged else None


def _hottest_line(analysis: CaptureAnalysis, files: list[SourceView]) -> str:
    """Heads of functions collect what belongs to other lines: nobody wants to see them first."""
    statements = [
        line
        for file in files
        for line in file.lines
        if line.stall.charged and line.number not in analysis.headers_of(file.path)
    ]
    return max(statements, key=lambda line: line.stall.charged).key if statements else ""


def _line_keys(analysis: CaptureAnalysis) -> tuple[list[str], dict[str, int]]:
    """By source code the key of its line, and the stall of each kept file.

    Of an inline chain the innermost frame counts whose file is kept.
    """
    sources = analysis.capture.sources
    numbers = {path: number for number, path in enumerate(sources)}
    stalls = np.bincount(
        analysis.instructions.source_code,
        analysis.instructions.stall,
        minlength=len(analysis.instructions.frames),
    )
    keys: list[str] = []
    stall_of_path: dict[str, int] = {}
    for code, frames in enumerate(analysis.instructions.frames):
        frame = next((frame for frame in frames if frame.path in sources), None)
        keys.append("" if frame is None else f"{numbers[frame.path]}:{frame.line}")
        if frame is not None:
            stall_of_path[frame.path] = stall_of_path.get(frame.path, 0) + int(stalls[code])
    return keys, stall_of_path


def _shown_rows(analysis: CaptureAnalysis, most: int) -> list[int]:
    """All rows, or where there are too many those with the most latency, in program order."""
    rows = np.flatnonzero(~analysis.instructions.is_label)
    if len(rows) > most:
        cost = analysis.instructions.latency[rows] + analysis.charges.charged[rows]
        rows = np.sort(rows[np.argsort(-cost, kind="stable")[:most]])
    return [int(row) for row in rows]


def _code_rows(analysis: CaptureAnalysis, shown: list[int], keys: list[str]) -> list[CodeRow]:
    instructions = analysis.instructions
    producers = _producers(analysis)
    stalls = _stalls(instructions.stall, analysis.charges.charged, analysis.total_stall)
    return [
        CodeRow(
            row,
            instructions.text[row].strip(),
            analysis.kind(row).value,
            int(instructions.hits[row]),
            stalls(row),
            keys[int(instructions.source_code[row])],
            producers.get(row, ()),
        )
        for row in shown
    ]


def _producers(analysis: CaptureAnalysis) -> dict[int, tuple[Producer, ...]]:
    """By wait what it waited for, the costliest first."""
    charges = analysis.charges
    found: dict[int, list[Producer]] = {}
    for wait, producer, stall in zip(
        charges.wait_row.tolist(),
        charges.producer_row.tolist(),
        charges.stall.tolist(),
        strict=True,
    ):
        found.setdefault(wait, []).append(Producer(producer, stall))
    return {
        wait: tuple(sorted(each, key=lambda one: -one.stall)[:_MOST_PRODUCERS])
        for wait, each in found.items()
    }


def _file_view(
    analysis: CaptureAnalysis, source: SourceFile, keys: list[str], options: CodeViewOptions
) -> SourceView:
    number = list(analysis.capture.sources).index(source.path)
    count = len(source.lines)
    stall, charged = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    used: set[int] = set()
    line_of_code = [_line_in(key, number, count) for key in keys]
    lines = np.array([*line_of_code, 0], np.int64)[analysis.instructions.source_code]
    np.add.at(stall, lines, analysis.instructions.stall)
    np.add.at(charged, lines, analysis.charges.charged)
    used.update(line for line in line_of_code if line)
    first, last = _window(used, stall, count, options.lines_of_a_file)
    stall[0] = charged[0] = 0
    stalls = _stalls(stall, charged, analysis.total_stall)
    shown = [
        SourceLine(
            f"{number}:{line}",
            line,
            source.lines[line - 1].rstrip("\r\n"),
            stalls(line),
        )
        for line in range(first, last + 1)
    ]
    share = 100 * int(stall[1:].sum()) / max(analysis.total_stall, 1)
    return SourceView(source.path, share, shown, count - len(shown))


def _line_in(key: str, file: int, count: int) -> int:
    """The line that a key names in this file, 0 for none."""
    of_file, _, line = key.partition(":")
    inside = of_file == str(file) and line.isdecimal() and 1 <= int(line) <= count
    return int(line) if inside else 0


def _window(used: set[int], stall: Integers, count: int, most: int) -> tuple[int, int]:
    """The lines to show: all, or so many around the one with the most stall."""
    if count <= most or not used:
        return 1, min(count, most)
    hottest = max(used, key=lambda line: int(stall[line]))
    first = min(max(1, hottest - most // 2), count - most + 1)
    return first, first + most - 1


def _stalls(raw: Integers, charged: Integers, total: int) -> Callable[[int], Stall]:
    """What gives the stall of one row or line, with its shares of `total`."""
    raw_heat, charged_heat = _heat(raw), _heat(charged)
    whole = max(total, 1)

    def stall(at: int) -> Stall:
        return Stall(
            int(raw[at]),
            100 * int(raw[at]) / whole,
            int(raw_heat[at]),
            int(charged[at]),
            100 * int(charged[at]) / whole,
            int(charged_heat[at]),
        )

    return stall


def _heat(stall: Integers) -> Integers:
    largest = max(int(stall.max(initial=0)), 1)
    level = np.minimum(stall * HEAT_LEVELS // largest, HEAT_LEVELS - 1)
    return np.where(stall > 0, np.maximum(level, 1), 0)


@dataclass(frozen=True)
class CaptureReport:
    """The data of one capture's page."""

    capture: Capture
    plan: Result
    hotspots: Result
    running: Result
    code: CodeView
    waves: WaveTimeline | None
    occupancy: TracedOccupancy | None
    limits: Result | None


def capture_report(
    analysis: CaptureAnalysis, counters: KernelCounters | None = None
) -> CaptureReport:
    """The report of a capture."""
    occupancy = traced_occupancy(analysis.capture)
    return CaptureReport(
        capture=analysis.capture,
        plan=plan_result(analysis, counters),
        hotspots=hotspots(analysis),
        running=wave_behaviour(analysis),
        code=code_view(analysis),
        waves=wave_timeline(analysis),
        occupancy=occupancy,
        limits=occupancy_result(occupancy.occupancy) if occupancy else None,
    )
