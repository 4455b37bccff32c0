"""Holm's adjustment of p-values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.analyze.compare.statistics.verdicts import holm


def test_a_worked_example() -> None:
    # 4 x 0.01, 3 x 0.02 = 0.06, 2 x 0.03 = 0.06, 1 x 0.04 is raised to 0.06.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_nothing_and_one() -> None:
    assert holm([]) == []
    assert holm([0.3]) == [0.3]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_adjusted_values_keep_the_order_and_only_grow(p_values: list[float]) -> None:
    adjusted = holm(p_values)

    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    in_order = [adjusted[index] for index in order]
    assert in_order == sorted(in_order)


def test_any_false_alarm_among_forty_tests_is_as_rare_as_promised() -> None:
    rng = np.random.default_rng(3)
    alarms = sum(min(holm(rng.random(40).tolist())) <= 0.05 for _ in range(1000))

    assert alarms <= 65  # 50 expected; more than 65 of 1000 has a chance of one in fifty
