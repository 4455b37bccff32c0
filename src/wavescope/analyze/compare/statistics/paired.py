"""The change within pairs of runs that were made side by side: rounds of a measurement."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wavescope.analyze.compare.statistics.two_arms import (
    POWER,
    Effect,
    critical_value,
    fewest,
    guarded_p,
)
from wavescope.arrays.student_t import quantile


def paired_effect(
    base: Sequence[float], new: Sequence[float], significance: float = 0.05
) -> Effect:
    """The effect from `base` to `new`, values above 0 of which each two belong together.

    Student's t on the logarithms of the ratios: what all runs of a round share cancels.
    """
    if not base or len(base) != len(new):
        raise ValueError("there must be at least one pair")
    logs = np.log(np.asarray(new, np.float64)) - np.log(np.asarray(base, np.float64))
    mean, count = float(logs.mean()), len(logs)
    known = count > 1
    deviation = float(logs.std(ddof=1)) if known else 0.0
    error, degrees = deviation / math.sqrt(count), float(count - 1)
    reach = critical_value(significance, degrees) * error if known else 0.0
    detectable = (
        (critical_value(significance, degrees) + quantile(POWER, degrees)) * error if known else 0.0
    )
    return Effect(
        base_value=math.exp(float(np.log(base).mean())),
        new_value=math.exp(float(np.log(new).mean())),
        change_percent=100 * math.expm1(mean),
        low_percent=100 * math.expm1(mean - reach) if known else None,
        high_percent=100 * math.expm1(mean + reach) if known else None,
        p_value=guarded_p(mean, error, degrees) if known else None,
        detectable_percent=100 * math.expm1(detectable) if known else None,
        degrees=degrees if known else None,
        run_noise_percent=100 * deviation if known else None,
        step_noise_percent=0.0,
        base_run_count=count,
        new_run_count=count,
    )


def pairs_needed(effect: Effect, threshold_percent: float, significance: float) -> int | None:
    """Pairs that would make `threshold_percent` detectable; None when out of reach."""
    if effect.run_noise_percent is None:
        return None
    noise_percent = effect.run_noise_percent

    def detectable_percent(count: int) -> float:
        reach = critical_value(significance, count - 1) + quantile(POWER, count - 1)
        return reach * noise_percent / math.sqrt(count)

    return fewest(detectable_percent, threshold_percent)
