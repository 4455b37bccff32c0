"""The difference between two arms of repeated runs: estimate, interval, p-value, detectable effect.

A run's value is the mean (or median) of its steps; an arm's value the geometric mean of its runs.
The standard error of the difference is the largest of three: Welch's, the pooled one, and the one
that resampling the steps alone gives. The first two are what a bootstrap over the runs gives, freed
of its bias for few runs; their degrees of freedom are Satterthwaite's, and the quantiles Student's.
Where the order of the runs is given, what a drifting machine may add is allowed for.
docs/compare.md says why, and which false alarm rates this has.

Runs that were made in pairs are compared pair by pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from wavescope.analyze.compare.statistics.power import (
    POWER,
    critical_value,
    detectable_errors,
    fewest,
    guarded_p,
)
from wavescope.analyze.compare.statistics.run_order import (
    Contrast,
    RunOrder,
    following_in_part,
    means_apart,
    trend_fit,
)
from wavescope.analyze.compare.statistics.step_noise import FloatArray, Statistic, standard_error
from wavescope.analyze.compare.statistics.unusual_steps import fitting_statistic
from wavescope.arrays.student_t import quantile

FEWEST_RUNS_FOR_TWO_STATES = 6
"""Of fewer runs in all, those of each version lie in different states of the machine by chance in
more than one of twenty cases."""
_STATES_APART = 0.1
"""How far two states of a machine may lie apart: clocks, placements."""
_WANDER_BY_DRIFT = 1.5
"""How far a machine goes at random from run to run, by how far it goes steadily."""
_PLAIN_TREND = 0.99
_FEWEST_DEGREES_OF_TREND = 5
"""With fewer a trend is followed only where it is plain."""
_LEVER_OF_TURNS = 1.0
"""Versions recorded in turns lie at most one run apart: what the machine does in between is lost in
the noise (benchmarks/verdicts)."""
_MOST_DEGREES = 1e4
"""Beyond them Student's distribution is the normal one."""


@dataclass(frozen=True)
class TestOptions:
    """How sure a verdict must be."""

    __test__ = False  # for pytest: the name begins like a test's

    significance: float = 0.05
    """Chance that a difference is called real when there is none."""
    statistic: Statistic | None = None
    """Value of a run with several steps; None for the mean, or for the median where single slow
    steps stand out."""
    seed: int = 0
    drift_percent: float = 0.2
    """How much faster or slower the machine may become from run to run."""


@dataclass(frozen=True)
class Effect:
    """What changed from the base runs to the new runs; percentages are of the base."""

    base_value: float
    new_value: float
    change_percent: float
    """Freed of the trend of all runs where `trend_percent` says so."""
    low_percent: float | None
    """Lower end of the confidence interval; None when the noise is not known."""
    high_percent: float | None
    p_value: float | None
    detectable_percent: float | None
    """The smallest increase that runs like these would find four times out of five."""
    degrees: float | None
    run_noise_percent: float | None
    """Standard deviation of the runs of an arm around its value."""
    step_noise_percent: float
    """Standard error of a run's value because it has only so many steps."""
    base_run_count: int
    new_run_count: int
    statistic: Statistic = Statistic.MEAN
    allowance_percent: float = 0.0
    """What drift, or two states of the machine, may make of the change by themselves."""
    trend_percent: float | None = None
    """How much slower each run was than the one before, where the change is freed of it."""
    error_percent: float = 0.0
    """Standard error of the change."""

    @property
    def is_known(self) -> bool:
        """Whether there were runs enough to tell noise from change."""
        return self.p_value is not None


def effect_between(
    base: Sequence[FloatArray],
    new: Sequence[FloatArray],
    options: TestOptions | None = None,
    order: RunOrder | None = None,
) -> Effect:
    """The effect from `base` to `new`: for each run the values of its steps, at least one each.

    Without an order the machine is taken to be the same for all runs.
    """
    options = options or TestOptions()
    if not base or not new or any(len(run) == 0 for run in (*base, *new)):
        raise ValueError("an arm needs at least one run, and a run at least one step")
    statistic = options.statistic or fitting_statistic([*base, *new])
    arms = [_Arm.of(runs, statistic, options.seed, at) for at, runs in enumerate((base, new))]
    is_relative = all(arm.is_positive for arm in arms)
    scale = 1.0 if is_relative else abs(arms[0].mean) or abs(arms[1].mean) or 1.0
    values = [arm.on_scale(is_relative=is_relative, scale=scale) for arm in arms]
    steps = [arm.step_error(scale, is_relative=is_relative) for arm in arms]
    found = _difference(values, steps)
    if order is not None and found.degrees is not None:
        found = _with_drift(found, values, steps, options, order)
    effect = _effect(found, options.significance, is_relative=is_relative)
    return replace(
        effect,
        base_value=arms[0].center(is_relative=is_relative),
        new_value=arms[1].center(is_relative=is_relative),
        base_run_count=len(base),
        new_run_count=len(new),
        statistic=statistic,
    )


