"""All stall of a kernel in pieces, each with the instruction that caused it.

A wait's stall belongs to the operations it waited for; every other stall to the instruction itself.
The pieces add up to the stall of all events.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavescope.analyze.thread_trace.decoded import DecodedTrace
from wavescope.model.thread_trace import Flags, Integers, Rows

_LARGEST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class StallPieces:
    """Columns of equal length; `cause_event` is `event` where the instruction itself stalls."""

    event: Rows
    cause_event: Rows
    row: Rows
    cause_row: Rows
    stall: Rows
    exposed: Rows

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
    stall = np.clip(executed.stall, 0, _LARGEST).astype(np.int32)
    is_own = stall > 0
    is_own[dependencies.wait_event] = False
    own = np.flatnonzero(is_own).astype(np.int32)
    listed = np.flatnonzero(decoded.charges.list_stall > 0)
    waits = dependencies.wait_event[listed].astype(np.int32)
    causes = dependencies.last_producer[listed].astype(np.int32)
    parts = np.minimum(decoded.charges.list_stall[listed], _LARGEST)
    exposed_parts = exposed[waits] * parts // np.maximum(stall[waits], 1)
    event, cause = np.concatenate([own, waits]), np.concatenate([own, causes])
    row, cause_row = executed.row[event], executed.row[cause]
    known = (row >= 0) & (cause_row >= 0)
    return StallPieces(
        event=event[known],
        cause_event=cause[known],
        row=row[known],
        cause_row=cause_row[known],
        stall=np.concatenate([stall[own], parts.astype(np.int32)])[known],
        exposed=np.concatenate([exposed[own], exposed_parts]).astype(np.int32)[known],
    )
