"""Two captures of one kernel compared: totals, kinds of stall, lines, instructions, findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.diff.alignment import aligned, normalized
from wavescope.analyze.capture.instruction_kinds import KINDS
from wavescope.model.capture import Frame, SourceFile
from wavescope.model.result import Finding, Result, ResultColumn, ResultTable, Severity, Unit, Value
from wavescope.names.kernel_names import short_name


@dataclass(frozen=True, eq=False)
class WaveCosts:
    """A decoded capture and the number that its cycles are divided by."""

    analysis: CaptureAnalysis
    waves: int
    basis: str

    def per_wave(self, cycles: int) -> float:
        """`cycles` of all waves as those of one."""
        return cycles / self.waves

    @property
    def cycles(self) -> float:
        """Cycles that a wave lives."""
        return self.per_wave(self.analysis.wave_cycles)

    @property
    def stall(self) -> float:
        """Cycles that a wave stalls."""
        return self.per_wave(self.analysis.total_stall)


def wave_costs(analysis: CaptureAnalysis) -> WaveCosts:
    """Divided by traced waves, without wave files by executions of the kernel's first row."""
    if len(analysis.waves):
        return WaveCosts(analysis, len(analysis.waves), "traced waves")
    executed = np.flatnonzero(analysis.executed_rows)
    hits = int(analysis.instructions.hits[executed[0]]) if len(executed) else 0
    return WaveCosts(analysis, max(hits, 1), "executions of the first instruction")


LineKey = tuple[str, str, int]


class LineKeys:
    """Keys of the lines of one capture.

    With the text of the source: file name, line text and its how-many-eth occurrence. Without: file
    name and line number.
    """

    def __init__(self, analysis: CaptureAnalysis, *, by_text: bool) -> None:
        self._sources: Mapping[str, SourceFile] = analysis.capture.sources if by_text else {}
        self._known: dict[str, dict[int, LineKey]] = {}

    def key(self, frame: Frame) -> LineKey:
        """The key of a line."""
        name = frame.path.rpartition("/")[2]
        source = self._sources.get(frame.path)
        if source is None or not 1 <= frame.line <= len(source.lines):
            return name, "", frame.line
        return self._of_file(frame.path, name, source)[frame.line]

    def _of_file(self, path: str, name: str, source: SourceFile) -> dict[int, LineKey]:
        if path not in self._known:
            seen: dict[str, int] = {}
            keys: dict[int, LineKey] = {}
            for number, line in enumerate(source.lines, 1):
                text = line.strip()
                seen[text] = seen.get(text, 0) + 1
                keys[number] = name, text, seen[text]
            self._known[path] = keys
        return self._known[path]


def has_text_of_all(analysis: CaptureAnalysis) -> bool:
    """Whether the capture keeps the source of every line that its instructions come from."""
    paths = {frames[0].path for frames in analysis.instructions.frames if frames}
    return bool(paths) and paths <= set(analysis.capture.sources)


_NOTABLE_PERCENT = 2.0
_SHOWN = 3
_CYCLES = (
    ResultColumn("stall_a", "Stall A", Unit.NONE, "stall cycles per wave in A"),
    ResultColumn("stall_b", "Stall B", Unit.NONE, "stall cycles per wave in B"),
    ResultColumn("stall_change", "Change", Unit.NONE, "B - A"),
)
_LINE_COLUMNS = (
    ResultColumn("line", "Line", Unit.NAME, "file and line number in B, in A where B has none"),
    *_CYCLES,
    ResultColumn("charged_a", "Charged A", Unit.NONE, "with waits charged to what they waited for"),
    ResultColumn("charged_b", "Charged B", Unit.NONE),
    ResultColumn("charged_change", "Change", Unit.NONE, "B - A"),
    ResultColumn("source", "Source", Unit.NAME),
)
_INSTRUCTION_COLUMNS = (
    ResultColumn("status", "Status", Unit.NAME, "same, changed registers, only in A, only in B"),
    ResultColumn("row_a", "Row A", Unit.NONE),
    ResultColumn("row_b", "Row B", Unit.NONE),
    *_CYCLES,
    ResultColumn("hits_a", "Hits A", Unit.NONE, "executions per wave"),
    ResultColumn("hits_b", "Hits B", Unit.NONE),
    ResultColumn("instruction", "Instruction", Unit.NAME, "as in B, in A where B has none"),
)
_KIND_COLUMNS = (ResultColumn("kind", "Kind", Unit.NAME), *_CYCLES)


