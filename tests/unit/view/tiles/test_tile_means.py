"""The means of values over time are those of a look at every value."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.lane_pixels import exact_means, pixels_of
from wavescope.view.rows import LazySeries, Series
from wavescope.view.tiles.means import means
from wavescope.view.tiles.pixels import Pixels


def a_series(times: list[int], values: list[float]) -> Series:
    return Series("W", np.array(times, np.int64), np.array(values, np.float64))


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0, 1, 2, 255, 256, 257, 700]),
    st.tuples(
        st.sampled_from([0.2, 1.0, 3.7, 50.0, 2000.0]), st.integers(-30, 99), st.integers(1, 30)
    ),
)
def test_means_are_those_of_a_look_at_every_value(
    seed: int, size: int, window: tuple[float, int, int]
) -> None:
    chance = random.Random(seed)
    times = sorted(chance.randrange(-50, 4 * size + 50) for _ in range(size))
    values = [chance.choice((0.0, 1.5, -2.0, 7e11, math.nan)) for _ in range(size)]
    end_ns = 4 * size + 20

    found = means(a_series(times, values), Pixels.of(*window, 0), end_ns)

    assert found.tolist() == pytest.approx(
        exact_means(times, values, end_ns, pixels_of(*window, 0)), rel=1e-6, nan_ok=True
    )


def test_a_large_value_does_not_blur_small_ones_far_behind_it() -> None:
    times = list(range(0, 10_000, 10))
    values = [1e18] * 500 + [1.0] * 500

    found = means(a_series(times, values), Pixels.of(100.0, 60, 3, 0), 10_000)

    assert found.tolist() == [1.0, 1.0, 1.0]


def test_the_last_value_holds_to_the_end() -> None:
    series = a_series([10], [4.0])

    found = means(series, Pixels.of(10.0, 0, 4, 0), 25)

    assert found.tolist() == pytest.approx([math.nan, 4.0, 4.0, math.nan], nan_ok=True)


def test_lazy_values_are_made_once() -> None:
    made: list[Series] = []

    def make() -> Series:
        made.append(a_series([0, 50], [1.0, 3.0]))
        return made[-1]

    lazy = LazySeries("W", make)
    for _ in range(2):
        assert means(lazy, Pixels.of(100.0, 0, 1, 0), 100).tolist() == [2.0]

    assert len(made) == 1