def runs_needed(effect: Effect, threshold_percent: float, significance: float) -> int | None:
    """Runs in each arm that would make `threshold_percent` detectable; None when out of reach."""
    if effect.run_noise_percent is None:
        return None
    noise_percent = effect.run_noise_percent

    def detectable_percent(count: int) -> float:
        degrees = 2 * count - 2
        reach = critical_value(significance, degrees) + quantile(POWER, degrees)
        return reach * noise_percent * math.sqrt(2 / count)

    return fewest(detectable_percent, threshold_percent)


@dataclass(frozen=True)
class _Arm:
    """Value and step error of each run."""

    values: FloatArray
    step_errors: FloatArray

    @classmethod
    def of(cls, runs: Sequence[FloatArray], statistic: Statistic, seed: int, offset: int) -> _Arm:
        errors = [
            standard_error(run, statistic, seed * 1_000_003 + 2 * index + offset)
            for index, run in enumerate(runs)
        ]
        return cls(np.array([statistic.of(run) for run in runs]), np.array(errors))

    @property
    def is_positive(self) -> bool:
        return bool((self.values > 0).all())

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    def center(self, *, is_relative: bool) -> float:
        """The arm's value: a geometric mean where every run has a positive one."""
        return float(np.exp(np.log(self.values).mean())) if is_relative else self.mean

    def on_scale(self, *, is_relative: bool, scale: float) -> FloatArray:
        """Values whose differences are relative changes."""
        return np.log(self.values) if is_relative else self.values / scale

    def step_error(self, scale: float, *, is_relative: bool) -> float:
        """The root mean square of the runs' relative step errors."""
        errors = self.step_errors / (self.values if is_relative else scale)
        return math.sqrt(float(np.mean(np.square(errors))))


@dataclass(frozen=True)
class _Difference:
    """A difference on the scale of relative changes, and what is known of its noise."""

    estimate: float
    error: float
    """Standard error."""
    degrees: float | None
    """None when no arm has two runs."""
    run_deviation: float | None
    step_error_of_run: float
    allowance: float = 0.0
    """How far a steady drift, or two states of the machine, may have moved the estimate."""
    wander: float = 0.0
    """The variance that a random drift adds."""
    trend: float | None = None

    def with_wander(self) -> tuple[float, float]:
        """Error and Satterthwaite's degrees of freedom, with the variance that is not estimated."""
        assert self.degrees is not None
        estimated = self.error**2
        whole = estimated + self.wander
        if estimated <= 0 or whole <= 0:
            return math.sqrt(whole), self.degrees
        return math.sqrt(whole), min(_MOST_DEGREES, self.degrees * (whole / estimated) ** 2)


def _difference(values: Sequence[FloatArray], step_errors: Sequence[float]) -> _Difference:
    counts = [len(arm) for arm in values]
    estimate = float(values[1].mean() - values[0].mean())
    from_steps = sum(error**2 / count for error, count in zip(step_errors, counts, strict=True))
    of_run = math.sqrt(sum(error**2 for error in step_errors) / 2)
    freedom = sum(counts) - 2
    if freedom < 1:
        return _Difference(estimate, math.sqrt(from_steps), None, None, of_run)
    variances = [float(arm.var(ddof=1)) if len(arm) > 1 else 0.0 for arm in values]
    pooled = (
        sum((count - 1) * variance for count, variance in zip(counts, variances, strict=True))
        / freedom
    )
    parts = [variance / count for count, variance in zip(counts, variances, strict=True)]
    squared = max(sum(parts), pooled * sum(1 / count for count in counts), from_steps)
    degrees = _degrees(parts, counts, freedom)
    return _Difference(estimate, math.sqrt(squared), degrees, math.sqrt(pooled), of_run)


def _degrees(parts: Sequence[float], counts: Sequence[int], freedom: int) -> float:
    """Satterthwaite's, where both arms have several runs; those of the other arm otherwise."""
    below = sum(
        part**2 / (count - 1) for part, count in zip(parts, counts, strict=True) if count > 1
    )
    if min(counts) < 2 or below <= 0:
        return float(freedom)
    return min(float(freedom), sum(parts) ** 2 / below)


