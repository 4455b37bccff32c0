"""Where a kernel stalls: by type, by instruction, by source line, raw and charged to producers."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis, first_rows
from wavescope.analyze.capture.coverage import capture_coverage
from wavescope.analyze.capture.entry_lines import EntryLine, entry_lines
from wavescope.analyze.capture.idle_waves import told_nothing
from wavescope.analyze.capture.source_lines import (
    NO_SOURCE,
    ContextSize,
    FrameChoice,
    LineMap,
    chain_label,
    context_tables,
    frame_label,
    line_heat,
    line_map,
)
from wavescope.analyze.capture.stall_types import stall_types
from wavescope.analyze.capture.wave_behaviour import wave_behaviour
from wavescope.model.capture import Frame, Integers, Measure
from wavescope.model.result import (
    ColumnOf,
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    Value,
    table_of,
)
from wavescope.units import percent_of

_MOST_WAITS = 50
_NOT_SAMPLED = frozenset({"idle", "hits", "stall_per_hit"})
"""What only a thread trace measures."""
_SAMPLE_WORDS = {
    "latency": ("Samples", "all samples of it"),
    "stall": ("Stalled", "samples in which it did not issue"),
}


class Mode(str, enum.Enum):
    """What is ranked."""

    ASM = "asm"
    SRC = "src"
    BOTH = "both"


class View(str, enum.Enum):
    """Where a wait's stall counts."""

    RAW = "raw"
    """Where it shows."""
    CHARGED = "charged"
    """At the memory operation that the wait waited for."""
    BOTH = "both"


@dataclass(frozen=True)
class HotspotOptions:
    """What to rank and how much of it."""

    topk: int = 15
    """0 for all."""
    mode: Mode = Mode.BOTH
    view: View = View.BOTH
    frame: FrameChoice = FrameChoice.INNERMOST
    has_detail: bool = False
    """The source around the hottest lines, `context` lines before and after."""
    context: int = 4
    has_timeline: bool = False
    """How the waves ran: spread, gaps, barriers, matrix rate, hidden latency, occupancy."""

    def __post_init__(self) -> None:
        """Words such as `src` stand for what they name."""
        for name, kind in (("mode", Mode), ("view", View), ("frame", FrameChoice)):
            object.__setattr__(self, name, kind(getattr(self, name)))


def hotspots(analysis: CaptureAnalysis, options: HotspotOptions | None = None) -> Result:
    """The whole report of one capture."""
    options = options or HotspotOptions()
    coverage = capture_coverage(analysis)
    lines = line_map(analysis.instructions, analysis.kind_code, options.frame)
    entries = entry_lines(analysis, lines)
    views = _views(options.view)
    tables = [stall_types(analysis)]
    if options.mode is not Mode.ASM:
        tables += [_line_table(analysis, lines, entries, view, options.topk) for view in views]
        tables.append(_entry_table(analysis, entries))
        if options.has_detail:
            tables += _context(analysis, lines, entries, options)
    if options.mode is not Mode.SRC:
        tables += [_instruction_table(analysis, view, options.topk) for view in views]
    result = Result(
        f"Hotspots of {analysis.capture.kernel_name or analysis.capture.facts.name}",
        [*tables, _wait_table(analysis)],
        _findings(analysis, entries),
        _facts(analysis),
    ).with_parts([coverage])
    if analysis.instructions.measure is Measure.SAMPLES:
        result = _in_samples(result)
    return result.with_parts([wave_behaviour(analysis)]) if options.has_timeline else result


def _context(
    analysis: CaptureAnalysis, lines: LineMap, entries: list[EntryLine], options: HotspotOptions
) -> list[ResultTable]:
    apart = [entry.line for entry in entries]
    heat = line_heat(analysis, lines, apart, is_charged=options.view is not View.RAW)
    return context_tables(analysis, lines, apart, heat, ContextSize(options.topk, options.context))


def _views(view: View) -> list[View]:
    return [View.RAW, View.CHARGED] if view is View.BOTH else [view]


