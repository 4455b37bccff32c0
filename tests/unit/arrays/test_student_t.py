"""Student's t distribution against tabulated and closed-form values."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.arrays.student_t import quantile, two_sided_p


@pytest.mark.parametrize(
    ("probability", "degrees", "expected"),
    [
        (0.975, 1, 12.7062047362),
        (0.975, 2, 4.30265272991),
        (0.975, 8, 2.30600413520),
        (0.95, 5, 2.01504837333),
        (0.995, 30, 2.74999565357),
        (0.8, 4, 0.940964576),
        (0.975, 1_000_000, 1.9599663566),
        (0.025, 2, -4.30265272991),
        (0.5, 3, 0.0),
    ],
)
def test_tabulated_quantiles(probability: float, degrees: float, expected: float) -> None:
    assert quantile(probability, degrees) == pytest.approx(expected, rel=1e-8)


@given(st.floats(-50, 50))
def test_one_degree_is_the_cauchy_distribution(t: float) -> None:
    assert two_sided_p(t, 1) == pytest.approx(1 - 2 * math.atan(abs(t)) / math.pi, abs=1e-12)


@given(st.floats(-50, 50))
def test_two_degrees_have_a_closed_form(t: float) -> None:
    assert two_sided_p(t, 2) == pytest.approx(1 - abs(t) / math.sqrt(2 + t * t), abs=1e-12)


@given(st.floats(0.501, 0.9999), st.floats(0.5, 500))
def test_the_quantile_inverts_the_probability(probability: float, degrees: float) -> None:
    t = quantile(probability, degrees)

    assert two_sided_p(t, degrees) == pytest.approx(2 * (1 - probability), rel=1e-9)


def test_the_ends_of_the_axis() -> None:
    assert two_sided_p(0.0, 7) == 1.0
    assert two_sided_p(math.inf, 7) == 0.0
    assert two_sided_p(math.nan, 7) == 1.0
    assert 0 < two_sided_p(1e6, 3) < 1e-15
