"""How large an effect must be to be found, and how sure a difference is.

Tests are made at `GUARD` of the significance, so that the rate of false alarms stays below it also
with few runs and noise that is not quite bell-shaped. p-values are larger accordingly.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from wavescope.analyze.compare.statistics.step_noise import FloatArray
from wavescope.arrays.student_t import quantile, two_sided_p

POWER = 0.8
GUARD = 0.8
MOST_RUNS_ADVISED = 1_000
_GRID = 96
_MOST_DEGREES = 200.0


def guarded_p(difference: float, error: float, degrees: float, allowance: float = 0.0) -> float:
    """The p-value of a difference with that standard error, of which `allowance` has other causes.

    It is the largest over all shifts that the allowance permits, in either direction.
    """
    if error == 0:
        return 0.0 if abs(difference) > allowance else 1.0
    size = abs(difference)
    beyond = _upper_tail((size - allowance) / error, degrees)
    return min(1.0, (beyond + _upper_tail((size + allowance) / error, degrees)) / GUARD)


def _upper_tail(t: float, degrees: float) -> float:
    tail = two_sided_p(t, degrees) / 2
    return tail if t >= 0 else 1 - tail


def critical_value(significance: float, degrees: float) -> float:
    """How many standard errors a difference must have to be real."""
    return quantile(1 - GUARD * significance / 2, degrees)


def detectable_errors(significance: float, degrees: float) -> float:
    """How many standard errors an effect must have to be found in four of five other sets of runs.

    The standard error is itself an estimate, here and in the other set: with few runs it is often
    too small, and the effect must be larger for it.
    """
    # Two digits are near enough, and let the cache serve all kernels of a check.
    return _detectable_errors(significance, float(f"{min(degrees, _MOST_DEGREES):.2g}"))


@lru_cache(maxsize=256)
def _detectable_errors(significance: float, degrees: float) -> float:
    estimate, weight = _estimated_deviation(degrees)
    both = weight[:, None] * weight[None, :]
    needed = critical_value(significance, degrees) * estimate[None, :]

    def power(errors: float) -> float:
        return float((both * _normal_below(errors * estimate[:, None] - needed)).sum())

    low, high = 0.0, 1.0
    while power(high) < POWER:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if power(middle) < POWER else (low, middle)
    return high


def _estimated_deviation(degrees: float) -> tuple[FloatArray, FloatArray]:
    """Estimates of a standard deviation of 1, and how probable each is."""
    spread = 1 / math.sqrt(2 * degrees)
    estimate = np.linspace(max(1e-4, 1 - 6 * spread), 1 + 6 * spread, _GRID)
    logs = (degrees - 1) * np.log(estimate) - degrees * np.square(estimate) / 2
    weight = np.exp(logs - logs.max())
    return estimate, weight / weight.sum()


def _normal_below(x: FloatArray) -> FloatArray:
    """The normal distribution function, to 1e-7 (Abramowitz and Stegun 26.2.17)."""
    t = 1 / (1 + 0.2316419 * np.abs(x))
    series = t * (
        0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429)))
    )
    tail = np.exp(-np.square(x) / 2) / math.sqrt(2 * math.pi) * series
    return np.where(x >= 0, 1 - tail, tail)


def fewest(detectable_percent: Callable[[int], float], threshold_percent: float) -> int | None:
    """The smallest count from 2 on with which so little is detectable; None beyond a thousand.

    What is detectable shrinks as the count grows.
    """
    counts = range(2, MOST_RUNS_ADVISED + 1)
    place = bisect.bisect_left(
        counts, True, key=lambda count: detectable_percent(count) <= threshold_percent
    )
    return counts[place] if place < len(counts) else None
