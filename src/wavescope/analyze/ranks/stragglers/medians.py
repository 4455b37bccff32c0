"""Medians of rows with missing values, and the spread of natural noise around them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]

_DEVIATIONS_PER_MAD = 1.4826


def medians(values: Reals) -> Reals:
    """The median of each column over its rows; NaN is missing, and comes back without values."""
    ordered = np.sort(values, axis=0)
    return _middle(ordered, np.count_nonzero(~np.isnan(values), axis=0))


def medians_of_others(values: Reals) -> Reals:
    """For each value the median of the other values of its column; NaN without any."""
    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    counts = np.count_nonzero(~np.isnan(values), axis=0)
    places = np.argsort(order, axis=0)
    low, high = np.maximum(counts - 2, 0) // 2, np.maximum(counts - 1, 0) // 2
    # What lies behind the value itself moves up by one when it is taken out.
    lower = np.take_along_axis(ordered, np.where(places <= low, low + 1, low) % len(values), 0)
    upper = np.take_along_axis(ordered, np.where(places <= high, high + 1, high) % len(values), 0)
    others: Reals = np.where((counts >= 2) & ~np.isnan(values), (lower + upper) / 2, np.nan)
    return others


def median(values: Reals) -> float:
    """The median of what is not NaN; NaN of nothing."""
    there = values[~np.isnan(values)]
    return float(np.median(there)) if there.size else float("nan")


def spread(values: Reals) -> float:
    """A robust standard deviation: of the middle half, so that outliers do not count."""
    there = values[~np.isnan(values)]
    if not there.size:
        return 0.0
    return _DEVIATIONS_PER_MAD * float(np.median(np.abs(there - np.median(there))))


def _middle(ordered: Reals, counts: npt.NDArray[np.int64]) -> Reals:
    columns = np.arange(ordered.shape[1])
    last = np.maximum(counts - 1, 0)
    middle: Reals = (ordered[last // 2, columns] + ordered[(last + 1) // 2, columns]) / 2
    return middle
