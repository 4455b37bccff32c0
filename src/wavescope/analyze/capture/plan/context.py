"""What all patterns look at, computed once for a traced kernel, and what they give back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.barriers import BarrierGroup, barrier_groups
from wavescope.analyze.capture.entry_lines import statement_frames
from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.analyze.capture.kernel_occupancy import TracedOccupancy, traced_occupancy
from wavescope.analyze.capture.latency_hiding import SimdTime, busy_cycles, simd_time
from wavescope.analyze.capture.plan.gain_limits import Gain, GainLimits
from wavescope.analyze.capture.plan.kernel_counters import KernelCounters
from wavescope.analyze.capture.plan.loops import Loop, find_loops, innermost_loop
from wavescope.analyze.capture.plan.memory_requests import MemoryRequests, memory_requests
from wavescope.analyze.capture.plan.polling import polling_rows
from wavescope.analyze.capture.plan.stall_pieces import StallPieces, stall_pieces
from wavescope.analyze.capture.wait_counters import sums_by_row
from wavescope.model.capture import Flags, Frame, Integers, Rows
from wavescope.model.result import Value

_SHOWN = 3
_TOGETHER_PERCENT = 3.0
"""What many places that are worth little each must be worth together."""
_REMOVED_STALL = (
    "upper bound: {exposed:,} exposed stall cycles of {lifetime:,} wave cycles removed from the "
    "wave timelines; exposed is what no traced wave of the SIMD and no matrix instruction hides"
)
_REMOVED_ROWS = (
    "upper bound: {exposed:,} stall cycles of {lifetime:,} cycles of all rows removed; without "
    "wave files nobody knows which part of them other waves hide"
)


@dataclass(frozen=True)
class Sketch:
    """The change in the kernel's own lines, before and after."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def _no_pieces() -> Integers:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Opportunity:
    """What a pattern found.

    The gain is the exposed stall of `pieces` unless `gain_cycles` says another number of cycles;
    `gain_basis` then says where that is from. An opportunity without either promises nothing.
    """

    pattern: str
    title: str
    evidence: str
    cause: str
    fix: str
    where: str = ""
    pieces: Integers = field(default_factory=_no_pieces)
    gain_cycles: int | None = None
    gain_basis: str = ""
    sketch: Sketch = Sketch()
    numbers: Mapping[str, Value] = field(default_factory=dict)
    needs_idle_simds: bool = True
    """Whether it saves time in which SIMDs with waves do nothing, and so no more than that."""
    comes_first: bool = False
    """Whether it decides what all others are worth."""
    promises: bool = True
    """Whether a change of this kernel can save the stall of its pieces."""


@dataclass(frozen=True, eq=False)
class Group:
    """Pieces that one line of source (or one instruction) caused."""

    where: str
    pieces: Integers
    cause_rows: tuple[int, ...]
    wait_rows: tuple[int, ...]
    """Rows where the stall shows; the same as the causes where these stall themselves."""
    stall: int
    exposed: int


