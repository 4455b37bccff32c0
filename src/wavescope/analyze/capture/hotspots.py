"""Where a kernel stalls: by type, by instruction, by source line, raw and charged to producers."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from wavescope.analyze.capture.coverage import coverage_facts, coverage_findings, coverage_table
from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.analyze.capture.entry_lines import EntryLine, entry_lines
from wavescope.analyze.capture.line_context import ContextSize, context_tables, line_heat
from wavescope.analyze.capture.sample_tables import in_samples
from wavescope.analyze.capture.source_lines import (
    NO_SOURCE,
    FrameChoice,
    LineMap,
    chain_label,
    frame_label,
    line_map,
)
from wavescope.analyze.capture.stall_types import stall_types
from wavescope.model.capture import Integers, Measure
from wavescope.model.result import Finding, Result, ResultColumn, ResultTable, Severity, Unit, Value

_MOST_PAIRS = 50


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
    context: int = 4


def hotspots(decoded: DecodedTrace, options: HotspotOptions | None = None) -> Result:
    """The whole report of one capture."""
    options = options or HotspotOptions()
    result = Result(title=f"Hotspots of {decoded.trace.kernel_name or decoded.trace.capture.name}")
    facts = coverage_facts(decoded)
    result.facts = _facts(decoded) | facts
    result.tables.append(stall_types(decoded))
    lines = line_map(decoded.instructions, decoded.kind_code, options.frame)
    entries = entry_lines(decoded, lines)
    views = _views(options.view)
    if options.mode is not Mode.ASM:
        result.tables += [_line_table(decoded, lines, entries, view, options) for view in views]
        result.tables.append(_entry_table(decoded, entries))
        if options.has_detail:
            result.tables += _context(decoded, lines, entries, options)
    if options.mode is not Mode.SRC:
        result.tables += [_instruction_table(decoded, view, options) for view in views]
    result.tables += [_pair_table(decoded), coverage_table(decoded, facts)]
    result.findings = [*_findings(decoded, entries), *coverage_findings(decoded, facts)]
    return in_samples(result) if decoded.instructions.measure is Measure.SAMPLES else result


def _context(
    decoded: DecodedTrace, lines: LineMap, entries: list[EntryLine], options: HotspotOptions
) -> list[ResultTable]:
    apart = [entry.line for entry in entries]
    heat = line_heat(decoded, lines, apart, is_charged=options.view is not View.RAW)
    return context_tables(decoded, lines, apart, heat, ContextSize(options.topk, options.context))


def _views(view: View) -> list[View]:
    return [View.RAW, View.CHARGED] if view is View.BOTH else [view]


def _facts(decoded: DecodedTrace) -> dict[str, Value]:
    trace, instructions = decoded.trace, decoded.instructions
    latency = int(instructions.latency.sum()) if len(instructions) else 0
    facts: dict[str, Value] = {
        "kernel": trace.kernel_name,
        "path": trace.capture.path,
        "dispatch": trace.capture.dispatch_id,
        "chip": decoded.chip.name or f"gfx{int(decoded.chip.family)} family",
        "chip_basis": decoded.chip.basis + ("" if decoded.chip.is_certain else " (a guess)"),
        "measure": instructions.measure.value,
        "stall": decoded.total_stall,
        "latency": latency,
        "idle": int(instructions.idle.sum()) if len(instructions) else 0,
        "stall_rate_percent": 100 * decoded.total_stall / latency if latency else None,
        "charged_basis": "executed waves" if decoded.charges.is_measured else "program order",
        "wait_stall_charged_percent": _charged_share(decoded),
    }
    if trace.clock is not None and trace.clock.shader_mhz is not None:
        facts["shader_clock_mhz"] = round(trace.clock.shader_mhz, 1)
    return facts


def _charged_share(decoded: DecodedTrace) -> float | None:
    """How much of the stall of waits could be charged to a producer."""
    waits = decoded.program.action_of_row >= 0
    is_wait = np.array([action.is_wait for action in decoded.program.actions] or [False], np.bool_)
    waits = waits & is_wait[decoded.program.action_of_row]
    stall = int(decoded.instructions.stall[waits].sum())
    return 100 * int(decoded.charges.given.sum()) / stall if stall else None


_STALL = ResultColumn("stall", "Stall", Unit.COUNT, "cycles (or samples) that could not issue")
_SHARE = ResultColumn("stall_percent", "Share", Unit.PERCENT, "of all stall")
_RATE = ResultColumn("stall_rate_percent", "Stall rate", Unit.PERCENT, "own stall of own latency")
_OWN_RATE = _RATE._replace(title="Own stall rate")
"""Beside charged stall, which is no part of the own latency."""
_LATENCY = ResultColumn("latency", "Latency", Unit.COUNT, "cycles from ready to issued or executed")
_IDLE = ResultColumn("idle", "Idle", Unit.COUNT, "cycles before it with nothing to issue")
_HITS = ResultColumn("hits", "Hits", Unit.COUNT, "executions by waves")
_LINE_COLUMNS = (
    ResultColumn("line", "Line", meaning="file and line; the file without its folders"),
    _STALL,
    _SHARE,
    ResultColumn("type", "Main type", meaning="the kind of instruction with most of the stall"),
    ResultColumn("text", "Source"),
    _RATE,
    _HITS,
    _LATENCY,
    _IDLE,
    ResultColumn("instructions", "Instr.", Unit.COUNT, "rows of the disassembly"),
    ResultColumn("path", "Path", meaning="the whole path"),
)
_INSTRUCTION_COLUMNS = (
    ResultColumn("instruction", "Instruction"),
    _STALL,
    _SHARE,
    ResultColumn("type", "Type"),
    ResultColumn("source", "Source", meaning="inline chain, innermost first"),
    ResultColumn("blame", "Waits for / waited for by", meaning="the other side with most stall"),
    _RATE,
    _HITS,
    ResultColumn("stall_per_hit", "Stall/hit", Unit.NONE, "mean stall of one execution"),
    _LATENCY,
    _IDLE,
    ResultColumn("row", "Row", Unit.NONE, "index in the disassembly"),
)
_ENTRY_COLUMNS = (
    ResultColumn("line", "Line"),
    ResultColumn("reason", "Why"),
    _STALL,
    _SHARE,
    ResultColumn("charged_elsewhere", "Charged elsewhere", Unit.COUNT, "to lines of producers"),
    ResultColumn("charged_stall", "Charged here", Unit.COUNT, "what is left, and what came"),
    ResultColumn("charged_percent", "Charged share", Unit.PERCENT, "of all stall"),
    ResultColumn("producers", "Producers' lines"),
    ResultColumn("text", "Source"),
)
_PAIR_COLUMNS = (
    ResultColumn("wait", "Wait"),
    ResultColumn("producer", "Waited for"),
    _STALL,
    _SHARE,
    ResultColumn("count", "Times", Unit.COUNT, "waits that this operation ended"),
    ResultColumn("wait_source", "Wait at"),
    ResultColumn("producer_source", "Operation at"),
    ResultColumn("wait_row", "Wait row", Unit.NONE),
    ResultColumn("producer_row", "Row", Unit.NONE),
)


def _stall_of(decoded: DecodedTrace, view: View) -> Integers:
    return decoded.charges.charged if view is View.CHARGED else decoded.instructions.stall


def _columns_of(columns: tuple[ResultColumn, ...], view: View) -> tuple[ResultColumn, ...]:
    if view is View.RAW:
        return columns
    return tuple(_OWN_RATE if column is _RATE else column for column in columns)


def _line_table(
    decoded: DecodedTrace,
    lines: LineMap,
    entries: list[EntryLine],
    view: View,
    options: HotspotOptions,
) -> ResultTable:
    by_row = _stall_of(decoded, view)
    stall = lines.summed(by_row)
    apart = {entry.line for entry in entries}
    ranked = [
        line
        for line in np.argsort(-stall, kind="stable").tolist()
        if stall[line] > 0 and line not in apart
    ]
    shown = ranked[: options.topk or None]
    rows = [_line_row(decoded, lines, line, by_row, stall) for line in shown]
    charged = view is View.CHARGED
    return ResultTable(
        "lines_charged" if charged else "lines",
        "Source lines, waits charged to their producers" if charged else "Source lines, raw stall",
        _columns_of(_LINE_COLUMNS, view),
        rows,
        total_rows=len(ranked),
    )


def _line_row(
    decoded: DecodedTrace, lines: LineMap, line: int, by_row: Integers, stall: Integers
) -> tuple[Value, ...]:
    frame = lines.frames[line]
    latency = int(lines.latency[line])
    return (
        frame_label(frame),
        int(stall[line]),
        100 * int(stall[line]) / max(decoded.total_stall, 1),
        lines.main_kind(line, by_row).value,
        (decoded.trace.source_line(frame) or "").strip() or None,
        100 * int(lines.stall[line]) / latency if latency else None,
        int(lines.hits[line]),
        latency,
        int(lines.idle[line]),
        int(lines.row_count[line]),
        frame.path if frame != NO_SOURCE else None,
    )


def _instruction_table(decoded: DecodedTrace, view: View, options: HotspotOptions) -> ResultTable:
    stall = _stall_of(decoded, view)
    order = np.argsort(-stall, kind="stable")
    ranked = order[: int((stall > 0).sum())]
    charged = view is View.CHARGED
    shown = ranked[: options.topk or None].tolist()
    rows = [_instruction_row(decoded, row, stall, view) for row in shown]
    return ResultTable(
        "instructions_charged" if charged else "instructions",
        "Instructions, waits charged to their producers" if charged else "Instructions, raw stall",
        _columns_of(_INSTRUCTION_COLUMNS, view),
        rows,
        total_rows=len(ranked),
    )


def _instruction_row(
    decoded: DecodedTrace, row: int, stall: Integers, view: View
) -> tuple[Value, ...]:
    instructions = decoded.instructions
    hits, latency = int(instructions.hits[row]), int(instructions.latency[row])
    return (
        instructions.text[row],
        int(stall[row]),
        100 * int(stall[row]) / max(decoded.total_stall, 1),
        decoded.kind(row).value,
        chain_label(instructions.frames_of(row)),
        _blame(decoded, row, view),
        100 * int(instructions.stall[row]) / latency if latency else None,
        hits,
        int(stall[row]) / hits if hits else None,
        latency,
        int(instructions.idle[row]),
        row,
    )


def _blame(decoded: DecodedTrace, row: int, view: View) -> str | None:
    """For a wait its main producer, for an operation the wait that it is charged most for."""
    charges = decoded.charges
    own, other = (
        (charges.producer_row, charges.wait_row)
        if view is View.CHARGED
        else (charges.wait_row, charges.producer_row)
    )
    pairs = np.flatnonzero((own == row) & (charges.stall > 0))
    if not len(pairs):
        return None
    best = int(other[pairs[charges.stall[pairs].argmax()]])
    return f"{best}: {decoded.instructions.mnemonic(best)}"


def _entry_table(decoded: DecodedTrace, entries: list[EntryLine]) -> ResultTable:
    total = max(decoded.total_stall, 1)
    rows: list[tuple[Value, ...]] = [
        (
            frame_label(entry.frame),
            entry.reason,
            entry.stall,
            100 * entry.stall / total,
            entry.charged_elsewhere,
            entry.charged_stall,
            100 * entry.charged_stall / total,
            ", ".join(f"{frame_label(frame)} {stall:,}" for frame, stall in entry.producers)
            or None,
            (decoded.trace.source_line(entry.frame) or "").strip() or None,
        )
        for entry in entries
    ]
    return ResultTable("entry_lines", "Lines that collect other lines' stall", _ENTRY_COLUMNS, rows)


def _pair_table(decoded: DecodedTrace) -> ResultTable:
    charges, instructions = decoded.charges, decoded.instructions
    order = np.argsort(-charges.stall, kind="stable")
    ranked = order[: int((charges.stall > 0).sum())]
    rows: list[tuple[Value, ...]] = []
    for pair in ranked[:_MOST_PAIRS].tolist():
        wait, producer = int(charges.wait_row[pair]), int(charges.producer_row[pair])
        stall = int(charges.stall[pair])
        rows.append(
            (
                instructions.text[wait],
                instructions.text[producer],
                stall,
                100 * stall / max(decoded.total_stall, 1),
                int(charges.count[pair]),
                chain_label(instructions.frames_of(wait)),
                chain_label(instructions.frames_of(producer)),
                wait,
                producer,
            )
        )
    return ResultTable(
        "waits", "What waits waited for", _PAIR_COLUMNS, rows, total_rows=len(ranked)
    )


def _findings(decoded: DecodedTrace, entries: list[EntryLine]) -> list[Finding]:
    findings: list[Finding] = []
    total = decoded.total_stall
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
    if len(decoded.instructions) and not decoded.charges.is_measured and total:
        is_sampled = decoded.instructions.measure is Measure.SAMPLES
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
    if len(decoded.instructions) and not total:
        findings.append(
            Finding(
                "no-stall",
                Severity.WARNING,
                "No instruction stalled",
                "every row of code.json has 0 stall cycles: nothing was traced, or nothing ran",
            )
        )
    return findings
