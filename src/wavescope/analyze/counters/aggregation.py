"""How values of many dispatches become one, and per what amounts are counted."""

from __future__ import annotations

import enum

import numpy as np

from wavescope.model.counters import Floats


class Aggregation(str, enum.Enum):
    """How the average column of a metric is formed."""

    RATIO_OF_SUMS = "ratio-of-sums"
    """The formula on the sums of its counters: a long dispatch weighs more than a short one."""
    MEAN_OF_RATIOS = "mean-of-ratios"
    """The mean of the formula's value in each dispatch, as ROCm Compute Profiler before 3.7."""


class NormalUnit(str, enum.Enum):
    """What an amount such as a number of requests is divided by."""

    PER_KERNEL = "per_kernel"
    PER_WAVE = "per_wave"
    PER_CYCLE = "per_cycle"
    PER_SECOND = "per_second"

    @property
    def formula(self) -> str:
        """What to divide by, as a formula."""
        return {"per_kernel": "1", "per_wave": "SQ_WAVES", "per_cycle": "gui"}.get(
            self.value, "duration"
        )

    @property
    def words(self) -> str:
        """How it reads after a unit: 'per wave'."""
        return self.value.replace("_", " ")


def spread(values: Floats) -> dict[str, Floats]:
    """Least, quartiles and greatest along the first axis; NaN is left out.

    Quartiles lie between two values in proportion, as is usual.
    """
    ordered = np.sort(values, axis=0)  # NaN comes last
    counts = np.isfinite(values).sum(axis=0)
    last = np.maximum(counts - 1, 0)
    result = {}
    for name, share in (("min", 0.0), ("q1", 0.25), ("median", 0.5), ("q3", 0.75), ("max", 1.0)):
        place = share * last
        low = np.floor(place).astype(np.int64)
        high = np.minimum(low + 1, last)
        below = np.take_along_axis(ordered, low[None, ...], axis=0)[0]
        above = np.take_along_axis(ordered, high[None, ...], axis=0)[0]
        result[name] = below + (above - below) * (place - low)
    return result


def mean_of(values: Floats) -> Floats:
    """The mean along the first axis; NaN is left out."""
    known = np.isfinite(values)
    counts = known.sum(axis=0)
    totals = np.where(known, values, 0.0).sum(axis=0)
    mean: Floats = np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)
    return mean


def deviation_of(values: Floats) -> float:
    """The sample standard deviation; NaN for fewer than two values."""
    known = values[np.isfinite(values)]
    return float(known.std(ddof=1)) if len(known) > 1 else float("nan")
