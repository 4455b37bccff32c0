"""Bounds of pairs carried on to ranks that the reference shares no exchange with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.clocks.causal_bounds import (
    MOST_DRIFT,
    NO_BOUND_NS,
    UNBOUNDED_NS,
    BoundPoints,
    Bounds,
    Values,
    causal_bounds,
)
from wavescope.analyze.ranks.clocks.first_lines import Line
from wavescope.analyze.ranks.clocks.pairs import PairLine, stacked

_MOST_ROUNDS = 32


class PairBounds(NamedTuple):
    """By pair: hub's time - own time at the member's origin, and what drifts are allowed."""

    low_ns: Values
    high_ns: Values
    low_drift: Values
    high_drift: Values
    is_empty: npt.NDArray[np.bool_]


class RankBounds(NamedTuple):
    """By place: common time - own time at the rank's origin; infinite where nothing bounds it."""

    low_ns: Values
    high_ns: Values


def pair_bounds(pairs: Sequence[PairLine], lines: Mapping[int, Line]) -> PairBounds:
    """What causality allows for each pair, at the origin of the member's line.

    Offsets are relative to the difference of both lines' offsets, so that hours are no large
    numbers: 0 means that the hub's clock shows its own origin.
    """
    shift = np.array([lines[pair.member].origin_ns - pair.origin_ns for pair in pairs], np.float64)
    drift = np.array([pair.drift for pair in pairs])
    points = BoundPoints(
        stacked([pair.below_at_ns for pair in pairs], 0.0) - shift[:, None],
        stacked([pair.below_ns for pair in pairs], -NO_BOUND_NS),
        stacked([pair.above_at_ns for pair in pairs], 0.0) - shift[:, None],
        stacked([pair.above_ns for pair in pairs], NO_BOUND_NS),
    )
    bounds = causal_bounds(points, -MOST_DRIFT - drift, MOST_DRIFT - drift)
    at_hub = np.array(
        [
            lines[pair.member].origin_ns + pair.offset_ns - lines[pair.hub].origin_ns
            for pair in pairs
        ],
        np.float64,
    )
    return _relative(bounds, at_hub + drift * shift, drift)


def _relative(bounds: Bounds, base: Values, drift: Values) -> PairBounds:
    return PairBounds(
        np.where(bounds.low_ns < -UNBOUNDED_NS, -np.inf, bounds.low_ns + base),
        np.where(bounds.high_ns > UNBOUNDED_NS, np.inf, bounds.high_ns + base),
        bounds.low_drift + drift,
        bounds.high_drift + drift,
        bounds.is_empty,
    )


def rank_bounds(
    rank_count: int, references: Sequence[int], pairs: Sequence[PairLine], bounds: PairBounds
) -> RankBounds:
    """The bounds of each rank against the reference of its component, over all routes of pairs.

    Along a route bounds add up; a rank gets the intersection of what its routes allow. Offsets are
    relative to the moment of the origins: 0 says that the common time is that of the reference.
    """
    low, high = np.full(rank_count, -np.inf), np.full(rank_count, np.inf)
    low[list(references)] = high[list(references)] = 0.0
    hub = np.array([pair.hub for pair in pairs], np.intp)
    member = np.array([pair.member for pair in pairs], np.intp)
    # A pair's offset is told in the hub's clock, which itself drifts against the reference's.
    drift = np.where(np.isin(hub, references), 0.0, MOST_DRIFT)
    least = bounds.low_ns - np.where(np.isfinite(bounds.low_ns), abs(bounds.low_ns), 0) * drift - 1
    most = bounds.high_ns + np.where(np.isfinite(bounds.high_ns), abs(bounds.high_ns), 0) * drift
    most += 1
    for _ in range(_MOST_ROUNDS):
        before = (low.copy(), high.copy())
        np.maximum.at(low, member, low[hub] + least)
        np.minimum.at(high, member, high[hub] + most)
        np.maximum.at(low, hub, low[member] - most)
        np.minimum.at(high, hub, high[member] - least)
        low[list(references)] = high[list(references)] = 0.0
        if np.array_equal(before[0], low) and np.array_equal(before[1], high):
            break
    return RankBounds(low, high)
