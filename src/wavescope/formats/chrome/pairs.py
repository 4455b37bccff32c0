"""Matches begin and end events: per process and thread, an end closes the innermost open begin."""

from __future__ import annotations

import numpy as np

from wavescope.formats.chrome.event_batch import HAS_DURATION, HAS_START
from wavescope.formats.chrome.rows import ROW_COLUMNS, EventRows

_LONGEST_NS = (1 << 63) - 1
BEGIN_PHASE = ord("B")
END_PHASE = ord("E")

_PHASE, _FLAGS, _PROCESS, _THREAD, _START, _DURATION = map(
    ROW_COLUMNS.index, ("phase", "flags", "process", "thread", "start_ns", "duration_ns")
)


class OpenSlices:
    """What has begun and not yet ended, per process and thread."""

    def __init__(self) -> None:
        self._stacks: dict[tuple[int, int], list[list[int]]] = {}
        self.unmatched_ends = 0
        self.last_ns = 0
        """The latest begin or end seen."""

    def take(self, rows: EventRows) -> list[list[int]]:
        """Follow the begins and ends among `rows`; the slices that were closed, for closed_rows."""
        phase, has_start = rows["phase"], (rows["flags"] & HAS_START) != 0
        rows = rows.where(((phase == BEGIN_PHASE) | (phase == END_PHASE)) & has_start)
        if not len(rows):
            return []
        columns = [*(rows[name].astype(np.int64) for name in ROW_COLUMNS), rows.args]
        self.last_ns = max(self.last_ns, int(rows["start_ns"].max()))
        closed: list[list[int]] = []
        for values in np.stack(columns, axis=1).tolist():
            lane = values[_PROCESS], values[_THREAD]
            if values[_PHASE] == BEGIN_PHASE:
                self._stacks.setdefault(lane, []).append(values)
            elif stack := self._stacks.get(lane):
                closed.append(_closed(stack.pop(), values[_START]))
            else:
                self.unmatched_ends += 1
        return closed

    def close_all(self) -> list[list[int]]:
        """What never ended, ended at the last time seen."""
        remaining = [values for stack in self._stacks.values() for values in stack]
        self._stacks.clear()
        return [_closed(values, self.last_ns) for values in remaining]


def _closed(values: list[int], end_ns: int) -> list[int]:
    values[_DURATION] = min(max(end_ns - values[_START], -_LONGEST_NS), _LONGEST_NS)
    values[_FLAGS] |= HAS_DURATION
    return values
