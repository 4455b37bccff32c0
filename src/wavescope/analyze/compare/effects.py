"""The difference between two arms of repeated runs: estimate, interval, p-value, detectable effect.

A run's value is the mean (or median) of its steps; an arm's value the geometric mean of its runs.
The standard error of the difference is the largest of three: Welch's, the pooled one, and the one
that resampling the steps alone gives. The first two are what a bootstrap over the runs gives, freed
of its bias for few runs; their degrees of freedom are Satterthwaite's, and the quantiles Student's.
docs/compare.md says why, and which false alarm rates this has.

The steps of one run resemble their neighbours (clocks, caches, batch sizes), so they are resampled
in blocks. Of a mean, the spread over all resamples is known exactly and not drawn; of a median it
is drawn with a seeded generator. Runs that were made in pairs are compared pair by pair.
"""

from __future__ import annotations

import bisect
import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.arrays.student_t import quantile, two_sided_p

FloatArray = npt.NDArray[np.float64]

_REPLICATES = 200
_VALUES_AT_ONCE = 1 << 21
POWER = 0.8
GUARD = 0.8
"""Tests are made at this part of the significance, so that the rate of false alarms stays below it
also with few runs and noise that is not quite bell-shaped. p-values are larger accordingly."""
MOST_RUNS_ADVISED = 1_000


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


@dataclass(frozen=True)
class TestOptions:
    """How sure a verdict must be."""

    __test__ = False  # for pytest: the name begins like a test's

    significance: float = 0.05
    """Chance that a difference is called real when there is none."""
    statistic: Statistic = Statistic.MEAN
    seed: int = 0


@dataclass(frozen=True)
class Effect:
    """What changed from the base runs to the new runs; percentages are of the base."""

    base_value: float
    new_value: float
    change_percent: float
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

    @property
    def is_known(self) -> bool:
        """Whether there were runs enough to tell noise from change."""
        return self.p_value is not None


def effect_between(
    base: Sequence[FloatArray], new: Sequence[FloatArray], options: TestOptions | None = None
) -> Effect:
    """The effect from `base` to `new`: for each run the values of its steps, at least one each."""
    options = options or TestOptions()
    arms = [_Arm.of(runs, options, offset) for offset, runs in enumerate((base, new))]
    is_relative = all(arm.is_positive for arm in arms)
    scale = 1.0 if is_relative else abs(arms[0].mean) or abs(arms[1].mean) or 1.0
    values = [arm.on_scale(is_relative=is_relative, scale=scale) for arm in arms]
    difference = float(values[1].mean() - values[0].mean())
    noise = _noise(values, [arm.step_error(scale, is_relative=is_relative) for arm in arms])
    bounds: tuple[float, float] | None = None
    if noise.degrees is not None:
        reach = critical_value(options.significance, noise.degrees) * noise.error
        bounds = difference - reach, difference + reach

    def percent(change: float) -> float:
        return 100 * (math.expm1(min(change, 700.0)) if is_relative else change)

    return Effect(
        base_value=arms[0].center(is_relative=is_relative),
        new_value=arms[1].center(is_relative=is_relative),
        change_percent=percent(difference),
        low_percent=None if bounds is None else percent(bounds[0]),
        high_percent=None if bounds is None else percent(bounds[1]),
        p_value=_p_value(difference, noise),
        detectable_percent=_detectable(noise, options.significance, percent),
        degrees=noise.degrees,
        run_noise_percent=None if noise.run_deviation is None else 100 * noise.run_deviation,
        step_noise_percent=100 * noise.step_error_of_run,
        base_run_count=len(base),
        new_run_count=len(new),
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


def fewest(detectable_percent: Callable[[int], float], threshold_percent: float) -> int | None:
    """The smallest count from 2 on with which so little is detectable; None beyond a thousand.

    What is detectable shrinks as the count grows.
    """
    counts = range(2, MOST_RUNS_ADVISED + 1)
    place = bisect.bisect_left(
        counts, True, key=lambda count: detectable_percent(count) <= threshold_percent
    )
    return counts[place] if place < len(counts) else None


@dataclass(frozen=True)
class _Arm:
    """Value and step error of each run."""

    values: FloatArray
    step_errors: FloatArray

    @classmethod
    def of(cls, runs: Sequence[FloatArray], options: TestOptions, offset: int) -> _Arm:
        if not runs or any(len(run) == 0 for run in runs):
            raise ValueError("an arm needs at least one run, and a run at least one step")
        seeds = [options.seed * 1_000_003 + 2 * index + offset for index in range(len(runs))]
        errors = [
            standard_error(run, options.statistic, seed)
            for run, seed in zip(runs, seeds, strict=True)
        ]
        return cls(np.array([options.statistic.of(run) for run in runs]), np.array(errors))

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
class _Noise:
    error: float
    """Standard error of the difference."""
    degrees: float | None
    """None when no arm has two runs."""
    run_deviation: float | None
    step_error_of_run: float


def _noise(values: Sequence[FloatArray], step_errors: Sequence[float]) -> _Noise:
    counts = [len(arm) for arm in values]
    from_steps = sum(error**2 / count for error, count in zip(step_errors, counts, strict=True))
    of_run = math.sqrt(sum(error**2 for error in step_errors) / 2)
    freedom = sum(counts) - 2
    if freedom < 1:
        return _Noise(math.sqrt(from_steps), None, None, of_run)
    variances = [float(arm.var(ddof=1)) if len(arm) > 1 else 0.0 for arm in values]
    pooled = (
        sum((count - 1) * variance for count, variance in zip(counts, variances, strict=True))
        / freedom
    )
    parts = [variance / count for count, variance in zip(counts, variances, strict=True)]
    welch = sum(parts)
    squared = max(welch, pooled * sum(1 / count for count in counts), from_steps)
    return _Noise(math.sqrt(squared), _degrees(parts, counts, freedom), math.sqrt(pooled), of_run)


def _degrees(parts: Sequence[float], counts: Sequence[int], freedom: int) -> float:
    """Satterthwaite's, where both arms have several runs; those of the other arm otherwise."""
    below = sum(
        part**2 / (count - 1) for part, count in zip(parts, counts, strict=True) if count > 1
    )
    if min(counts) < 2 or below <= 0:
        return float(freedom)
    return min(float(freedom), sum(parts) ** 2 / below)


def _p_value(difference: float, noise: _Noise) -> float | None:
    return None if noise.degrees is None else guarded_p(difference, noise.error, noise.degrees)


def guarded_p(difference: float, error: float, degrees: float) -> float:
    """The p-value of a difference with that standard error; see `GUARD`."""
    if error == 0:
        return 0.0 if difference else 1.0
    return min(1.0, two_sided_p(difference / error, degrees) / GUARD)


def critical_value(significance: float, degrees: float) -> float:
    """How many standard errors a difference must have to be real; see `GUARD`."""
    return quantile(1 - GUARD * significance / 2, degrees)


def _detectable(
    noise: _Noise, significance: float, percent: Callable[[float], float]
) -> float | None:
    if noise.degrees is None:
        return None
    reach = critical_value(significance, noise.degrees) + quantile(POWER, noise.degrees)
    return percent(reach * noise.error)


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
