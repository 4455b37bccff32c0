"""Where to cut rows into buckets of time of about equal size, told by a sample of their times."""

from __future__ import annotations

import numpy as np

from wavescope.arrays import Array

BUCKET_ROWS = 1 << 17
_SAMPLED_PER_BATCH = 512


class TimeSample:
    """Keeps a few of the times it is shown."""

    def __init__(self) -> None:
        self._parts: list[Array] = []
        self.rows = 0
        """All times that were shown."""

    def add(self, times_ns: Array) -> None:
        """The times of some rows."""
        self._parts.append(times_ns[:: max(1, len(times_ns) // _SAMPLED_PER_BATCH)].copy())
        self.rows += len(times_ns)

    def bucket_edges(self) -> Array:
        """Times, in order, that split the rows into buckets of about BUCKET_ROWS."""
        buckets = self.rows // BUCKET_ROWS
        if buckets < 2:
            return np.empty(0, np.int64)
        sample = np.sort(np.concatenate(self._parts))
        return np.unique(sample[np.arange(1, buckets) * len(sample) // buckets])
