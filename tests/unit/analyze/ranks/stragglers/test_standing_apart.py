"""Who stands apart from the rest, and who does not."""

from __future__ import annotations

import numpy as np
import pytest

from wavescope.analyze.ranks.stragglers.standing_apart import standing_apart


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 1, -1, 0, 50], {4}),
        ([0, 1, -1, 0, 1], set()),
        ([-20, -21, 20, 21], {2, 3}),
        ([-20, 20, 21, 19], set()),
        ([0, 1, -1, 0, 0, 60, 200], {5, 6}),
        ([0, 30, -30, 20, -20, 45], set()),
        ([0, np.nan, 0, 0, 40], {4}),
        ([40], set()),
        ([], set()),
        ([0, 40], {1}),
    ],
    ids=[
        "one",
        "natural spread",
        "half of all",
        "most are not apart: one is early",
        "two of different size",
        "wide spread",
        "missing value",
        "alone",
        "empty",
        "two",
    ],
)
def test_values_above_a_gap(values: list[float], expected: set[int]) -> None:
    assert standing_apart(np.array(values, np.float64), 0.0, 10.0) == expected


def test_a_value_that_is_not_certain_does_not_stand_apart() -> None:
    values = np.array([0.0, 1.0, -1.0, 0.0, 50.0])

    assert standing_apart(values, np.array([1.0, 1, 1, 1, 20]), 10.0) == set()
