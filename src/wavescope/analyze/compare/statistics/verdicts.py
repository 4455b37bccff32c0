"""Verdicts on effects, and p-values of many tests at once."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from wavescope.analyze.compare.statistics.effects import Effect
from wavescope.analyze.compare.statistics.power import POWER
from wavescope.arrays.student_t import quantile


class Verdict(str, enum.Enum):
    """The conclusion of a comparison of repeated runs; values are lower-case words."""

    PASS = "pass"  # noqa: S105  not a password
    """No slow-down as large as the threshold."""
    REGRESSION = "regression"
    """A real slow-down, by the best estimate as large as the threshold."""
    IMPROVEMENT = "improvement"
    """A real speed-up, by the best estimate as large as the threshold."""
    INCONCLUSIVE = "inconclusive"
    """The noise allows a slow-down as large as the threshold, and does not show one."""


def verdict_of(
    effect: Effect, threshold_percent: float, significance: float, p_value: float | None = None
) -> Verdict:
    """The verdict on an effect whose increase is bad.

    `p_value` is an adjusted one, where the effect is one of many. The four cases: a change is real
    when its p-value is at most `significance`; a real change of at least the threshold is a
    regression or an improvement; otherwise the upper end of the interval decides whether a
    slow-down as large as the threshold is excluded.
    """
    p_value = effect.p_value if p_value is None else p_value
    if p_value is None or effect.high_percent is None:
        return Verdict.INCONCLUSIVE
    if p_value <= significance and abs(effect.change_percent) >= threshold_percent:
        return Verdict.REGRESSION if effect.change_percent > 0 else Verdict.IMPROVEMENT
    return Verdict.PASS if effect.high_percent < threshold_percent else Verdict.INCONCLUSIVE


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given.

    Whatever the tests have to do with one another: when no effect is real, the chance that any
    adjusted value is at most a is at most a.
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def detectable_percent(effect: Effect, threshold_percent: float) -> float | None:
    """The smallest slow-down that would be called a regression four times out of five.

    It must be real, and by its estimate as large as the threshold.
    """
    if effect.detectable_percent is None or effect.degrees is None:
        return None
    by_estimate = threshold_percent + quantile(POWER, effect.degrees) * effect.error_percent
    return max(effect.detectable_percent, by_estimate)
