"""A part of a recording, as a trace of its own: a window of time of one process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.session.record_file import Records


@dataclass(frozen=True)
class Window:
    """What of a process is wanted: ops that start in it, markers and calls that overlap it."""

    start_ns: int
    end_ns: int
    counters: Records | None = None
    """What was counted in the window, by place in the counters stream; None for all that was."""
    fallen_out: Mapping[int, int] = field(default_factory=dict)
    """Dispatches by queue (see `lane_key`) that were recorded and are in the files no more."""

    def starts_before(self, starts: Array) -> Array:
        """Which of `starts` are too early."""
        early: Array = starts < self.start_ns
        return early

    def starts_beyond(self, starts: Array) -> Array:
        """Which of `starts` are too late."""
        late: Array = starts >= self.end_ns
        return late

    def overlapping(self, records: Records, is_open: Array) -> Array:
        """Which markers or calls the window touches; open ones have no end yet."""
        starts, ends = records["start"].astype(np.int64), records["end"].astype(np.int64)
        touched: Array = (starts < self.end_ns) & (is_open | (ends >= self.start_ns))
        return touched
