"""All stall of a kernel in pieces, each with the instruction that caused it.

A wait's stall belongs to the operations it waited for, a barrier's to what the last wave waited for
while the others stood there; every other stall to the instruction itself. The pieces add up to the
stall of all events.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.barriers import BarrierGroup
from wavescope.analyze.capture.plan.late_arrivals import late_arrivals
from wavescope.analyze.capture.wait_counters import Executed
from wavescope.model.capture import Flags, Integers, Rows

_LARGEST = 2**31 - 1
_PIECE = 1 << 18
"""Pieces made at a time: what they are made of takes more memory than they."""


@dataclass(frozen=True, eq=False)
class StallPieces:
    """Instructions that stall themselves and barriers first, then waits with what they waited for.

    A large trace has millions of pieces: what follows from the executed events is not kept again.
    """

    executed: Executed
    event: Rows
    cause_row: Rows
    exposed: Rows
    wait_cause: Rows
    """The event that caused a wait's piece; only the last pieces are of waits."""
    wait_stall: Rows

    def __len__(self) -> int:
        return len(self.event)

    @property
    def own_count(self) -> int:
        """How many pieces come before those of waits."""
        return len(self.event) - len(self.wait_cause)

    @property
    def is_wait(self) -> Flags:
        """Pieces of waits that know what they waited for."""
        waits = np.ones(len(self), np.bool_)
        waits[: self.own_count] = False
        return waits

    @property
    def is_own(self) -> Flags:
        """Pieces of instructions that are themselves to blame."""
        own: Flags = self.cause_row == self.executed.row[self.event]
        own[self.own_count :] = False
        return own

    @property
    def stall(self) -> Rows:
        """The stall of all pieces."""
        own = _small(self.executed.stall[self.event[: self.own_count]])
        return np.concatenate([own, self.wait_stall])

    def stall_of(self, pieces: Integers) -> int:
        """The stall of some pieces together."""
        is_wait = pieces >= self.own_count
        own = _small(self.executed.stall[self.event[pieces[~is_wait]]])
        return int(own.sum()) + int(self.wait_stall[pieces[is_wait] - self.own_count].sum())

    def rows_of(self, pieces: Integers) -> Rows:
        """The rows where some pieces show."""
        return self.executed.row[self.event[pieces]]

    def waits_of(self, pieces: Integers) -> tuple[Rows, Rows]:
        """The events of waits among some pieces, and of the operations they waited for."""
        waits = pieces[pieces >= self.own_count]
        return self.event[waits], self.wait_cause[waits - self.own_count]


def stall_pieces(
    analysis: CaptureAnalysis, exposed: Rows | Integers, meetings: list[BarrierGroup]
) -> StallPieces:
    """The pieces of all stalled events; `exposed` is by event, `meetings` are those at barriers."""
    executed = analysis.executed
    waits, causes, parts = _charged(analysis)
    is_own = executed.stall > 0
    is_own &= executed.row >= 0
    is_own[analysis.dependencies.wait_event] = False
    own_count = int(np.count_nonzero(is_own))
    event = np.empty(own_count + len(waits), np.int32)
    cause_row, exposed_parts = np.empty_like(event), np.empty_like(event)
    filled = 0
    for first in range(0, len(is_own), _PIECE):
        found = np.flatnonzero(is_own[first : first + _PIECE]) + first
        into = slice(filled, filled + len(found))
        event[into], cause_row[into] = found, executed.row[found]
        exposed_parts[into] = _small(exposed[found])
        filled += len(found)
    late = late_arrivals(analysis, meetings, waits, causes, parts)
    places = np.searchsorted(event[:own_count], late.event)
    is_there = np.isin(late.event, event[:own_count])
    cause_row[places[is_there]] = late.cause_row[is_there]
    for first in range(0, len(waits), _PIECE):
        piece = slice(first, first + _PIECE)
        into = slice(own_count + first, own_count + first + len(waits[piece]))
        event[into], cause_row[into] = waits[piece], executed.row[causes[piece]]
        whole = np.maximum(_small(executed.stall[waits[piece]]), 1)
        exposed_parts[into] = exposed[waits[piece]].astype(np.int64) * parts[piece] // whole
    return StallPieces(executed, event, cause_row, exposed_parts, causes, parts)


def _charged(analysis: CaptureAnalysis) -> tuple[Rows, Rows, Rows]:
    """Waits that stalled, the operation that each waited for, and the stall charged to it."""
    rows, dependencies = analysis.executed.row, analysis.dependencies
    found = np.empty((3, len(dependencies)), np.int32)
    count = 0
    for first in range(0, len(dependencies), _PIECE):
        piece = slice(first, first + _PIECE)
        stall = analysis.charges.list_stall[piece]
        waits = dependencies.wait_event[piece]
        causes = dependencies.producer_event[dependencies.producer_offsets[1:][piece] - 1]
        kept = np.flatnonzero((stall > 0) & (rows[waits] >= 0) & (rows[causes] >= 0))
        into = slice(count, count + len(kept))
        found[:, into] = waits[kept], causes[kept], _small(stall[kept])
        count += len(kept)
    waits, causes, parts = found[:, :count]
    return waits, causes, parts


def _small(cycles: Rows | Integers) -> Rows:
    return np.clip(cycles, 0, _LARGEST).astype(np.int32, copy=False)
