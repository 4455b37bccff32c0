"""Effects between two arms of runs: exact values, and what simulations promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wavescope.analyze.compare.statistics.effects import TestOptions, effect_between, runs_needed
from wavescope.analyze.compare.statistics.step_noise import FloatArray, Statistic
from wavescope.arrays.student_t import quantile, two_sided_p


def runs(*values: float) -> list[FloatArray]:
    """Runs of one step each."""
    return [np.array([value]) for value in values]


def test_two_against_two_by_hand() -> None:
    base, new = runs(100, 102), runs(103, 105)

    effect = effect_between(base, new)

    logs = np.log([[100, 102], [103, 105]])
    difference = logs[1].mean() - logs[0].mean()
    parts = logs.var(axis=1, ddof=1) / 2
    error = math.sqrt(parts.sum())
    degrees = parts.sum() ** 2 / (parts**2).sum()
    reach = quantile(1 - 0.4 * 0.05, degrees) * error
    assert effect.degrees == pytest.approx(degrees)
    assert 1.99 < degrees < 2
    assert effect.base_value == pytest.approx(math.sqrt(100 * 102))
    assert effect.change_percent == pytest.approx(100 * math.expm1(difference))
    assert effect.low_percent == pytest.approx(100 * math.expm1(difference - reach))
    assert effect.high_percent == pytest.approx(100 * math.expm1(difference + reach))
    assert effect.run_noise_percent == pytest.approx(100 * math.sqrt(parts.sum()))
    assert effect.p_value is not None
    assert effect.p_value > 0.05


def test_the_interval_touches_zero_where_p_is_the_significance() -> None:
    base, new = runs(100, 101, 103), runs(104, 106, 107)
    p_value = effect_between(base, new).p_value
    assert p_value is not None

    effect = effect_between(base, new, TestOptions(significance=p_value))

    assert effect.low_percent == pytest.approx(0, abs=1e-9)


def test_p_values_are_those_of_student_and_a_quarter_more() -> None:
    # 100, 102, 104 against 110, 112, 114 on the scale of logarithms, t = 6.23 with 3.97 degrees.
    effect = effect_between(runs(100, 102, 104), runs(110, 112, 114))

    logs = np.log([[100, 102, 104], [110, 112, 114]])
    parts = logs.var(axis=1, ddof=1) / 3
    t = (logs[1].mean() - logs[0].mean()) / math.sqrt(parts.sum())
    assert effect.degrees is not None
    assert effect.p_value == pytest.approx(1.25 * two_sided_p(float(t), effect.degrees))


def test_one_run_of_each_leaves_the_noise_unknown() -> None:
    effect = effect_between([np.array([1.0, 2.0, 3.0])], [np.array([4.0, 5.0])])

    assert not effect.is_known
    assert effect.low_percent is None
    assert effect.p_value is None
    assert effect.change_percent == pytest.approx(125)


def test_one_new_run_is_held_against_the_spread_of_the_base() -> None:
    effect = effect_between(runs(100, 101, 99, 100), runs(110))

    assert effect.degrees == 3
    assert effect.p_value is not None
    assert effect.p_value < 0.01


def test_steps_alone_may_be_noisier_than_runs_by_chance() -> None:
    step_values = np.array([90.0, 110.0] * 8)
    with_steps = [step_values, step_values + 0.001]

    effect = effect_between(with_steps, [values + 2 for values in with_steps])

    assert effect.p_value is not None
    assert effect.p_value > 0.05
    assert effect.step_noise_percent > 1


def test_runs_without_any_noise() -> None:
    same = effect_between(runs(5, 5), runs(5, 5))
    slower = effect_between(runs(5, 5), runs(6, 6))

    assert (same.p_value, same.low_percent, same.high_percent) == (1.0, 0.0, 0.0)
    assert slower.p_value == 0.0
    assert slower.detectable_percent == 0.0


def test_a_value_of_zero_is_compared_on_a_plain_scale() -> None:
    effect = effect_between(runs(10, 0), runs(20, 10))

    assert effect.base_value == 5
    assert effect.change_percent == pytest.approx(200)


def test_the_median_ignores_a_slow_step() -> None:
    calm, disturbed = np.full(9, 10.0), np.append(np.full(8, 10.0), 1000.0)
    options = TestOptions(statistic=Statistic.MEDIAN)

    effect = effect_between([calm, calm], [disturbed, disturbed], options)

    assert effect.change_percent == 0


def test_an_arm_needs_a_run_and_a_run_a_step() -> None:
    with pytest.raises(ValueError, match="at least one"):
        effect_between([], runs(1))
    with pytest.raises(ValueError, match="at least one"):
        effect_between([np.empty(0)], runs(1))


def test_how_many_runs_make_a_change_detectable() -> None:
    effect = effect_between(runs(100, 102, 98), runs(101, 99, 100))
    needed = runs_needed(effect, 1.0, 0.05)
    assert needed is not None
    assert effect.run_noise_percent is not None

    def detectable(count: int) -> float:
        degrees = 2 * count - 2
        reach = quantile(1 - 0.4 * 0.05, degrees) + quantile(0.8, degrees)
        return reach * float(effect.run_noise_percent or 0) * math.sqrt(2 / count)

    assert detectable(needed) <= 1.0 < detectable(needed - 1)
    assert runs_needed(effect, 0.0001, 0.05) is None


def test_the_error_is_what_resampling_the_runs_gives() -> None:
    """The bootstrap draws runs with replacement; with n runs its error is too small by n - 1 / n."""
    rng = np.random.default_rng(21)
    count = 6
    arms = [np.exp(rng.normal(0, 0.02, count)) for _ in range(2)]

    drawn = [np.log(arm)[rng.integers(0, count, (40_000, count))].mean(axis=1) for arm in arms]
    bootstrap_error = float((drawn[1] - drawn[0]).std()) * math.sqrt(count / (count - 1))

    effect = effect_between(runs(*arms[0]), runs(*arms[1]))
    assert effect.low_percent is not None
    assert effect.high_percent is not None
    assert effect.degrees is not None
    width = math.log1p(effect.high_percent / 100) - math.log1p(effect.low_percent / 100)
    error = width / 2 / quantile(1 - 0.4 * 0.05, effect.degrees)
    assert error == pytest.approx(bootstrap_error, rel=0.02)


def test_the_detectable_effect_is_found_four_times_out_of_five() -> None:
    rng = np.random.default_rng(11)
    noise, count = 0.01, 6
    reach = quantile(1 - 0.4 * 0.05, 2 * count - 2) + quantile(0.8, 2 * count - 2)
    slow_down = math.expm1(reach * noise * math.sqrt(2 / count))

    found = 0
    for _ in range(400):
        base = runs(*np.exp(rng.normal(0, noise, count)))
        new = runs(*((1 + slow_down) * np.exp(rng.normal(0, noise, count))))
        low = effect_between(base, new).low_percent
        found += low is not None and low > 0

    assert 0.72 <= found / 400 <= 0.88
