"""What causality allows a clock to show: the offsets of all lines between two sets of points.

Nobody ends an exchange before everybody has begun it. Each exchange so bounds the offset between
two clocks from below (one's start - the other's end) and from above (one's end - the other's
start), at the moment at which it happened. A clock that runs evenly is a line between these points:
offset + drift x time. The least and the greatest offset of all such lines at time 0 is a linear
program of two variables for each pair of ranks; all pairs are solved together.

As a function of the drift, the greatest offset is a minimum of lines, so concave: tangents bound it
from above at every step. What is returned is never narrower than what the points allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

UNBOUNDED_NS = 1e17
"""An offset beyond this is bounded by nothing."""
NO_BOUND_NS = 1e18
"""What stands for a bound where there is no point."""
MOST_DRIFT = 1e-3
"""Clocks are taken to run within 1,000 ppm of each other: crystals are within 100, and clocks that
are being corrected run at most 500 faster or slower."""
_ROUNDING_NS = 3.0
"""Times are whole nanoseconds: so much may a point lie beyond the line."""
_ITERATIONS = 24
_CLOSE_NS = 1e-3


class BoundPoints(NamedTuple):
    """[pair, point]: offsets that a clock's line must not be below, or above, at times."""

    below_at_ns: Values
    below_ns: Values
    above_at_ns: Values
    above_ns: Values


class Bounds(NamedTuple):
    """By pair: the allowed offsets at time 0 and the allowed drifts."""

    low_ns: Values
    high_ns: Values
    low_drift: Values
    high_drift: Values
    is_empty: npt.NDArray[np.bool_]
    """Whether no line fits; the other values are then without meaning."""


@dataclass(frozen=True)
class _Lowest:
    """The minimum of lines value - drift * at, for each pair: concave in the drift."""

    at: Values
    value: Values

    def __call__(self, drift: Values) -> tuple[Values, Values]:
        """Values and slopes at one drift for each pair."""
        lines = self.value - drift[:, None] * self.at
        lowest = np.argmin(lines, axis=1)
        pair = np.arange(len(lines))
        return lines[pair, lowest], -self.at[pair, lowest]


@dataclass(frozen=True)
class _Room:
    """How far apart the bounds are at a drift: the sum of two concave functions."""

    above: _Lowest
    below: _Lowest

    def __call__(self, drift: Values) -> tuple[Values, Values]:
        above, above_slope = self.above(drift)
        below, below_slope = self.below(drift)
        return above + below, above_slope + below_slope


def causal_bounds(points: BoundPoints, least_drift: Values, most_drift: Values) -> Bounds:
    """The offsets and drifts of all lines that lie between the points of each pair."""
    above = _Lowest(points.above_at_ns, points.above_ns + _ROUNDING_NS)
    # The greatest of lines is minus the least of their negatives.
    below = _Lowest(-points.below_at_ns, _ROUNDING_NS - points.below_ns)
    room = _Room(above, below)
    best, most_room = _greatest(room, least_drift, most_drift)
    is_empty = most_room < 0
    low_drift = _edge(room, least_drift, best)
    high_drift = _edge(room, most_drift, best)
    _, high = _greatest(above, low_drift, high_drift)
    _, low = _greatest(below, low_drift, high_drift)
    return Bounds(-low, high, low_drift, high_drift, is_empty)


class _Side(NamedTuple):
    """A drift, the value of a function there and its slope."""

    drift: Values
    value: Values
    slope: Values

    def moved(self, chosen: npt.NDArray[np.bool_], other: _Side) -> _Side:
        """The other side where that is chosen."""
        return _Side(*(np.where(chosen, new, old) for old, new in zip(self, other, strict=True)))


def _greatest(function: _Lowest | _Room, least: Values, most: Values) -> tuple[Values, Values]:
    """Where between two drifts a concave function is greatest, and a bound that it never exceeds.

    Where tangents at both sides meet is not below the function; one side moves there.
    """
    left, right = _Side(least, *function(least)), _Side(most, *function(most))
    place, bound = _meeting(left, right)
    for _ in range(_ITERATIONS):
        middle = _Side(place, *function(place))
        if np.all(bound - middle.value <= _CLOSE_NS):
            break
        rises = middle.slope > 0
        left, right = left.moved(rises, middle), right.moved(~rises, middle)
        place, bound = _meeting(left, right)
    return place, bound


def _meeting(left: _Side, right: _Side) -> tuple[Values, Values]:
    """Where the tangents of both sides meet, and the value there; a side if it is the top."""
    bend = left.slope - right.slope
    rise = right.value - left.value + right.slope * (left.drift - right.drift)
    place = left.drift + np.where(bend > 0, rise / np.where(bend > 0, bend, 1.0), 0.0)
    place = np.where(right.slope >= 0, right.drift, place)
    place = np.where(left.slope <= 0, left.drift, np.clip(place, left.drift, right.drift))
    bound = np.minimum(
        left.value + left.slope * (place - left.drift),
        right.value + right.slope * (place - right.drift),
    )
    return place, bound


def _edge(room: _Room, outer: Values, inner: Values) -> Values:
    """The last drift on the way from `inner` to `outer` that has room, or one beyond it.

    A tangent of a concave function meets zero outside of where the function does.
    """
    drift = outer.copy()
    for _ in range(_ITERATIONS):
        value, slope = room(drift)
        outside = (value < 0) & (slope != 0)
        if not outside.any():
            break
        step = np.where(outside, -value / np.where(slope == 0, 1.0, slope), 0.0)
        moved = drift + step
        # Never past the place that has most room: without any room there is no edge.
        low, high = np.minimum(inner, outer), np.maximum(inner, outer)
        drift = np.clip(moved, low, high)
    return drift