def _with_drift(
    plain: _Difference,
    values: Sequence[FloatArray],
    step_errors: Sequence[float],
    options: TestOptions,
    order: RunOrder,
) -> _Difference:
    """The difference as a machine that drifts disturbs it least, and what it may add.

    Between the difference of the means and the one beside a trend lie others, which follow the
    trend in part. The one with which the smallest change can be shown is taken, by one estimate of
    the noise for all, so that luck has no part in the choice. A trend that is plainly larger than
    the machine is said to have leaves none.
    """
    drift = options.drift_percent / 100
    wander = (_WANDER_BY_DRIFT * drift) ** 2
    means, fit = means_apart(order), trend_fit(order)
    is_few = len(order.base) + len(order.new) < FEWEST_RUNS_FOR_TWO_STATES
    steady = drift * means.lever if means.lever > _LEVER_OF_TURNS else 0.0
    allowance = steady + (_STATES_APART if is_few else 0.0)
    apart = replace(plain, allowance=allowance, wander=wander * means.wander)
    if fit is None or is_few or not drift:
        return apart
    joined = np.concatenate(values)
    variance = fit.residual_variance(joined)
    slope = float(fit.slope.weights @ joined)
    slope_error = math.sqrt(variance * fit.slope.squares)
    if abs(slope) - quantile(_PLAIN_TREND, fit.degrees) * slope_error > drift:
        chosen = fit.difference
    elif not steady or fit.degrees < _FEWEST_DEGREES_OF_TREND:
        return apart
    else:
        errors = critical_value(options.significance, fit.degrees)
        chosen = min(
            following_in_part(order),
            key=lambda part: _needed(part, variance, drift, wander, errors),
        )
    if chosen is means:
        # The choice rests on the noise around the trend: with less it would not have been made.
        return replace(apart, error=max(apart.error, math.sqrt(variance * means.squares)))
    error = math.sqrt(max(variance * chosen.squares, _steps_variance(chosen, step_errors, order)))
    return replace(
        plain,
        estimate=float(chosen.weights @ joined),
        error=error,
        degrees=float(fit.degrees),
        allowance=drift * chosen.lever,
        wander=wander * chosen.wander,
        trend=slope,
    )


def _needed(
    contrast: Contrast, variance: float, drift: float, wander: float, errors: float
) -> float:
    """The change that stands out of noise of this variance with a steady or a random drift."""
    noise = variance * contrast.squares
    steady = drift * contrast.lever + errors * math.sqrt(noise)
    return max(steady, errors * math.sqrt(noise + wander * contrast.wander))


def _steps_variance(contrast: Contrast, step_errors: Sequence[float], order: RunOrder) -> float:
    """The variance of the contrast that the steps alone give."""
    of_arms = np.split(np.square(contrast.weights), [len(order.base)])
    return sum(
        error**2 * float(squares.sum()) for error, squares in zip(step_errors, of_arms, strict=True)
    )


def _effect(found: _Difference, significance: float, *, is_relative: bool) -> Effect:
    """The effect in percent, with nothing said of the arms yet."""

    def percent(change: float) -> float:
        return 100 * (math.expm1(min(change, 700.0)) if is_relative else change)

    bounds: tuple[float, float] | None = None
    p_value = detectable_percent = None
    if found.degrees is not None:
        reach = critical_value(significance, found.degrees) * found.error
        bounds = found.estimate - reach, found.estimate + reach
        steady = found.error, found.degrees, found.allowance
        wandering = *found.with_wander(), 0.0
        p_value = max(guarded_p(found.estimate, *each) for each in (steady, wandering))
        detectable_percent = percent(
            max(
                allowance + detectable_errors(significance, degrees) * error
                for error, degrees, allowance in (steady, wandering)
            )
        )
    return Effect(
        base_value=0.0,
        new_value=0.0,
        change_percent=percent(found.estimate),
        low_percent=None if bounds is None else percent(bounds[0]),
        high_percent=None if bounds is None else percent(bounds[1]),
        p_value=p_value,
        detectable_percent=detectable_percent,
        degrees=found.degrees,
        run_noise_percent=None if found.run_deviation is None else 100 * found.run_deviation,
        step_noise_percent=100 * found.step_error_of_run,
        base_run_count=0,
        new_run_count=0,
        allowance_percent=percent(max(found.allowance, 2 * math.sqrt(found.wander))),
        trend_percent=None if found.trend is None else percent(found.trend),
        error_percent=100 * found.error,
    )


def paired_effect(
    base: Sequence[float], new: Sequence[float], significance: float = 0.05
) -> Effect:
    """The effect from `base` to `new`, values above 0 of which each two belong together.

    Student's t on the logarithms of the ratios: what all runs of a round share cancels.
    """
    if not base or len(base) != len(new):
        raise ValueError("there must be at least one pair")
    logs = np.log(np.asarray(new, np.float64)) - np.log(np.asarray(base, np.float64))
    count = len(logs)
    known = count > 1
    deviation = float(logs.std(ddof=1)) if known else None
    found = _Difference(
        float(logs.mean()),
        (deviation or 0.0) / math.sqrt(count),
        float(count - 1) if known else None,
        deviation,
        0.0,
    )
    return replace(
        _effect(found, significance, is_relative=True),
        base_value=math.exp(float(np.log(base).mean())),
        new_value=math.exp(float(np.log(new).mean())),
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
