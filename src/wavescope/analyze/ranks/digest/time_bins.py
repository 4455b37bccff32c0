"""A rank's time cut into equal bins."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.ranks.digest.rank_digest import TimeBins
from wavescope.analyze.ranks.digest.rank_ops import RankOps
from wavescope.arrays.covered_time import CoveredTime
from wavescope.arrays.intervals import Times


def time_bins(ops: RankOps, bin_count: int) -> TimeBins:
    """The time from the first op to the last in at most `bin_count` bins; none without time."""
    edges, width_ns = bin_edges(ops.first_ns, ops.last_ns, bin_count)
    busy, compute, collective, either = (
        _by_bin(covered, edges)
        for covered in (ops.busy, ops.compute, ops.collective, ops.compute_or_collective)
    )
    return TimeBins(ops.first_ns, width_ns, busy, compute, collective, either - compute)


def bin_edges(first_ns: int, last_ns: int, bin_count: int) -> tuple[Times, int]:
    """Where bins begin, then where the last one ends, and how wide they are."""
    span_ns = last_ns - first_ns
    width_ns = max(1, -(-span_ns // max(1, bin_count)))
    count = -(-span_ns // width_ns)
    edges = first_ns + width_ns * np.arange(count + 1, dtype=np.int64)
    return edges, width_ns


def _by_bin(covered: CoveredTime, edges: Times) -> Times:
    return np.diff(covered.until(edges))
