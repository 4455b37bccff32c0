"""How many waves ran at once over time, as occupancy.json recorded it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.model.capture import Integers, WaveOccupancy
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value

Reals = npt.NDArray[np.float64]
PIECES = 20
_COLUMNS = (
    ResultColumn("start", "From", Unit.COUNT, "cycles after the first event"),
    ResultColumn("end", "To", Unit.COUNT),
    ResultColumn("mean_waves", "Waves", Unit.NONE, "mean of all traced shader engines"),
    ResultColumn("peak_waves", "Most", Unit.COUNT),
    ResultColumn("mean_per_simd", "Per SIMD", Unit.NONE, "mean of SIMDs that ever had a wave"),
    ResultColumn("bar", "Occupancy", meaning="beside the most of any piece"),
)
_BAR_CELLS = 20


def running_waves(occupancy: WaveOccupancy) -> tuple[Integers, Integers]:
    """Times at which the number of waves changes, and the number from then on."""
    order = np.lexsort((occupancy.is_start, occupancy.time))  # a slot is left before it is taken
    step = np.where(occupancy.is_start[order], 1, -1)
    running = np.cumsum(step)
    running -= min(int(running.min()), 0)
    return occupancy.time[order], running.astype(np.int64)


def occupancy_over_time(occupancy: WaveOccupancy, pieces: int = PIECES) -> ResultTable | None:
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
    rows: list[tuple[Value, ...]] = []
    for piece in range(pieces):
        low, high = int(bounds[piece]), int(bounds[piece + 1])
        cells = round(_BAR_CELLS * float(means[piece]) / most)
        rows.append(
            (
                low - first,
                high - first,
                float(means[piece]),
                _peak(time, running, low, high),
                float(means[piece]) / simds,
                "█" * cells + "░" * (_BAR_CELLS - cells),
            )
        )
    return ResultTable("occupancy_over_time", "Waves at once over time", _COLUMNS, rows)


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
