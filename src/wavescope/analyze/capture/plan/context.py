"""What all patterns look at, computed once for a traced kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.analyze.capture.executed import sums_by_row
from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.analyze.capture.plan.exposed import busy_cycles, exposed_stalls
from wavescope.analyze.capture.plan.loops import Loop, find_loops, innermost_loop
from wavescope.analyze.capture.plan.opportunity import MEDIUM_PERCENT
from wavescope.analyze.capture.plan.stall_pieces import StallPieces, stall_pieces
from wavescope.analyze.occupancy.traced_kernel import TracedOccupancy, traced_occupancy
from wavescope.analyze.traffic.kernel_traffic import KernelTraffic
from wavescope.model.capture import Flags, Integers, Rows


@dataclass(frozen=True)
class Counters:
    """Counter values of this kernel from another run, means per dispatch."""

    traffic: KernelTraffic | None
    values: dict[str, float]


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
    """A decoded trace, its stall in pieces, loops, and what other files say of the kernel."""

    def __init__(self, decoded: DecodedTrace, counters: Counters | None = None) -> None:
        self.decoded = decoded
        self.counters = counters

    @property
    def has_waves(self) -> bool:
        """Whether events have times: without wave files only rows are known."""
        return len(self.decoded.waves) > 0

    @cached_property
    def matrix_cycles(self) -> Integers:
        """By row how long it keeps the matrix unit, 0 for all others."""
        return busy_cycles(self.decoded)

    @property
    def exposed(self) -> Rows | Integers:
        """By event the exposed part of its stall; all of it where there are no wave files."""
        if not self.has_waves:
            return np.maximum(self.decoded.executed.stall, 0)
        return exposed_stalls(self.decoded)

    @cached_property
    def pieces(self) -> StallPieces:
        """All stall by cause."""
        return stall_pieces(self.decoded, self.exposed)

    @cached_property
    def lifetime(self) -> int:
        """Cycles of all waves together."""
        return max(self.decoded.wave_cycles, 1)

    @cached_property
    def loops(self) -> list[Loop]:
        """The loops that waves repeated, the shortest first."""
        return find_loops(self.decoded.waves)

    @cached_property
    def loop_of_row(self) -> Rows:
        """By row the index of the innermost loop, -1 outside."""
        return innermost_loop(self.loops, len(self.decoded.instructions))

    @cached_property
    def in_matrix_loop(self) -> Flags:
        """By row whether its innermost loop has a matrix instruction."""
        is_matrix = self.decoded.is_of(Kind.MATRIX)
        inside = np.zeros(len(is_matrix), np.bool_)
        for index, loop in enumerate(self.loops):
            if is_matrix[loop.first : loop.last + 1].any():
                inside |= self.loop_of_row == index
        return inside

    def matrix_between(self, first: Rows, last: Rows) -> Integers:
        """How many matrix instructions are in each range of events, `last` not among them."""
        found: Integers = np.searchsorted(self._matrix_events, last)
        found -= np.searchsorted(self._matrix_events, first)
        return found

    @cached_property
    def occupancy(self) -> TracedOccupancy | None:
        """What fits of this kernel at once, where the chip is known."""
        return traced_occupancy(self.decoded.trace)

    def cause_is(self, *kinds: Kind) -> Flags:
        """Pieces whose cause is of one of `kinds`."""
        return self.decoded.is_of(*kinds)[self.pieces.cause_row]

    def place(self, row: int) -> str:
        """`file.py:10` of the innermost frame, or the row itself where there is no source."""
        frames = self.decoded.instructions.frames_of(row)
        return frames[0].label if frames else f"row {row}"

    def line_text(self, row: int) -> str:
        """The source line of a row, or its instruction where the source is not kept."""
        trace = self.decoded.trace
        for frame in trace.instructions.frames_of(row):
            text = trace.source_line(frame)
            if text and text.strip():
                return text.strip()
        return self.instruction(row)

    def instruction(self, row: int) -> str:
        """The instruction of a row."""
        return self.decoded.instructions.text[row].strip()

    def groups(self, chosen: Flags, least_percent: float) -> Iterator[Group]:
        """The chosen pieces by the place that caused them, the costliest first.

        Many places that are worth little each but much together come last, as one group.
        """
        pieces = self.pieces
        found = np.flatnonzero(chosen)
        places = self._place_code[pieces.cause_row[found]]
        sums = np.zeros(len(self._place_code), np.int64)
        np.add.at(sums, places, pieces.exposed[found])
        least = max(least_percent * self.lifetime / 100, 1)
        for place in np.argsort(-sums, kind="stable")[: int((sums >= least).sum())].tolist():
            yield self.group_of(found[places == place])
        is_small = (sums > 0) & (sums < least)
        if 100 * int(sums[is_small].sum()) >= MEDIUM_PERCENT * self.lifetime:
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
        waves = self.decoded.waves
        cycles = waves.time[event]
        cycles -= waves.time[cause]
        cycles -= waves.stall[cause]
        hidden = int(np.median(cycles))
        cycles += waves.stall[event]
        latency = int(np.median(cycles, overwrite_input=True))
        return hidden, int(np.median(self.matrix_between(cause, event))), latency

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
        count = len(self.decoded.instructions)
        distinct = np.flatnonzero(sums_by_row(rows, None, count))
        sums = sums_by_row(rows, cycles, count)[distinct]
        return tuple(distinct[np.argsort(-sums, kind="stable")].tolist())

    @cached_property
    def _matrix_events(self) -> Rows:
        return self.decoded.events_of(Kind.MATRIX)

    @cached_property
    def _place_code(self) -> Rows:
        """By row a number that all rows of its place share."""
        instructions = self.decoded.instructions
        numbers: dict[str, int] = {}
        of_source = [
            numbers.setdefault(frames[0].label, len(numbers)) if frames else -1
            for frames in instructions.frames
        ]
        codes = np.array([*of_source, -1], np.int32)[instructions.source_code]
        alone = np.flatnonzero(codes < 0)
        codes[alone] = len(numbers) + np.arange(len(alone))
        return codes
