"""A capture with what every analysis of it needs: chip, kinds, dependencies, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from wavescope.analyze.capture.charges import Charges, charges_of
from wavescope.analyze.capture.function_headers import Headers, function_headers
from wavescope.analyze.capture.instruction_kinds import (
    KINDS,
    Kind,
    instruction_kinds,
    rows_of_kinds,
)
from wavescope.analyze.capture.traced_chip import TracedChip, traced_chip
from wavescope.analyze.capture.wait_counters import (
    CounterProgram,
    Dependencies,
    Executed,
    counter_program,
    executed_by_waves,
    find_dependencies,
    in_program_order,
)
from wavescope.model.capture import Capture, Codes, Flags, Instructions, Integers, Rows, Waves
from wavescope.model.chips.matrix_table import matrix_cycles
from wavescope.model.result import ColumnOf, ResultTable, table_of

_PIECE = 1 << 18


class CaptureAnalysis:
    """Lazy: each property is computed when it is first asked for."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self._headers: dict[str, Headers] = {}

    def headers_of(self, path: str) -> Headers:
        """Which lines of a kept source file head functions."""
        if path not in self._headers:
            source = self.capture.sources.get(path)
            self._headers[path] = function_headers(source.lines, path) if source else {}
        return self._headers[path]

    @property
    def instructions(self) -> Instructions:
        """The rows of the disassembly."""
        return self.capture.instructions

    @property
    def waves(self) -> Waves:
        """What waves executed."""
        return self.capture.waves

    @cached_property
    def chip(self) -> TracedChip:
        """The chip, its family and what says so."""
        return traced_chip(self.capture)

    @cached_property
    def kind_code(self) -> Codes:
        """For each row the index into `instruction_kinds.KINDS`."""
        return instruction_kinds(self.instructions, self.chip.family)

    def kind(self, row: int) -> Kind:
        """The kind of one row."""
        return KINDS[int(self.kind_code[row])]

    def is_of(self, *kinds: Kind) -> Flags:
        """Which rows are of one of `kinds`."""
        return rows_of_kinds(self.kind_code, kinds)

    def events_of(self, *kinds: Kind) -> Rows:
        """The executed events of instructions of `kinds`, in order."""
        # Row -1, which no instruction is, takes the last flag.
        is_wanted = np.append(self.is_of(*kinds), False)
        rows = self.executed.row
        found = [
            (np.flatnonzero(is_wanted[rows[first : first + _PIECE]]) + first).astype(np.int32)
            for first in range(0, len(rows), _PIECE)
        ]
        return np.concatenate(found) if found else np.empty(0, np.int32)

    @cached_property
    def matrix_cycles(self) -> Integers:
        """By row how long its matrix instruction takes, 0 where the table of chips does not say."""
        cycles = np.zeros(len(self.instructions), np.int64)
        known: dict[str, int] = {}
        for row in np.flatnonzero(self.is_of(Kind.MATRIX)).tolist():
            text = self.instructions.text[row]
            if text not in known:
                known[text] = matrix_cycles(self.chip.name, text) or 0
            cycles[row] = known[text]
        return cycles

    @cached_property
    def program(self) -> CounterProgram:
        """What each row does to the counters of outstanding operations."""
        return counter_program(self.instructions, self.chip.family)

    @cached_property
    def executed(self) -> Executed:
        """What the waves executed, or without them the executed rows in program order."""
        if len(self.waves):
            return executed_by_waves(self.waves)
        return in_program_order(self.instructions)

    @cached_property
    def dependencies(self) -> Dependencies:
        """What every executed wait waited for."""
        return find_dependencies(self.program, self.executed.row, self.executed.offsets)

    @cached_property
    def charges(self) -> Charges:
        """Every wait's stall charged to the operation it waited for."""
        return charges_of(self.instructions, self.executed, self.dependencies)

    @cached_property
    def executed_rows(self) -> Flags:
        """Rows that at least one wave executed, or that were sampled."""
        instructions = self.instructions
        return ~instructions.is_label & ((instructions.hits > 0) | (instructions.latency > 0))

    @cached_property
    def executed_span(self) -> tuple[int, int]:
        """The first and the last executed row; (0, -1) where there is none."""
        rows = np.flatnonzero(self.executed_rows)
        return (int(rows[0]), int(rows[-1])) if len(rows) else (0, -1)

    @cached_property
    def total_stall(self) -> int:
        """The stall of all rows."""
        return int(self.instructions.stall.sum()) if len(self.instructions) else 0

    @cached_property
    def wave_cycles(self) -> int:
        """The cycles that all traced waves lived, or without them latency and idle of all rows."""
        if len(self.waves):
            return int(np.maximum(self.waves.end - self.waves.begin, 0).sum())
        return int(self.instructions.latency.sum() + self.instructions.idle.sum())


def first_rows(
    name: str, title: str, columns: Sequence[ColumnOf[int]], ranked: Sequence[int], most: int
) -> ResultTable:
    """A table of the first `most` of what is ranked, 0 for all; it tells how many there are."""
    table = table_of(name, title, columns, ranked[: most or None])
    return replace(table, total_rows=len(ranked))
