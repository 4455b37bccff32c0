"""Warm-up steps and single slow steps of runs."""

from __future__ import annotations

import numpy as np
import pytest

from wavescope.analyze.compare.statistics.effects import effect_between
from wavescope.analyze.compare.statistics.step_noise import FloatArray, Statistic
from wavescope.analyze.compare.statistics.unusual_steps import (
    fitting_statistic,
    slow_steps,
    warm_up_steps,
)


def steady(seed: int, count: int = 60) -> FloatArray:
    return np.random.default_rng(seed).normal(100, 2, count)


def warming(seed: int, slow: int) -> FloatArray:
    values = steady(seed)
    values[:slow] *= np.linspace(4, 1.5, slow)
    return values


def test_all_runs_lose_as_many_steps_as_the_longest_warm_up_has() -> None:
    assert warm_up_steps([warming(1, 3), warming(2, 5), warming(3, 4)]) == 5


def test_a_slow_beginning_of_one_run_is_noise() -> None:
    assert warm_up_steps([warming(1, 3), steady(2), steady(3), steady(4)]) == 0


def test_steady_short_and_ever_slower_runs_have_no_warm_up() -> None:
    assert warm_up_steps([steady(1), steady(2)]) == 0
    assert warm_up_steps([np.array([9.0, 1, 1, 1])] * 3) == 0
    assert warm_up_steps([np.linspace(100, 200, 40)] * 3) == 0


def test_at_most_half_of_the_shortest_run_is_left_out() -> None:
    half = np.concatenate((np.full(20, 200.0), np.full(20, 100.0)))

    assert warm_up_steps([half, half, half[10:]]) == 15


def test_single_slow_steps_are_counted() -> None:
    runs = [steady(n, 100) for n in range(4)]
    for run in runs:
        run[17] *= 5

    found = slow_steps(runs)

    assert found.share == pytest.approx(0.01)
    assert found.factor == pytest.approx(5, rel=0.1)
    assert fitting_statistic(runs) is Statistic.MEDIAN


def test_noise_and_two_clocks_are_no_slow_steps() -> None:
    clocks = np.where(np.arange(100) % 40 < 20, 100.0, 108.0)

    assert fitting_statistic([steady(1), steady(2)]) is Statistic.MEAN
    assert fitting_statistic([clocks, clocks]) is Statistic.MEAN
    assert fitting_statistic([np.zeros(20), np.ones(20)]) is Statistic.MEAN


def test_what_many_steps_do_is_what_the_program_does() -> None:
    often = np.where(np.arange(100) % 10 == 0, 500.0, 100.0)

    assert fitting_statistic([often, often]) is Statistic.MEAN


def test_slow_steps_do_not_hide_a_slow_down() -> None:
    rng = np.random.default_rng(4)

    def run(factor: float) -> FloatArray:
        values = factor * rng.normal(100, 1, 100)
        values[rng.random(100) < 0.02] *= 5
        return values

    effect = effect_between([run(1) for _ in range(4)], [run(1.03) for _ in range(4)])

    assert effect.statistic is Statistic.MEDIAN
    assert effect.change_percent == pytest.approx(3, abs=0.4)
    assert effect.p_value is not None
    assert effect.p_value < 0.01