def _facts(analysis: CaptureAnalysis) -> dict[str, Value]:
    capture, instructions = analysis.capture, analysis.instructions
    latency = int(instructions.latency.sum()) if len(instructions) else 0
    facts: dict[str, Value] = {
        "kernel": capture.kernel_name,
        "path": capture.facts.path,
        "dispatch": capture.facts.dispatch_id,
        "chip": analysis.chip.name or f"gfx{int(analysis.chip.family)} family",
        "chip_basis": analysis.chip.basis + ("" if analysis.chip.is_certain else " (a guess)"),
        "measure": instructions.measure.value,
        "stall": analysis.total_stall,
        "latency": latency,
        "idle": int(instructions.idle.sum()) if len(instructions) else 0,
        "stall_rate_percent": percent_of(analysis.total_stall, latency),
        "charged_basis": "executed waves" if analysis.charges.is_measured else "program order",
        "wait_stall_charged_percent": _charged_share(analysis),
    }
    if capture.clock is not None and capture.clock.shader_mhz is not None:
        facts["shader_clock_mhz"] = round(capture.clock.shader_mhz, 1)
    return facts


def _charged_share(analysis: CaptureAnalysis) -> float | None:
    """How much of the stall of waits could be charged to a producer."""
    waits = analysis.program.action_of_row >= 0
    is_wait = np.array([action.is_wait for action in analysis.program.actions] or [False], np.bool_)
    waits = waits & is_wait[analysis.program.action_of_row]
    stall = int(analysis.instructions.stall[waits].sum())
    return percent_of(int(analysis.charges.given.sum()), stall)


_STALL = ResultColumn("stall", "Stall", Unit.COUNT, "cycles (or samples) that could not issue")
_SHARE = ResultColumn("stall_percent", "Share", Unit.PERCENT, "of all stall")
_LATENCY = ResultColumn("latency", "Latency", Unit.COUNT, "cycles from ready to issued or executed")
_IDLE = ResultColumn("idle", "Idle", Unit.COUNT, "cycles before it with nothing to issue")
_HITS = ResultColumn("hits", "Hits", Unit.COUNT, "executions by waves")


def _rate(view: View) -> ResultColumn:
    """Beside charged stall, which is no part of the own latency, the rate is called the own one."""
    title = "Stall rate" if view is View.RAW else "Own stall rate"
    return ResultColumn("stall_rate_percent", title, Unit.PERCENT, "own stall of own latency")


def _stall_of(analysis: CaptureAnalysis, view: View) -> Integers:
    return analysis.charges.charged if view is View.CHARGED else analysis.instructions.stall


def _line_table(
    analysis: CaptureAnalysis, lines: LineMap, entries: list[EntryLine], view: View, topk: int
) -> ResultTable:
    by_row = _stall_of(analysis, view)
    stall, total = lines.summed(by_row), max(analysis.total_stall, 1)
    apart = {entry.line for entry in entries}
    columns: list[ColumnOf[int]] = [
        ResultColumn("line", "Line", meaning="file and line; the file without its folders").of(
            lambda line: frame_label(lines.frames[line])
        ),
        _STALL.of(lambda line: int(stall[line])),
        _SHARE.of(lambda line: 100 * int(stall[line]) / total),
        ResultColumn(
            "type", "Main type", meaning="the kind of instruction with most of the stall"
        ).of(lambda line: lines.main_kind(line, by_row).value),
        ResultColumn("text", "Source").of(lambda line: _source(analysis, lines.frames[line])),
        _rate(view).of(lambda line: percent_of(int(lines.stall[line]), int(lines.latency[line]))),
        _HITS.of(lambda line: int(lines.hits[line])),
        _LATENCY.of(lambda line: int(lines.latency[line])),
        _IDLE.of(lambda line: int(lines.idle[line])),
        ResultColumn("instructions", "Instr.", Unit.COUNT, "rows of the disassembly").of(
            lambda line: int(lines.row_count[line])
        ),
        ResultColumn("path", "Path", meaning="the whole path").of(
            lambda line: None if lines.frames[line] == NO_SOURCE else lines.frames[line].path
        ),
    ]
    ranked = [
        line
        for line in np.argsort(-stall, kind="stable").tolist()
        if stall[line] > 0 and line not in apart
    ]
    if view is View.CHARGED:
        title = "Source lines, waits charged to their producers"
        return first_rows("lines_charged", title, columns, ranked, topk)
    return first_rows("lines", "Source lines, raw stall", columns, ranked, topk)


