"""Machines that drift from run to run: false alarms stay rare, and what can be shown is found."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from wavescope.analyze.compare.statistics.effects import TestOptions, effect_between
from wavescope.analyze.compare.statistics.power import detectable_errors, guarded_p
from wavescope.analyze.compare.statistics.run_order import RunOrder, base_first
from wavescope.analyze.compare.statistics.step_noise import FloatArray
from wavescope.analyze.compare.statistics.verdicts import Verdict, detectable_percent, verdict_of
from wavescope.arrays.student_t import two_sided_p

PAIRS = 300


def in_turns(count: int) -> RunOrder:
    return RunOrder(tuple(range(0, 2 * count, 2)), tuple(range(1, 2 * count, 2)))


def runs_of(logs: FloatArray) -> list[FloatArray]:
    return [np.array([value]) for value in np.exp(logs)]


def judged(machine: str, order: RunOrder, slow_down: float = 0.0) -> Counter[Verdict]:
    """Verdicts on pairs of arms with run noise of 0.5 %, on a machine that drifts."""
    rng = np.random.default_rng(5)
    count = len(order.base) + len(order.new)
    verdicts: Counter[Verdict] = Counter()
    for _ in range(PAIRS):
        drift = {
            "steady": lambda: rng.choice([-1, 1]) * 0.002 * np.arange(count),
            "wandering": lambda: np.cumsum(rng.normal(0, 0.003, count)),
            "settled": lambda: np.zeros(count),
            "two clocks": lambda: 0.04 * rng.integers(0, 2, count),
        }[machine]()
        values = drift + rng.normal(0, 0.005, count)
        base, new = values[list(order.base)], values[list(order.new)] + math.log1p(slow_down)
        effect = effect_between(runs_of(base), runs_of(new), order=order)
        verdicts[verdict_of(effect, threshold_percent=1.0, significance=0.05)] += 1
    return verdicts


@pytest.mark.parametrize("machine", ["steady", "wandering", "two clocks"])
@pytest.mark.parametrize("count", [2, 3, 5, 10])
@pytest.mark.parametrize("arrange", [lambda n: base_first(n, n), in_turns])
def test_equal_versions_on_a_drifting_machine_are_rarely_called_different(
    machine: str, count: int, arrange: object
) -> None:
    verdicts = judged(machine, arrange(count))  # type: ignore[operator]

    alarms = verdicts[Verdict.REGRESSION] + verdicts[Verdict.IMPROVEMENT]
    # 15 expected at 5 %; more than 25 has a chance of one in two hundred.
    assert alarms <= 25


def test_without_its_order_a_steady_drift_is_taken_for_a_change() -> None:
    """What the order is for: the same runs, judged as if nothing drifted."""
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(100):
        values = 0.002 * np.arange(20) + rng.normal(0, 0.005, 20)
        effect = effect_between(runs_of(values[:10]), runs_of(values[10:]))
        alarms += verdict_of(effect, 1.0, 0.05) is Verdict.REGRESSION
    assert alarms == 100


def test_versions_recorded_in_turns_are_told_apart_on_a_drifting_machine() -> None:
    for machine in ("steady", "wandering"):
        assert judged(machine, in_turns(5), 0.02)[Verdict.REGRESSION] >= 0.9 * PAIRS


def test_a_large_slow_down_is_found_base_first_too() -> None:
    for machine in ("settled", "steady", "wandering"):
        assert judged(machine, base_first(3, 3), 0.05)[Verdict.REGRESSION] >= 0.95 * PAIRS


def test_a_steep_trend_is_taken_out() -> None:
    """Each run 1 % slower, five times what the machine is said to do: the versions are equal."""
    rng = np.random.default_rng(2)
    values = 0.01 * np.arange(10) + rng.normal(0, 0.001, 10)

    effect = effect_between(runs_of(values[:5]), runs_of(values[5:]), order=base_first(5, 5))

    assert effect.trend_percent == pytest.approx(1.0, abs=0.1)
    assert effect.change_percent == pytest.approx(0.0, abs=0.4)
    assert 100 * (effect.new_value / effect.base_value - 1) == pytest.approx(5.1, abs=0.2)
    assert verdict_of(effect, 1.0, 0.05) is not Verdict.REGRESSION


def test_what_the_machine_may_do_is_said_and_can_be_set() -> None:
    rng = np.random.default_rng(3)
    base, new = runs_of(rng.normal(0, 0.01, 3)), runs_of(rng.normal(0, 0.01, 3))

    usual = effect_between(base, new, order=base_first(3, 3))
    steadier = effect_between(base, new, TestOptions(drift_percent=0.0), base_first(3, 3))

    # Three runs lie between the centres; a walk of 0.3 % adds 2 x 0.3 % x sqrt(2 n / 3 + 1 / 3 n).
    assert usual.allowance_percent == pytest.approx(0.6 * math.sqrt(2 + 1 / 9), rel=0.01)
    assert steadier.allowance_percent == 0
    assert steadier.p_value == effect_between(base, new).p_value


def test_two_runs_of_each_may_lie_in_two_states_of_the_machine() -> None:
    base, new = runs_of(np.array([0.0, 0.001])), runs_of(np.array([0.05, 0.051]))
    twice = runs_of(np.array([0.7, 0.701]))

    effect = effect_between(base, new, order=in_turns(2))

    assert verdict_of(effect, 1.0, 0.05) is Verdict.INCONCLUSIVE
    assert effect.low_percent is not None
    assert effect.low_percent > 0
    assert verdict_of(effect_between(base, twice, order=in_turns(2)), 1.0, 0.05) is (
        Verdict.REGRESSION
    )


def test_a_p_value_with_an_allowance_by_hand() -> None:
    # (3 - 1) / 0.5 = 4 and (3 + 1) / 0.5 = 8 errors with 5 degrees of freedom, each one-sided.
    expected = (two_sided_p(4, 5) / 2 + two_sided_p(8, 5) / 2) / 0.8

    assert guarded_p(3, 0.5, 5, 1) == pytest.approx(expected)
    assert guarded_p(-3, 0.5, 5, 1) == pytest.approx(expected)
    assert guarded_p(0.5, 0.5, 5, 1) > 0.9
    assert (guarded_p(1, 0, 5, 2), guarded_p(3, 0, 5, 2)) == (1.0, 0.0)


def test_with_many_degrees_the_detectable_effect_is_the_textbook_one() -> None:
    # Normal quantiles: 2.0537 for 0.98 and 0.8416 for 0.8.
    assert detectable_errors(0.05, 1e6) == pytest.approx(2.0537 + 0.8416, rel=0.02)
    assert detectable_errors(0.05, 2) > 8


@pytest.mark.parametrize(("count", "noise"), [(3, 0.02), (5, 0.02), (5, 0.003)])
def test_what_one_set_of_runs_calls_detectable_another_finds(count: int, noise: float) -> None:
    rng = np.random.default_rng(9)
    order = in_turns(count)
    found = 0
    for _ in range(PAIRS):
        first = effect_between(
            *(runs_of(rng.normal(0, noise, count)) for _ in range(2)), order=order
        )
        slow_down_percent = detectable_percent(first, 1.0)
        assert slow_down_percent is not None
        new = rng.normal(math.log1p(slow_down_percent / 100), noise, count)
        second = effect_between(runs_of(rng.normal(0, noise, count)), runs_of(new), order=order)
        found += verdict_of(second, 1.0, 0.05) is Verdict.REGRESSION

    assert found >= 0.73 * PAIRS  # 80 % less three standard errors
