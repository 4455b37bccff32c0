"""The noise of a run's value that comes from having only so many steps."""

from __future__ import annotations

import numpy as np
import pytest

from wavescope.analyze.compare.statistics.step_noise import Statistic, block_length, standard_error


def test_blocks_are_the_cube_root() -> None:
    assert [block_length(count) for count in (1, 8, 9, 27, 28, 1000)] == [1, 2, 3, 3, 4, 10]


def test_a_single_step_shows_no_noise() -> None:
    for statistic in Statistic:
        assert standard_error(np.array([5.0]), statistic, 0) == 0.0


def test_equal_steps_have_none() -> None:
    for statistic in Statistic:
        assert standard_error(np.full(50, 5.0), statistic, 0) == 0.0


def test_independent_steps_have_the_textbook_error_of_a_mean() -> None:
    rng = np.random.default_rng(5)
    errors = [standard_error(rng.normal(100, 4, 400), Statistic.MEAN, 0) for _ in range(200)]

    assert np.mean(errors) == pytest.approx(4 / np.sqrt(400), rel=0.05)


def test_steps_that_drift_together_have_a_larger_one() -> None:
    rng = np.random.default_rng(5)
    drift = np.repeat(rng.normal(0, 4, 100), 10)

    naive = float(drift.std() / np.sqrt(len(drift)))

    assert standard_error(100 + drift, Statistic.MEAN, 0) > 1.8 * naive


def test_the_error_of_a_mean_is_what_resampling_blocks_gives() -> None:
    rng = np.random.default_rng(6)
    values = 100 + np.cumsum(rng.normal(0, 1, 64)) * 0.3 + rng.normal(0, 1, 64)
    length = block_length(64)
    starts = rng.integers(0, 64 - length + 1, (20_000, 64 // length, 1))
    means = values[starts + np.arange(length)].reshape(20_000, -1).mean(axis=1)

    blocks = 64 // length
    around_mean = np.sqrt(
        np.mean((means - means.mean()) ** 2) + (means.mean() - values.mean()) ** 2 / blocks
    )

    assert standard_error(values, Statistic.MEAN, 0) == pytest.approx(
        float(around_mean) * np.sqrt(blocks / (blocks - 1)), rel=0.05
    )


def test_the_median_is_resampled_with_the_seed() -> None:
    values = np.random.default_rng(5).normal(100, 4, 300)

    one = standard_error(values, Statistic.MEDIAN, 1)

    assert one == standard_error(values, Statistic.MEDIAN, 1)
    assert one != standard_error(values, Statistic.MEDIAN, 2)
    # The median of normal values has 1.2533 times the error of the mean.
    assert one == pytest.approx(1.2533 * 4 / np.sqrt(300), rel=0.35)


def test_a_large_run_is_resampled_in_bounded_memory() -> None:
    values = np.arange(3_000_000, dtype=np.float64)

    assert standard_error(values, Statistic.MEAN, 0) > 0
