"""All stall of a kernel in pieces, each with the instruction that caused it.

A wait's stall belongs to the operations it waited for; every other stall to the instruction itself.
The pieces add up to the stall of all events.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavescope.analyze.thread_trace.decoded import DecodedTrace
from wavescope.model.thread_trace import Flags, Integers, Rows


@dataclass(frozen=True, eq=False)
class StallPieces:
    """Columns of equal length; `cause_event` is `event` where the instruction itself stalls."""

    event: Integers
    cause_event: Integers
    row: Rows
    cause_row: Rows
    stall: Integers
    exposed: Integers

    def __len__(self) -> int:
        return len(self.event)

    @property
    def is_wait(self) -> Flags:
        """Pieces of waits that know what they waited for."""
        waits: Flags = self.event != self.cause_event
        return waits


def stall_pieces(decoded: DecodedTrace, exposed: Integers) -> StallPieces:
    """The pieces of all stalled events; `exposed` is by event."""
    executed, dependencies = decoded.executed, decoded.dependencies
    stall = np.maximum(executed.stall.astype(np.int64), 0)
    own = stall.copy()
    own[dependencies.wait_event] = 0
    own_events = np.flatnonzero(own)
    listed = np.flatnonzero(decoded.charges.list_stall > 0)
    waits = dependencies.wait_event[listed]
    events = np.concatenate([own_events, waits])
    causes = np.concatenate([own_events, dependencies.last_producer[listed]])
    pieces = np.concatenate([own[own_events], decoded.charges.list_stall[listed]])
    whole = np.maximum(stall[events], 1)
    known = (executed.row[events] >= 0) & (executed.row[causes] >= 0)
    events, causes, pieces, whole = (each[known] for each in (events, causes, pieces, whole))
    return StallPieces(
        event=events,
        cause_event=causes,
        row=executed.row[events],
        cause_row=executed.row[causes],
        stall=pieces,
        exposed=exposed[events] * pieces // whole,
    )
