"""How many waves really ran at once: on each SIMD, and over time."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.model.capture import Integers, WaveOccupancy
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of

Reals = npt.NDArray[np.float64]
_PIECES = 20
_BAR_CELLS = 20


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


def running_waves(occupancy: WaveOccupancy) -> tuple[Integers, Integers]:
    """Times at which the number of waves changes, and the number from then on."""
    order = np.lexsort((occupancy.is_start, occupancy.time))  # a slot is left before it is taken
    step = np.where(occupancy.is_start[order], 1, -1)
    running = np.cumsum(step)
    running -= min(int(running.min()), 0)
    return occupancy.time[order], running.astype(np.int64)


def occupancy_over_time(occupancy: WaveOccupancy, pieces: int = _PIECES) -> ResultTable | None:
    """The traced time in equal pieces with their mean and peak; None where nothing is recorded."""
    if len(occupancy) < 2:
        return None
    time, running = running_waves(occupancy)
    first, last = int(time[0]), int(time[-1])
    if last <= first:
        return None
    places = np.stack([occupancy.shader_engine, occupancy.cu, occupancy.simd], axis=1)
    simds = len(np.unique(places, axis=0))
    bounds = first + np.array(
        [(last - first) * piece // pieces for piece in range(pieces + 1)], np.int64
    )
    area = _area_until(time, running, bounds)
    means = np.diff(area) / np.maximum(np.diff(bounds), 1)
    most = float(means.max()) or 1.0
    peaks = [_peak(time, running, int(low), int(high)) for low, high in pairwise(bounds.tolist())]
    columns: list[ColumnOf[int]] = [
        ResultColumn("start", "From", Unit.COUNT, "cycles after the first event").of(
            lambda piece: int(bounds[piece]) - first
        ),
        ResultColumn("end", "To", Unit.COUNT).of(lambda piece: int(bounds[piece + 1]) - first),
        ResultColumn("mean_waves", "Waves", Unit.NONE, "mean of all traced shader engines").of(
            lambda piece: float(means[piece])
        ),
        ResultColumn("peak_waves", "Most", Unit.COUNT).of(lambda piece: peaks[piece]),
        ResultColumn(
            "mean_per_simd", "Per SIMD", Unit.NONE, "mean of SIMDs that ever had a wave"
        ).of(lambda piece: float(means[piece]) / simds),
        ResultColumn("bar", "Occupancy", meaning="beside the most of any piece").of(
            lambda piece: _bar(float(means[piece]) / most)
        ),
    ]
    return table_of("occupancy_over_time", "Waves at once over time", columns, range(pieces))


def _bar(share: float) -> str:
    cells = round(_BAR_CELLS * share)
    return "█" * cells + "░" * (_BAR_CELLS - cells)


def _area_until(time: Integers, running: Integers, moments: Integers) -> Reals:
    """Wave cycles from the first event to each moment."""
    lasting = np.diff(time)
    area = np.concatenate([np.zeros(1), np.cumsum(running[:-1].astype(np.float64) * lasting)])
    place = np.maximum(np.searchsorted(time, moments, side="right") - 1, 0)
    return np.asarray(area[place] + running[place] * (moments - time[place]).astype(np.float64))


def _peak(time: Integers, running: Integers, low: int, high: int) -> int:
    first = max(int(np.searchsorted(time, low, side="right")) - 1, 0)
    last = int(np.searchsorted(time, high, side="left"))
    return int(running[first : max(last, first + 1)].max())
