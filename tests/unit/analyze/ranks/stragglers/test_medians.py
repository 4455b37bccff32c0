"""Medians with missing values and without oneself, against brute force."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from wavescope.analyze.ranks.stragglers.medians import (
    median,
    medians,
    medians_of_others,
    spread,
)

_VALUES = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=7),
    elements=st.one_of(st.just(np.nan), st.integers(-5, 5).map(float)),
)


def _middle(values: np.ndarray) -> float:
    there = values[~np.isnan(values)]
    return float(np.median(there)) if len(there) else float("nan")


@given(_VALUES)
def test_medians_are_those_of_what_is_there(values: np.ndarray) -> None:
    expected = [_middle(column) for column in values.T]

    np.testing.assert_array_equal(medians(values), expected)


@given(_VALUES)
def test_medians_of_others_leave_the_value_itself_out(values: np.ndarray) -> None:
    expected = np.full(values.shape, np.nan)
    for row, column in np.ndindex(*values.shape):
        if not np.isnan(values[row, column]):
            expected[row, column] = _middle(np.delete(values[:, column], row))

    np.testing.assert_array_equal(medians_of_others(values), expected)


def test_spread_is_not_moved_by_an_outlier() -> None:
    assert spread(np.array([1.0, 2.0, 3.0, 4.0, 5.0])) == 1.4826
    assert spread(np.array([1.0, 2.0, 3.0, 4.0, 5000.0, np.nan])) == 1.4826


def test_nothing_has_no_median_and_no_spread() -> None:
    assert np.isnan(median(np.array([np.nan])))
    assert spread(np.array([])) == 0
