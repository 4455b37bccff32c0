"""The value of a run with several steps, and its noise because it has only so many of them.

The steps of one run resemble their neighbours (clocks, caches, batch sizes), so they are resampled
in blocks. Of a mean, the spread over all resamples is known exactly and not drawn; of a median it
is drawn with a seeded generator.
"""

from __future__ import annotations

import enum
import math

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_REPLICATES = 200
_VALUES_AT_ONCE = 1 << 21


class Statistic(str, enum.Enum):
    """What the steps of a run are summed up to."""

    MEAN = "mean"
    MEDIAN = "median"

    def of(self, values: FloatArray) -> float:
        """The statistic of at least one value."""
        return float(values.mean() if self is Statistic.MEAN else np.median(values))


def block_length(step_count: int) -> int:
    """How many neighbouring steps make a block: the cube root of their number, rounded up."""
    return max(1, math.ceil(round(math.pow(step_count, 1 / 3), 9)))


def standard_error(values: FloatArray, statistic: Statistic, seed: int) -> float:
    """The standard error of `statistic` over the steps of one run; 0 for a single step."""
    count = len(values)
    if count < 2:
        return 0.0
    length = block_length(count)
    if statistic is Statistic.MEAN:
        return _of_mean(values, length)
    return _of_median(values, length, np.random.default_rng(seed))


def _of_mean(values: FloatArray, length: int) -> float:
    """The standard deviation of the mean over all resamples, freed of its bias."""
    sums = np.cumsum(np.concatenate(([0.0], values - values.mean())))
    means = (sums[length:] - sums[:-length]) / length
    block_count = len(values) / length
    variance = float(np.mean(np.square(means))) / block_count
    return math.sqrt(variance * block_count / max(block_count - 1, 0.5))


def _of_median(values: FloatArray, length: int, rng: np.random.Generator) -> float:
    count = len(values)
    block_count = math.ceil(count / length)
    offsets = np.arange(length)
    at_once = max(1, _VALUES_AT_ONCE // (block_count * length))
    medians: list[FloatArray] = []
    for first in range(0, _REPLICATES, at_once):
        rows = min(at_once, _REPLICATES - first)
        starts = rng.integers(0, count - length + 1, (rows, block_count, 1))
        drawn = values[(starts + offsets).reshape(rows, -1)[:, :count]]
        medians.append(np.median(drawn, axis=1))
    return float(np.concatenate(medians).std(ddof=1))
