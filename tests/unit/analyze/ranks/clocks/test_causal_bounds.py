"""The linear programs of clocks against all their corners."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from wavescope.analyze.ranks.clocks.causal_bounds import (
    MOST_DRIFT,
    NO_BOUND_NS,
    UNBOUNDED_NS,
    BoundPoints,
    Bounds,
    causal_bounds,
)

ROUNDING_NS = 3.0
Points = list[tuple[float, float]]


def bounds_of(below: Points, above: Points) -> Bounds:
    at, value = np.array(below).T if below else (np.zeros(1), np.array([-NO_BOUND_NS]))
    upper_at, upper = np.array(above).T if above else (np.zeros(1), np.array([NO_BOUND_NS]))
    points = BoundPoints(at[None], value[None], upper_at[None], upper[None])
    return causal_bounds(points, np.array([-MOST_DRIFT]), np.array([MOST_DRIFT]))


def corners(below: Points, above: Points) -> tuple[float, float] | None:
    """The least and the greatest offset of all lines through two points that lie between all."""
    points = [(at, value - ROUNDING_NS) for at, value in below]
    points += [(at, value + ROUNDING_NS) for at, value in above]
    slopes = {-MOST_DRIFT, MOST_DRIFT}
    for at, value in points:
        slopes |= {(value - other) / (at - first) for first, other in points if first != at}
    found = [
        value - slope * at
        for slope in slopes
        if abs(slope) <= MOST_DRIFT
        for at, value in points
        if all(value + slope * (first - at) >= low - ROUNDING_NS - 1e-6 for first, low in below)
        and all(value + slope * (first - at) <= high + ROUNDING_NS + 1e-6 for first, high in above)
    ]
    return (min(found), max(found)) if found else None


times = st.integers(-(10**9), 10**9).map(float)
points = st.lists(st.tuples(times, st.integers(-20_000, 20_000).map(float)), min_size=1, max_size=7)


@settings(max_examples=150)
@given(below=points, above=points)
def test_bounds_are_those_of_the_corners(below: Points, above: Points) -> None:
    bounds = bounds_of(below, above)

    expected = corners(below, above)

    if expected is None:
        # Corners within rounding of being empty may be missed by the search for them.
        assert bounds.is_empty[0] or bounds.high_ns[0] - bounds.low_ns[0] < 1
    else:
        assert not bounds.is_empty[0]
        assert bounds.low_ns[0] <= expected[0] + 0.01
        assert bounds.high_ns[0] >= expected[1] - 0.01
        assert bounds.low_ns[0] >= expected[0] - 1
        assert bounds.high_ns[0] <= expected[1] + 1


def test_points_that_no_line_passes_between_are_empty() -> None:
    assert bounds_of([(0.0, 1_000.0)], [(0.0, 900.0)]).is_empty[0]
    # A jump: 0 before, 2 ms after, steeper than any clock.
    before, after = [(-1e6, -10.0), (1e6, 2e6)], [(-1e6, 10.0), (1e6, 2e6 + 10)]
    assert bounds_of(before, after).is_empty[0]


def test_one_side_alone_bounds_one_side() -> None:
    bounds = bounds_of([(0.0, 5.0)], [])

    assert not bounds.is_empty[0]
    assert bounds.low_ns[0] == 5.0 - ROUNDING_NS
    assert bounds.high_ns[0] > UNBOUNDED_NS
