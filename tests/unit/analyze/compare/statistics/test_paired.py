"""Effects within pairs of runs made side by side."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wavescope.analyze.compare.statistics.effects import paired_effect, pairs_needed
from wavescope.arrays.student_t import quantile, two_sided_p


def test_three_pairs_by_hand() -> None:
    effect = paired_effect([100, 200, 400], [110, 216, 448])

    logs = np.log([1.10, 1.08, 1.12])
    error = logs.std(ddof=1) / math.sqrt(3)
    reach = quantile(1 - 0.4 * 0.05, 2) * error
    assert effect.change_percent == pytest.approx(100 * math.expm1(logs.mean()))
    assert effect.low_percent == pytest.approx(100 * math.expm1(logs.mean() - reach))
    assert effect.high_percent == pytest.approx(100 * math.expm1(logs.mean() + reach))
    assert effect.p_value == pytest.approx(1.25 * two_sided_p(float(logs.mean() / error), 2))
    assert effect.base_value == pytest.approx(200)


def test_what_a_round_shares_cancels() -> None:
    rng = np.random.default_rng(1)
    drift = np.exp(rng.normal(0, 0.3, 8))
    own = np.exp(rng.normal(0, 0.001, 8))

    effect = paired_effect((100 * drift).tolist(), (103 * drift * own).tolist())

    assert effect.low_percent is not None
    assert effect.high_percent is not None
    assert 2.8 < effect.low_percent < 3 < effect.high_percent < 3.2


def test_one_pair_says_nothing_about_the_noise() -> None:
    effect = paired_effect([100], [110])

    assert not effect.is_known
    assert effect.change_percent == pytest.approx(10)
    assert pairs_needed(effect, 1.0, 0.05) is None


def test_false_alarms_are_at_most_as_frequent_as_stated() -> None:
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(1000):
        values = np.exp(rng.normal(0, 0.02, (2, 5)))
        p_value = paired_effect(values[0].tolist(), values[1].tolist()).p_value
        alarms += p_value is not None and p_value <= 0.05
    assert alarms <= 50


def test_pairs_that_make_a_change_detectable() -> None:
    effect = paired_effect([100, 100, 100, 100], [101, 99, 102, 98])
    needed = pairs_needed(effect, 1.0, 0.05)
    assert needed is not None
    assert effect.run_noise_percent is not None

    def reach(count: int) -> float:
        return quantile(1 - 0.4 * 0.05, count - 1) + quantile(0.8, count - 1)

    assert reach(needed) * effect.run_noise_percent / math.sqrt(needed) <= 1.0
    assert reach(needed - 1) * effect.run_noise_percent / math.sqrt(needed - 1) > 1.0


def test_pairs_must_be_pairs() -> None:
    with pytest.raises(ValueError, match="at least one pair"):
        paired_effect([], [])
    with pytest.raises(ValueError, match="at least one pair"):
        paired_effect([1.0], [1.0, 2.0])