def _source(analysis: CaptureAnalysis, frame: Frame) -> str | None:
    return (analysis.capture.source_line(frame) or "").strip() or None


def _instruction_table(analysis: CaptureAnalysis, view: View, topk: int) -> ResultTable:
    instructions, stall = analysis.instructions, _stall_of(analysis, view)
    total, hits = max(analysis.total_stall, 1), instructions.hits
    columns: list[ColumnOf[int]] = [
        ResultColumn("instruction", "Instruction").of(lambda row: instructions.text[row]),
        _STALL.of(lambda row: int(stall[row])),
        _SHARE.of(lambda row: 100 * int(stall[row]) / total),
        ResultColumn("type", "Type").of(lambda row: analysis.kind(row).value),
        ResultColumn("source", "Source", meaning="inline chain, innermost first").of(
            lambda row: chain_label(instructions.frames_of(row))
        ),
        ResultColumn(
            "blame",
            "Waits for / waited for by",
            meaning="of those waited for, or waiting, the one with most stall",
        ).of(lambda row: _blame(analysis, row, view)),
        _rate(view).of(
            lambda row: percent_of(int(instructions.stall[row]), int(instructions.latency[row]))
        ),
        _HITS.of(lambda row: int(hits[row])),
        ResultColumn("stall_per_hit", "Stall/hit", Unit.NONE, "mean stall of one execution").of(
            lambda row: int(stall[row]) / int(hits[row]) if hits[row] else None
        ),
        _LATENCY.of(lambda row: int(instructions.latency[row])),
        _IDLE.of(lambda row: int(instructions.idle[row])),
        ResultColumn("row", "Row", Unit.NONE, "index in the disassembly").of(lambda row: row),
    ]
    ranked = np.argsort(-stall, kind="stable")[: int((stall > 0).sum())].tolist()
    if view is View.CHARGED:
        title = "Instructions, waits charged to their producers"
        return first_rows("instructions_charged", title, columns, ranked, topk)
    return first_rows("instructions", "Instructions, raw stall", columns, ranked, topk)


def _blame(analysis: CaptureAnalysis, row: int, view: View) -> str | None:
    """For a wait its main producer, for an operation the wait that it is charged most for."""
    charges = analysis.charges
    own, other = (
        (charges.producer_row, charges.wait_row)
        if view is View.CHARGED
        else (charges.wait_row, charges.producer_row)
    )
    pairs = np.flatnonzero((own == row) & (charges.stall > 0))
    if not len(pairs):
        return None
    best = int(other[pairs[charges.stall[pairs].argmax()]])
    return f"{best}: {analysis.instructions.mnemonic(best)}"


def _entry_table(analysis: CaptureAnalysis, entries: list[EntryLine]) -> ResultTable:
    total = max(analysis.total_stall, 1)
    columns: list[ColumnOf[EntryLine]] = [
        ResultColumn("line", "Line").of(lambda entry: frame_label(entry.frame)),
        ResultColumn("reason", "Why").of(lambda entry: entry.reason),
        _STALL.of(lambda entry: entry.stall),
        _SHARE.of(lambda entry: 100 * entry.stall / total),
        ResultColumn(
            "charged_elsewhere",
            "Charged elsewhere",
            Unit.COUNT,
            "stall charged to the lines of producers instead",
        ).of(lambda entry: entry.charged_elsewhere),
        ResultColumn(
            "charged_stall",
            "Charged here",
            Unit.COUNT,
            "stall that stayed here or was charged here",
        ).of(lambda entry: entry.charged_stall),
        ResultColumn("charged_percent", "Charged share", Unit.PERCENT, "of all stall").of(
            lambda entry: 100 * entry.charged_stall / total
        ),
        ResultColumn("producers", "Producers' lines").of(_producers),
        ResultColumn("text", "Source").of(lambda entry: _source(analysis, entry.frame)),
    ]
    return table_of("entry_lines", "Lines that collect other lines' stall", columns, entries)


