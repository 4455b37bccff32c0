"""Two captures of one kernel compared: totals, kinds of stall, lines, instructions, findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.diff.alignment import aligned, normalized
from wavescope.analyze.capture.diff.conclusions import conclusions
from wavescope.analyze.capture.diff.wave_costs import WaveCosts, change_percent, wave_costs
from wavescope.analyze.capture.instruction_kinds import KINDS
from wavescope.model.capture import Flags, Frame, Integers, SourceFile
from wavescope.model.result import (
    ColumnOf,
    Result,
    ResultColumn,
    ResultTable,
    Unit,
    Value,
    table_of,
)

LineKey = tuple[str, str, int]
Reals = npt.NDArray[np.float64]


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


def capture_diff(left: CaptureAnalysis, right: CaptureAnalysis) -> Result:
    """What changed from capture A (`left`) to B (`right`), all cycles per wave."""
    a, b = wave_costs(left), wave_costs(right)
    by_text = has_text_of_all(left) and has_text_of_all(right)
    lines = _changed_lines(_line_costs(a, by_text=by_text), _line_costs(b, by_text=by_text))
    pairs = _instruction_pairs(left, right)
    matched = "matched by their text" if by_text else "matched by their number"
    return Result(
        "Two captures",
        [
            _kind_table(a, b),
            table_of("lines", f"Source lines, {matched}, cycles per wave", _LINE_COLUMNS, lines),
            _instruction_table(a, b, pairs),
        ],
        conclusions(
            a,
            b,
            moved={line.label: line.charged_change for line in lines},
            instructions=len(pairs),
            without_partner=pairs.alone_count,
        ),
        {
            "a": left.capture.facts.path,
            "b": right.capture.facts.path,
            "kernel": left.capture.kernel_name,
            "waves_a": len(left.waves),
            "waves_b": len(right.waves),
            "cycles_per_wave_a": a.cycles,
            "cycles_per_wave_b": b.cycles,
            "change_percent": change_percent(a, b),
            "stall_per_wave_a": a.stall,
            "stall_per_wave_b": b.stall,
            "cycles_divided_by": a.basis if a.basis == b.basis else f"{a.basis}; {b.basis}",
        },
    )


_STALL_A = ResultColumn("stall_a", "Stall A", Unit.NONE, "stall cycles per wave in A")
_STALL_B = ResultColumn("stall_b", "Stall B", Unit.NONE, "stall cycles per wave in B")
_CHANGE = ResultColumn("stall_change", "Change", Unit.NONE, "B - A")


def _kind_table(a: WaveCosts, b: WaveCosts) -> ResultTable:
    before, after = (
        np.bincount(each.analysis.kind_code, each.analysis.instructions.stall, minlength=len(KINDS))
        / each.waves
        for each in (a, b)
    )
    columns: list[ColumnOf[int]] = [
        ResultColumn("kind", "Kind", Unit.NAME).of(lambda code: KINDS[code].value),
        _STALL_A.of(lambda code: float(before[code])),
        _STALL_B.of(lambda code: float(after[code])),
        _CHANGE.of(lambda code: float(after[code] - before[code])),
    ]
    shown = np.flatnonzero((before != 0) | (after != 0))
    ranked = shown[np.argsort(-np.abs(after - before)[shown], kind="stable")]
    return table_of("kinds", "Stall by kind, cycles per wave", columns, ranked.tolist())


@dataclass
class _LineCost:
    """What a source line costs a wave of one capture."""

    label: str = ""
    source: str = ""
    stall: float = 0.0
    charged: float = 0.0


def _line_costs(costs: WaveCosts, *, by_text: bool) -> dict[LineKey, _LineCost]:
    keys = LineKeys(costs.analysis, by_text=by_text)
    instructions, charged = costs.analysis.instructions, costs.analysis.charges.charged
    lines: dict[LineKey, _LineCost] = {}
    for row in np.flatnonzero((instructions.stall > 0) | (charged > 0)).tolist():
        frames = instructions.frames_of(row)
        if not frames:
            continue
        line = lines.setdefault(keys.key(frames[0]), _LineCost())
        line.label = frames[0].label
        line.source = (costs.analysis.capture.source_line(frames[0]) or line.source).strip()
        line.stall += costs.per_wave(int(instructions.stall[row]))
        line.charged += costs.per_wave(int(charged[row]))
    return lines


class _ChangedLine(NamedTuple):
    """One source line in A and in B; where one of them has none, it costs nothing there."""

    a: _LineCost
    b: _LineCost

    @property
    def label(self) -> str:
        return self.b.label or self.a.label

    @property
    def stall_change(self) -> float:
        return self.b.stall - self.a.stall

    @property
    def charged_change(self) -> float:
        return self.b.charged - self.a.charged


def _changed_lines(
    before: dict[LineKey, _LineCost], after: dict[LineKey, _LineCost]
) -> list[_ChangedLine]:
    """The lines of both captures, those that changed most first."""
    none = _LineCost()
    lines = [
        _ChangedLine(before.get(key, none), after.get(key, none)) for key in {**before, **after}
    ]
    return sorted(lines, key=lambda line: -max(abs(line.stall_change), abs(line.charged_change)))


_LINE_COLUMNS: tuple[ColumnOf[_ChangedLine], ...] = (
    ResultColumn("line", "Line", Unit.NAME, "file and line number in B, in A where B has none").of(
        lambda line: line.label
    ),
    _STALL_A.of(lambda line: line.a.stall),
    _STALL_B.of(lambda line: line.b.stall),
    _CHANGE.of(lambda line: line.stall_change),
    ResultColumn(
        "charged_a", "Charged A", Unit.NONE, "with waits charged to what they waited for"
    ).of(lambda line: line.a.charged),
    ResultColumn("charged_b", "Charged B", Unit.NONE).of(lambda line: line.b.charged),
    ResultColumn("charged_change", "Change", Unit.NONE, "B - A").of(
        lambda line: line.charged_change
    ),
    ResultColumn("source", "Source", Unit.NAME).of(
        lambda line: line.b.source or line.a.source or None
    ),
)


class _Pairs(NamedTuple):
    """Rows of A and of B that are the same instruction, -1 where there is no partner."""

    row_a: Integers
    row_b: Integers

    @property
    def alone_count(self) -> int:
        """Instructions without a partner."""
        return int(((self.row_a < 0) | (self.row_b < 0)).sum())

    def __len__(self) -> int:
        return len(self.row_a)


def _instruction_pairs(a: CaptureAnalysis, b: CaptureAnalysis) -> _Pairs:
    """All instructions of both captures: matched ones first, then those of one only."""
    left, right = (np.flatnonzero(~each.instructions.is_label) for each in (a, b))
    texts_a, texts_b = a.instructions.text, b.instructions.text
    places = aligned(
        [normalized(texts_a[row]) for row in left.tolist()],
        [normalized(texts_b[row]) for row in right.tolist()],
    )
    at_a, at_b = np.array(places, np.int64).reshape(-1, 2).T
    only_a, only_b = np.delete(left, at_a), np.delete(right, at_b)
    none_a, none_b = np.full(len(only_b), -1), np.full(len(only_a), -1)
    return _Pairs(
        np.concatenate([left[at_a], only_a, none_a]), np.concatenate([right[at_b], none_b, only_b])
    )


def _instruction_table(a: WaveCosts, b: WaveCosts, pairs: _Pairs) -> ResultTable:
    """One row per pair, those whose stall changed most first.

    Column by column: a large kernel has hundreds of thousands of instructions.
    """
    before, after = a.analysis.instructions, b.analysis.instructions
    is_a, is_b = pairs.row_a >= 0, pairs.row_b >= 0
    stall_a = _per_wave(before.stall, pairs.row_a, a.waves)
    stall_b = _per_wave(after.stall, pairs.row_b, b.waves)
    change = stall_b - stall_a
    texts_a = [before.text[row].strip() if row >= 0 else "" for row in pairs.row_a.tolist()]
    texts_b = [after.text[row].strip() if row >= 0 else "" for row in pairs.row_b.tolist()]
    status = [
        _status(row_a, row_b, is_same=text_a == text_b)
        for row_a, row_b, text_a, text_b in zip(*pairs, texts_a, texts_b, strict=True)
    ]
    columns: list[tuple[ResultColumn, Sequence[Value]]] = [
        (
            ResultColumn(
                "status", "Status", Unit.NAME, "same, changed registers, only in A, only in B"
            ),
            status,
        ),
        (ResultColumn("row_a", "Row A", Unit.NONE), _known(pairs.row_a, is_a)),
        (ResultColumn("row_b", "Row B", Unit.NONE), _known(pairs.row_b, is_b)),
        (_STALL_A, _known(stall_a, is_a)),
        (_STALL_B, _known(stall_b, is_b)),
        (_CHANGE, change.tolist()),
        (
            ResultColumn("hits_a", "Hits A", Unit.NONE, "executions per wave"),
            _known(_per_wave(before.hits, pairs.row_a, a.waves), is_a),
        ),
        (
            ResultColumn("hits_b", "Hits B", Unit.NONE),
            _known(_per_wave(after.hits, pairs.row_b, b.waves), is_b),
        ),
        (
            ResultColumn("instruction", "Instruction", Unit.NAME, "as in B, in A where B has none"),
            [after or before for before, after in zip(texts_a, texts_b, strict=True)],
        ),
    ]
    rows = list(zip(*(values for _, values in columns), strict=True))
    order = np.lexsort((np.array(status, object), -np.abs(change)))
    return ResultTable(
        "instructions",
        "Instructions, cycles per wave",
        tuple(column for column, _ in columns),
        [rows[place] for place in order.tolist()],
    )


def _per_wave(values: Integers, rows: Integers, waves: int) -> Reals:
    """The values of rows divided by waves; row -1, which no instruction is, has 0."""
    return np.append(values, 0)[rows] / waves


def _status(row_a: int, row_b: int, *, is_same: bool) -> str:
    if row_a < 0:
        return "only in B"
    if row_b < 0:
        return "only in A"
    return "same" if is_same else "changed registers"


def _known(values: Integers | Reals, is_known: Flags) -> list[Value]:
    """The values, None where there is none."""
    return [
        value if known else None
        for value, known in zip(values.tolist(), is_known.tolist(), strict=True)
    ]
