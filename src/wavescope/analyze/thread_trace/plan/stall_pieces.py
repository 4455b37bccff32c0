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

    def take(self, chosen: Flags) -> StallPieces:
        """Some of the pieces."""
        return StallPieces(
            self.event[chosen],
            self.cause_event[chosen],
            self.row[chosen],
            self.cause_row[chosen],
            self.stall[chosen],
            self.exposed[chosen],
        )

    @property
    def is_wait(self) -> Flags:
        """Pieces of waits that know what they waited for."""
        waits: Flags = self.event != self.cause_event
        return waits


def stall_pieces(decoded: DecodedTrace, exposed: Rows | Integers) -> StallPieces:
    """The pieces of all stalled events; `exposed` is by event."""
    executed, dependencies = decoded.executed, decoded.dependencies
    is_own = executed.stall > 0
    is_own[dependencies.wait_event] = False
    own = np.flatnonzero(is_own).astype(np.int32)
    listed = np.flatnonzero(decoded.charges.list_stall > 0)
    waits = dependencies.wait_event[listed].astype(np.int32)
    causes = dependencies.last_producer[listed].astype(np.int32)
    parts = np.minimum(decoded.charges.list_stall[listed], _LARGEST).astype(np.int32)
    whole = np.maximum(_small(executed.stall[waits]), 1)
    exposed_parts = exposed[waits].astype(np.int64) * parts // whole
    event, cause = np.concatenate([own, waits]), np.concatenate([own, causes])
    found = StallPieces(
        event=event,
        cause_event=cause,
        row=executed.row[event],
        cause_row=executed.row[cause],
        stall=np.concatenate([_small(executed.stall[own]), parts]),
        exposed=np.concatenate([_small(exposed[own]), _small(exposed_parts)]),
    )
    known = (found.row >= 0) & (found.cause_row >= 0)
    return found if known.all() else found.take(known)


def _small(cycles: Rows | Integers) -> Rows:
    return np.clip(cycles, 0, _LARGEST).astype(np.int32, copy=False)
