"""How many waves really ran at once, from the starts and ends that a thread trace recorded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wavescope.model.capture import WaveOccupancy


class MeasuredOccupancy(NamedTuple):
    """Waves per SIMD over all compute units of the traced shader engines."""

    peak: int
    mean_while_busy: float
    """Of the SIMDs that have a wave at all, weighted by time."""
    simds: int
    waves: int


def measured_occupancy(occupancy: WaveOccupancy) -> MeasuredOccupancy | None:
    """Peak and mean waves per SIMD; None where nothing was recorded.

    A start without an end lasts to the last event, an end without a start began at the first.
    """
    if not len(occupancy):
        return None
    places = np.stack(
        [occupancy.shader_engine, occupancy.cu, occupancy.simd], axis=1, dtype=np.int64
    )
    _, simd = np.unique(places, axis=0, return_inverse=True)
    simd = simd.reshape(-1)
    step = np.where(occupancy.is_start, 1, -1)
    order = np.lexsort((step, occupancy.time, simd))
    simd, time, step = simd[order], occupancy.time[order], step[order]
    first = np.flatnonzero(np.r_[True, simd[1:] != simd[:-1]])
    running = np.cumsum(step)
    before = np.r_[0, running[first[1:] - 1]]
    own = running - np.repeat(before, np.diff(np.r_[first, len(simd)]))
    lowest = np.minimum.reduceat(own, first)
    own -= np.repeat(np.minimum(lowest, 0), np.diff(np.r_[first, len(simd)]))
    lasts = np.r_[np.diff(time), 0]
    is_last = np.r_[simd[1:] != simd[:-1], True]
    lasts[is_last] = int(occupancy.time.max()) - time[is_last]
    busy = int(lasts[own > 0].sum())
    return MeasuredOccupancy(
        int(own.max()),
        float((own * lasts).sum() / busy) if busy else 0.0,
        len(first),
        int(occupancy.is_start.sum()),
    )