@dataclass
class _Line:
    label: str
    source: str
    stall_a: float = 0.0
    stall_b: float = 0.0
    charged_a: float = 0.0
    charged_b: float = 0.0


def capture_diff(left: CaptureAnalysis, right: CaptureAnalysis) -> Result:
    """What changed from capture A (`left`) to B (`right`), all cycles per wave."""
    a, b = wave_costs(left), wave_costs(right)
    instructions = _instruction_table(a, b)
    lines = _line_table(a, b)
    change = _percent(a.cycles, b.cycles)
    result = Result(
        "Two captures",
        [_kind_table(a, b), lines, instructions],
        facts={
            "a": left.capture.facts.path,
            "b": right.capture.facts.path,
            "kernel": left.capture.kernel_name,
            "waves_a": len(left.waves),
            "waves_b": len(right.waves),
            "cycles_per_wave_a": a.cycles,
            "cycles_per_wave_b": b.cycles,
            "change_percent": change,
            "stall_per_wave_a": a.stall,
            "stall_per_wave_b": b.stall,
            "cycles_divided_by": a.basis if a.basis == b.basis else f"{a.basis}; {b.basis}",
        },
    )
    result.findings += [_verdict(a, b, change, lines), *_doubts(left, right, instructions)]
    return result


def _kind_table(a: WaveCosts, b: WaveCosts) -> ResultTable:
    sums = [
        np.bincount(each.analysis.kind_code, each.analysis.instructions.stall, minlength=len(KINDS))
        / each.waves
        for each in (a, b)
    ]
    rows: list[tuple[Value, ...]] = [
        (kind.value, float(before), float(after), float(after - before))
        for kind, before, after in zip(KINDS, *sums, strict=True)
        if before or after
    ]
    rows.sort(key=lambda row: -abs(float(row[3] or 0)))
    return ResultTable("kinds", "Stall by kind, cycles per wave", _KIND_COLUMNS, rows)


def _line_table(a: WaveCosts, b: WaveCosts) -> ResultTable:
    by_text = has_text_of_all(a.analysis) and has_text_of_all(b.analysis)
    lines: dict[LineKey, _Line] = {}
    for costs, side in ((a, "a"), (b, "b")):
        keys = LineKeys(costs.analysis, by_text=by_text)
        instructions, charged = costs.analysis.instructions, costs.analysis.charges.charged
        for row in np.flatnonzero((instructions.stall > 0) | (charged > 0)).tolist():
            frames = instructions.frames_of(row)
            if not frames:
                continue
            key = keys.key(frames[0])
            line = lines.setdefault(key, _Line("", ""))
            line.label = frames[0].label
            line.source = (costs.analysis.capture.source_line(frames[0]) or line.source).strip()
            stall = costs.per_wave(int(instructions.stall[row]))
            blame = costs.per_wave(int(charged[row]))
            setattr(line, f"stall_{side}", getattr(line, f"stall_{side}") + stall)
            setattr(line, f"charged_{side}", getattr(line, f"charged_{side}") + blame)
    rows: list[tuple[Value, ...]] = [
        (
            line.label,
            line.stall_a,
            line.stall_b,
            line.stall_b - line.stall_a,
            line.charged_a,
            line.charged_b,
            line.charged_b - line.charged_a,
            line.source or None,
        )
        for line in lines.values()
    ]
    rows.sort(key=lambda row: -max(abs(float(row[3] or 0)), abs(float(row[6] or 0))))
    matched = "matched by their text" if by_text else "matched by their number"
    return ResultTable("lines", f"Source lines, {matched}, cycles per wave", _LINE_COLUMNS, rows)