class PlanContext:
    """A capture, its stall in pieces, loops, and what other files say of the kernel."""

    LEAST_PERCENT: ClassVar = 0.5
    """Of all waves' time: what is worth less is not told."""

    def __init__(self, analysis: CaptureAnalysis, counters: KernelCounters | None = None) -> None:
        self.analysis = analysis
        self.counters = counters

    @property
    def has_waves(self) -> bool:
        """Whether events have times: without wave files only rows are known."""
        return len(self.analysis.waves) > 0

    @cached_property
    def matrix_cycles(self) -> Integers:
        """By row how long it keeps the matrix unit, 0 for all others."""
        return busy_cycles(self.analysis)

    @cached_property
    def memory(self) -> MemoryRequests | None:
        """What the kernel asks of memory, where that bounds it."""
        return memory_requests(self.analysis, self.counters)

    @cached_property
    def limits(self) -> GainLimits:
        """What no change can exceed."""
        memory = self.memory
        return GainLimits(
            memory.left_percent if memory else None,
            f"the kernel {memory.words}" if memory else "",
            self._simd_time.idle_percent if self.has_waves else None,
        )

    @cached_property
    def meetings(self) -> list[BarrierGroup]:
        """Waves that met at barriers."""
        return barrier_groups(self.analysis) if self.has_waves else []

    @cached_property
    def pieces(self) -> StallPieces:
        """All stall by cause; without wave files all of it is exposed."""
        exposed = (
            self._simd_time.exposed
            if self.has_waves
            else np.maximum(self.analysis.executed.stall, 0)
        )
        return stall_pieces(self.analysis, exposed, self.meetings)

    @property
    def idle_before_row(self) -> Integers:
        """By row the cycles without anything to issue before it that nothing hides."""
        return self._simd_time.idle_before_row

    @cached_property
    def _simd_time(self) -> SimdTime:
        return simd_time(self.analysis)

    @cached_property
    def lifetime(self) -> int:
        """Cycles of all waves together."""
        return max(self.analysis.wave_cycles, 1)

    @cached_property
    def loops(self) -> list[Loop]:
        """The loops that waves repeated, the shortest first."""
        return find_loops(self.analysis)

    @cached_property
    def loop_of_row(self) -> Rows:
        """By row the index of the innermost loop, -1 outside."""
        return innermost_loop(self.loops, len(self.analysis.instructions))

    def is_repeated(self, row: int) -> bool:
        """Whether a wave went round a loop that has this row."""
        return bool(self.loop_of_row[row] >= 0)

    @cached_property
    def is_polling(self) -> Flags:
        """By row whether it only waits until something else changes what it reads."""
        return polling_rows(self.analysis, self.loops)

    @cached_property
    def in_matrix_loop(self) -> Flags:
        """By row whether its innermost loop has a matrix instruction that waves executed."""
        is_matrix = self.is_executed_matrix
        inside = np.zeros(len(is_matrix), np.bool_)
        for index, loop in enumerate(self.loops):
            if is_matrix[loop.first : loop.last + 1].any():
                inside |= self.loop_of_row == index
        return inside

    @property
    def is_executed_matrix(self) -> Flags:
        """By row whether it is a matrix instruction that a wave executed."""
        return self.analysis.is_of(Kind.MATRIX) & self.analysis.executed_rows

    def matrix_between(self, first: Rows, last: Rows) -> Integers:
        """How many matrix instructions are in each range of events, `last` not among them."""
        found: Integers = np.searchsorted(self._matrix_events, last)
        found -= np.searchsorted(self._matrix_events, first)
        return found

    @cached_property
    def occupancy(self) -> TracedOccupancy | None:
        """What fits of this kernel at once, where the chip is known."""
        return traced_occupancy(self.analysis.capture)

    def cause_is(self, *kinds: Kind) -> Flags:
        """Pieces whose cause is of one of `kinds`."""
        return self.analysis.is_of(*kinds)[self.pieces.cause_row]

    def place(self, row: int) -> str:
        """`file.py:10` of the statement a row belongs to, or the row itself where none is known."""
        frame = self.statement(row)
        return frame.label if frame else f"row {row}"

    def statement(self, row: int) -> Frame | None:
        """The innermost frame of a row that is a statement, not the head of a function."""
        return self._statements[int(self.analysis.instructions.source_code[row])]

    @cached_property
    def _statements(self) -> list[Frame | None]:
        return statement_frames(self.analysis)

    def line_text(self, row: int) -> str:
        """The statement that a row belongs to, or its instruction where that is not known."""
        frame = self.statement(row)
        text = self.analysis.capture.source_line(frame) if frame else None
        return text.strip() if text else self.instruction(row)

    def instruction(self, row: int) -> str:
        """The instruction of a row."""
        return self.analysis.instructions.text[row].strip()

    def stall_evidence(self, group: Group) -> str:
        """How much stall, where it shows, and which instructions cause it."""
        count = len(group.pieces)
        if not self.has_waves:
            count = int(self.analysis.instructions.hits[list(group.wait_rows)].sum())
        exposed = f"{group.exposed:,} exposed of " if self.has_waves else ""
        cost = (
            f"{self.share(group.exposed):.1f} % of all wave time: {exposed}{group.stall:,} stalled "
            f"cycles in {count:,} executions"
        )
        words = [cost, "caused by " + self.quoted(group.cause_rows)]
        causes = set(group.cause_rows)
        shown = tuple(row for row in group.wait_rows if row not in causes)
        if shown:
            words.append("shows at " + self.quoted(shown))
        return "; ".join(words)

    def quoted(self, rows: tuple[int, ...]) -> str:
        """`instruction` (row 12), the first few of them."""
        named = [f"`{self.instruction(row)}` (row {row})" for row in rows[:_SHOWN]]
        more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
        return ", ".join(named) + more

    def distinct_lines(self, rows: tuple[int, ...], most: int = _SHOWN) -> list[str]:
        """The source lines (or instructions) of rows, each once."""
        found: dict[str, None] = {}
        for row in rows:
            found[self.line_text(row)] = None
            if len(found) == most:
                break
        return list(found)

    def gain(self, opportunity: Opportunity) -> Gain:
        """What an opportunity is worth at most, on its own."""
        if not opportunity.promises:
            return Gain(None, "")
        if opportunity.gain_cycles is not None:
            percent, basis = self.share(opportunity.gain_cycles), opportunity.gain_basis
        elif len(opportunity.pieces):
            exposed = int(self.pieces.exposed[opportunity.pieces].sum())
            words = _REMOVED_STALL if self.has_waves else _REMOVED_ROWS
            percent = self.share(exposed)
            basis = words.format(exposed=exposed, lifetime=self.lifetime)
        else:
            return Gain(None, "")
        return self.limits.capped(
            Gain(min(percent, 100.0), basis), by_idle=opportunity.needs_idle_simds
        )

    def groups(self, chosen: Flags) -> Iterator[Group]:
        """The chosen pieces by the place that caused them, the costliest first.

        Many places that are worth little each but much together come last, as one group.
        """
        pieces = self.pieces
        found = np.flatnonzero(chosen)
        places = self._place_code[pieces.cause_row[found]]
        sums = np.zeros(len(self._place_code), np.int64)
        np.add.at(sums, places, pieces.exposed[found])
        least = max(self.LEAST_PERCENT * self.lifetime / 100, 1)
        for place in np.argsort(-sums, kind="stable")[: int((sums >= least).sum())].tolist():
            yield self.group_of(found[places == place])
        is_small = (sums > 0) & (sums < least)
        if 100 * int(sums[is_small].sum()) >= _TOGETHER_PERCENT * self.lifetime:
            group = self.group_of(found[is_small[places]])
            count = int(is_small.sum())
            yield replace(group, where=f"{group.where} and {count - 1} other places")

    def share(self, cycles: int) -> float:
        """`cycles` as percent of all waves' time."""
        return 100 * cycles / self.lifetime

    def hiding(self, pieces: Integers) -> tuple[int, int, int]:
        """Medians over waits: cycles and matrix instructions from issue to wait, whole latency."""
        event, cause = self.pieces.waits_of(pieces)
        if not len(event) or not self.has_waves:
            return 0, 0, 0
        waves = self.analysis.waves
        cycles = waves.time[event]
        cycles -= waves.time[cause]
        cycles -= waves.stall[cause]
        hidden = int(np.median(cycles))
        cycles += waves.stall[event]
        latency = int(np.median(cycles, overwrite_input=True))
        return hidden, int(np.median(self.matrix_between(cause, event))), latency

    def main_row(self, opportunity: Opportunity) -> int | None:
        """The instruction that causes most of what an opportunity claims, else that it names."""
        if not len(opportunity.pieces):
            named = opportunity.numbers.get("row")
            return named if isinstance(named, int) else None
        return self.group_of(opportunity.pieces).cause_rows[0]

    def group_of(self, found: Integers) -> Group:
        """Some pieces as one group, named by the place that costs most."""
        pieces = self.pieces
        exposed = pieces.exposed[found]
        rows = self._by_cost(pieces.cause_row[found], exposed)
        return Group(
            where=self.place(rows[0]),
            pieces=found,
            cause_rows=rows,
            wait_rows=self._by_cost(pieces.rows_of(found), exposed),
            stall=pieces.stall_of(found),
            exposed=int(exposed.sum()),
        )

    def _by_cost(self, rows: Rows, cycles: Rows) -> tuple[int, ...]:
        """The distinct rows, the costliest first."""
        count = len(self.analysis.instructions)
        distinct = np.flatnonzero(sums_by_row(rows, None, count))
        sums = sums_by_row(rows, cycles, count)[distinct]
        return tuple(distinct[np.argsort(-sums, kind="stable")].tolist())

    @cached_property
    def _matrix_events(self) -> Rows:
        return self.analysis.events_of(Kind.MATRIX)

    @cached_property
    def _place_code(self) -> Rows:
        """By row a number that all rows of its place share."""
        instructions = self.analysis.instructions
        numbers: dict[str, int] = {}
        of_source = [
            numbers.setdefault(frame.label, len(numbers)) if frame else -1
            for frame in self._statements
        ]
        codes = np.array([*of_source, -1], np.int32)[instructions.source_code]
        alone = np.flatnonzero(codes < 0)
        codes[alone] = len(numbers) + np.arange(len(alone))
        return codes
