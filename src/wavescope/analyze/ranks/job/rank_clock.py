"""The clock of a rank, and the way to the common time of the job."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from wavescope.arrays.intervals import Times


class ClockState(str, enum.Enum):
    """Whether times of a rank may be compared with those of others."""

    REFERENCE = "reference"
    ALIGNED = "aligned"
    SHARED = "shared"
    """The same clock as an aligned rank's, as the trace says."""
    UNKNOWN = "unknown"
    """Nothing ties it to the others."""
    CONTRADICTED = "contradicted"
    """No clock fits what was matched: wrong matching, or a clock that jumped."""
    TOO_WIDE = "too wide"
    """The certified interval is wider than what is to be compared."""


@dataclass(frozen=True)
class RankClock:
    """common time = own time + offset_ns + drift_ppm * (own time - origin_ns) / 10^6."""

    state: ClockState
    origin_ns: int = 0
    offset_ns: int = 0
    drift_ppm: float = 0.0
    low_ns: int | None = None
    """The least offset at `origin_ns` that causality allows; None where nothing certifies it."""
    high_ns: int | None = None
    """The greatest."""
    residual_ns: int | None = None
    """How far ends of exchanges lie from the fitted line: the median."""
    exchange_count: int = 0
    """How many exchanges it was fitted to."""
    reason: str = ""
    """Why it is not aligned, as a sentence."""
    component: int = 0
    """Only ranks with the same number are tied to each other; each has a reference of its own."""

    @property
    def is_comparable(self) -> bool:
        return self.state in (ClockState.REFERENCE, ClockState.ALIGNED, ClockState.SHARED)

    def to_common(self, own_ns: Times) -> Times:
        """The common time of each of the rank's own times, rounded to whole nanoseconds."""
        own = np.asarray(own_ns, np.int64)
        drifted = np.rint((own - self.origin_ns) * (self.drift_ppm * 1e-6)).astype(np.int64)
        common: Times = own + self.offset_ns + drifted
        return common

    def to_own(self, common_ns: Times) -> Times:
        """The rank's own time at each common time: the inverse, within a nanosecond."""
        common = np.asarray(common_ns, np.int64)
        since = common - self.offset_ns - self.origin_ns
        own: Times = self.origin_ns + np.rint(since / (1 + self.drift_ppm * 1e-6)).astype(np.int64)
        return own
