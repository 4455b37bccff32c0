"""The order in which runs were made, and what a machine that drifts makes of it.

Machines become faster or slower from run to run: they warm up, clocks change, others use them. A
difference of two versions is a weighted sum of the runs' values, and the weights tell what a drift
does to it: a steady one shifts it by so many runs as lie between the centres of both versions, a
random one adds a variance that grows with the distance. Where a trend is estimated along with the
difference, a steady drift cancels, at the price of a larger variance.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from wavescope.analyze.compare.statistics.step_noise import FloatArray
from wavescope.errors import UsageError

BASE_FIRST = "base-first"
INTERLEAVED = "interleaved"
FROM_FILES = "auto"
_SHARES_OF_TREND = (0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875)
_PATTERN = re.compile(r"[bn]+")


class RunOrder(NamedTuple):
    """The places of the base runs and of the new runs in the order in which all were made."""

    base: tuple[int, ...]
    new: tuple[int, ...]
    source: str = ""
    """How the order is known; empty where it was assumed."""

    @property
    def is_base_first(self) -> bool:
        return max(self.base) < min(self.new)

    @property
    def is_mixed(self) -> bool:
        """Whether neither version was recorded before the other."""
        return max(self.base) > min(self.new) and max(self.new) > min(self.base)

    @property
    def words(self) -> str:
        if self.is_mixed:
            return "interleaved"
        return "base first" if self.is_base_first else "new first"


def base_first(base_count: int, new_count: int) -> RunOrder:
    """All base runs, then all new runs."""
    return RunOrder(tuple(range(base_count)), tuple(range(base_count, base_count + new_count)))


def run_order(
    base_times: Sequence[int | None], new_times: Sequence[int | None], asked: str = FROM_FILES
) -> RunOrder:
    """The order that was asked for, or that the times of recording tell, or else base first."""
    counts = len(base_times), len(new_times)
    if asked == BASE_FIRST:
        return base_first(*counts)._replace(source="--order")
    if asked == INTERLEAVED:
        return _of_pattern(_turns(*counts), counts)
    if asked != FROM_FILES:
        return _of_pattern(asked, counts)
    times = [time for time in (*base_times, *new_times) if time is not None]
    if len(times) < sum(counts) or len(set(times)) < len(times):
        return base_first(*counts)
    place = {time: index for index, time in enumerate(sorted(times))}
    return RunOrder(
        tuple(place[time] for time in times[: counts[0]]),
        tuple(place[time] for time in times[counts[0] :]),
        "times of recording",
    )


def _turns(base_count: int, new_count: int) -> str:
    both = min(base_count, new_count)
    return "bn" * both + "b" * (base_count - both) + "n" * (new_count - both)


def _of_pattern(pattern: str, counts: tuple[int, int]) -> RunOrder:
    if not _PATTERN.fullmatch(pattern):
        raise UsageError(
            f"'{pattern}' is not an order of runs",
            hint="--order auto, base-first, interleaved, or a letter for each run, such as bnnb",
        )
    if (pattern.count("b"), pattern.count("n")) != counts:
        raise UsageError(
            f"the order {pattern} has {pattern.count('b')} base and {pattern.count('n')} new runs, "
            f"but {counts[0]} and {counts[1]} are given"
        )
    places = {side: [i for i, each in enumerate(pattern) if each == side] for side in "bn"}
    return RunOrder(tuple(places["b"]), tuple(places["n"]), "--order")


class Contrast(NamedTuple):
    """A difference of both versions as a weighted sum of the runs' values, base runs first."""

    weights: FloatArray
    lever: float
    """Runs between the centres of both versions: what a steady drift is multiplied by."""
    wander: float
    """Variance of the sum when each run adds a random step of variance 1 to all that follow."""

    @property
    def squares(self) -> float:
        """Variance of the sum when runs have noise of variance 1 of their own."""
        return float(np.square(self.weights).sum())


class TrendFit(NamedTuple):
    """The difference of both versions beside a trend that all runs share."""

    difference: Contrast
    slope: Contrast
    design: FloatArray
    degrees: int

    def residual_variance(self, values: FloatArray) -> float:
        """What neither the versions nor the trend explain."""
        coefficients, *_ = np.linalg.lstsq(self.design, values, rcond=None)
        residuals = values - self.design @ coefficients
        return float(np.square(residuals).sum()) / self.degrees


@lru_cache(maxsize=64)
def means_apart(order: RunOrder) -> Contrast:
    """The mean of the new runs less that of the base runs."""
    base, new = len(order.base), len(order.new)
    return _contrast(np.concatenate((np.full(base, -1 / base), np.full(new, 1 / new))), order)


@lru_cache(maxsize=64)
def trend_fit(order: RunOrder) -> TrendFit | None:
    """Least squares on the order with the version as a factor; None with too few runs."""
    places = np.array((*order.base, *order.new), np.float64)
    is_new = np.repeat((0.0, 1.0), (len(order.base), len(order.new)))
    design = np.stack((np.ones(len(places)), is_new, places - places.mean()), axis=1)
    degrees = len(places) - 3
    if degrees < 1 or np.linalg.matrix_rank(design) < 3:
        return None
    solved = np.linalg.pinv(design)
    return TrendFit(_contrast(solved[1], order), _contrast(solved[2], order), design, degrees)


@lru_cache(maxsize=64)
def following_in_part(order: RunOrder) -> tuple[Contrast, ...]:
    """The difference of the means, the one beside a trend, and mixtures of both."""
    means, fit = means_apart(order), trend_fit(order)
    if fit is None:
        return (means,)
    mixed = (
        _contrast((1 - share) * means.weights + share * fit.difference.weights, order)
        for share in _SHARES_OF_TREND
    )
    return (means, *mixed, fit.difference)


def _contrast(weights: FloatArray, order: RunOrder) -> Contrast:
    places = np.array((*order.base, *order.new))
    by_place = weights[np.argsort(places)]
    # A step of the walk between two runs moves every later one.
    later = np.cumsum(by_place[::-1])[::-1][1:]
    return Contrast(weights, abs(float(weights @ places)), float(np.square(later).sum()))