def _producers(entry: EntryLine) -> str | None:
    return ", ".join(f"{frame_label(frame)} {stall:,}" for frame, stall in entry.producers) or None


def _wait_table(analysis: CaptureAnalysis) -> ResultTable:
    charges, instructions = analysis.charges, analysis.instructions
    wait, producer, stall = charges.wait_row, charges.producer_row, charges.stall
    total = max(analysis.total_stall, 1)
    columns: list[ColumnOf[int]] = [
        ResultColumn("wait", "Wait").of(lambda pair: instructions.text[wait[pair]]),
        ResultColumn("producer", "Waited for").of(lambda pair: instructions.text[producer[pair]]),
        _STALL.of(lambda pair: int(stall[pair])),
        _SHARE.of(lambda pair: 100 * int(stall[pair]) / total),
        ResultColumn("count", "Times", Unit.COUNT, "waits that this operation ended").of(
            lambda pair: int(charges.count[pair])
        ),
        ResultColumn("wait_source", "Wait at").of(
            lambda pair: chain_label(instructions.frames_of(int(wait[pair])))
        ),
        ResultColumn("producer_source", "Operation at").of(
            lambda pair: chain_label(instructions.frames_of(int(producer[pair])))
        ),
        ResultColumn("wait_row", "Wait row", Unit.NONE).of(lambda pair: int(wait[pair])),
        ResultColumn("producer_row", "Row", Unit.NONE).of(lambda pair: int(producer[pair])),
    ]
    ranked = np.argsort(-stall, kind="stable")[: int((stall > 0).sum())].tolist()
    return first_rows("waits", "What waits waited for", columns, ranked, _MOST_WAITS)


def _findings(analysis: CaptureAnalysis, entries: list[EntryLine]) -> list[Finding]:
    if (nothing := told_nothing(analysis)) is not None:
        return [nothing]
    findings: list[Finding] = []
    total = analysis.total_stall
    if entries and total:
        stall = sum(entry.stall for entry in entries)
        moved = sum(entry.charged_elsewhere for entry in entries)
        findings.append(
            Finding(
                "entry-lines",
                Severity.INFO,
                f"{100 * stall / total:.1f} % of all stall is on lines that collect others' stall",
                f"{len(entries)} such lines (decorators, definitions, line 0) are shown apart; "
                f"waits with {100 * moved / total:.1f} % of all stall are charged to other lines",
                "read the charged view for them; `entry_lines` lists them",
                numbers={"stall": stall, "charged_elsewhere": moved},
            )
        )
    if len(analysis.instructions) and not analysis.charges.is_measured and total:
        is_sampled = analysis.instructions.measure is Measure.SAMPLES
        findings.append(
            Finding(
                "charged-by-program-order",
                Severity.INFO,
                "Waits are charged in program order",
                "no wave files were read, so that loops and branches are not followed",
                ""
                if is_sampled
                else "capture with the trace decoder's wave files for a measured charge",
            )
        )
    if len(analysis.instructions) and not total:
        findings.append(
            Finding(
                "no-stall",
                Severity.WARNING,
                "No instruction stalled",
                "no executed row of code.json has stall cycles",
            )
        )
    return findings


def _in_samples(result: Result) -> Result:
    """The result with its columns called by what samples count."""
    facts = {
        "samples" if name == "latency" else name: value
        for name, value in result.facts.items()
        if name not in _NOT_SAMPLED
    }
    tables = [_table_in_samples(table) for table in result.tables]
    return Result(result.title, tables, result.findings, facts)


def _table_in_samples(table: ResultTable) -> ResultTable:
    if not {"latency", "stall"} <= {column.name for column in table.columns}:
        return table
    kept = [place for place, column in enumerate(table.columns) if column.name not in _NOT_SAMPLED]
    columns = []
    for place in kept:
        column = table.columns[place]
        title, meaning = _SAMPLE_WORDS.get(column.name, (column.title, column.meaning))
        columns.append(column._replace(title=title, meaning=meaning))
    rows = [tuple(row[place] for place in kept) for row in table.rows]
    return replace(table, columns=tuple(columns), rows=rows)