def _instruction_table(a: WaveCosts, b: WaveCosts) -> ResultTable:
    left, right = _code_rows(a.analysis), _code_rows(b.analysis)
    texts_a, texts_b = a.analysis.instructions.text, b.analysis.instructions.text
    pairs = aligned(
        [normalized(texts_a[row]) for row in left], [normalized(texts_b[row]) for row in right]
    )
    partner_a, partner_b = {at for at, _ in pairs}, {other for _, other in pairs}
    matched = [(left[at], right[other]) for at, other in pairs]
    alone: list[tuple[int | None, int | None]] = [
        *((left[at], None) for at in range(len(left)) if at not in partner_a),
        *((None, right[at]) for at in range(len(right)) if at not in partner_b),
    ]
    rows = [_instruction_row(a, b, row_a, row_b) for row_a, row_b in [*matched, *alone]]
    rows.sort(key=lambda row: (-abs(float(row[5] or 0)), str(row[0])))
    return ResultTable("instructions", "Instructions, cycles per wave", _INSTRUCTION_COLUMNS, rows)


def _instruction_row(
    a: WaveCosts, b: WaveCosts, row_a: int | None, row_b: int | None
) -> tuple[Value, ...]:
    before, after = a.analysis.instructions, b.analysis.instructions
    stall_a = None if row_a is None else a.per_wave(int(before.stall[row_a]))
    stall_b = None if row_b is None else b.per_wave(int(after.stall[row_b]))
    text_a = "" if row_a is None else before.text[row_a].strip()
    text_b = "" if row_b is None else after.text[row_b].strip()
    if row_a is None:
        status = "only in B"
    elif row_b is None:
        status = "only in A"
    else:
        status = "same" if text_a == text_b else "changed registers"
    return (
        status,
        row_a,
        row_b,
        stall_a,
        stall_b,
        (stall_b or 0.0) - (stall_a or 0.0),
        None if row_a is None else a.per_wave(int(before.hits[row_a])),
        None if row_b is None else b.per_wave(int(after.hits[row_b])),
        text_b or text_a,
    )


def _code_rows(analysis: CaptureAnalysis) -> list[int]:
    return [int(row) for row in np.flatnonzero(~analysis.instructions.is_label)]


def _verdict(a: WaveCosts, b: WaveCosts, change: float | None, lines: ResultTable) -> Finding:
    words = (
        "as fast as"
        if change is None or abs(change) < _NOTABLE_PERCENT
        else (f"{abs(change):.1f} % {'slower' if change > 0 else 'faster'} than")
    )
    moved = [f"{row[0]} {float(row[6] or 0):+,.0f}" for row in lines.rows[:_SHOWN] if row[6]]
    where = f"; charged stall per wave by line: {', '.join(moved)}" if moved else ""
    is_worse = change is not None and change >= _NOTABLE_PERCENT
    return Finding(
        "capture-change",
        Severity.WARNING if is_worse else Severity.INFO,
        f"a wave of B is {words} one of A",
        f"{a.cycles:,.0f} cycles per wave in A, {b.cycles:,.0f} in B; stall {a.stall:,.0f} and "
        f"{b.stall:,.0f}{where}",
        numbers={"change_percent": change},
    )


def _doubts(
    left: CaptureAnalysis, right: CaptureAnalysis, instructions: ResultTable
) -> list[Finding]:
    found = []
    names = short_name(left.capture.kernel_name), short_name(right.capture.kernel_name)
    if names[0] != names[1]:
        found.append(
            _doubt("the captures are of different kernels", f"A is {names[0]}, B is {names[1]}")
        )
    if left.chip.name != right.chip.name:
        found.append(
            _doubt(
                "the captures are of different chips",
                f"A is {left.chip.name or 'unknown'}, B is {right.chip.name or 'unknown'}",
            )
        )
    statuses = instructions.column("status")
    alone = sum(str(status).startswith("only") for status in statuses)
    if statuses and 2 * alone > len(statuses):
        found.append(
            _doubt(
                "most instructions have no partner",
                f"{alone:,} of {len(statuses):,} rows are only in one capture: compare by line",
            )
        )
    if left.capture.is_partial or right.capture.is_partial:
        missing = [*left.capture.missing, *right.capture.missing]
        found.append(_doubt("a capture is partial", "; ".join(missing)))
    return found


def _doubt(title: str, evidence: str) -> Finding:
    return Finding("capture-doubt", Severity.WARNING, title, evidence)


def _percent(before: float, after: float) -> float | None:
    return 100 * (after - before) / before if before else None
