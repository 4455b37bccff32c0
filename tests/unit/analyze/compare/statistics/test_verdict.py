"""Verdicts: the four cases, and how often they are wrong in simulated pairs of arms."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from wavescope.analyze.compare.statistics.effects import effect_between
from wavescope.analyze.compare.statistics.step_noise import FloatArray
from wavescope.analyze.compare.statistics.verdicts import Verdict, verdict_of

PAIRS = 1000


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        ((100, 100.1, 99.9), (105, 105.1, 104.9), Verdict.REGRESSION),
        ((100, 100.1, 99.9), (95, 95.1, 94.9), Verdict.IMPROVEMENT),
        ((100, 100.1, 99.9), (100.05, 100.1, 99.9), Verdict.PASS),
        ((100, 100.01, 99.99), (100.5, 100.51, 100.49), Verdict.PASS),
        ((100, 100.01, 99.99), (99.5, 99.51, 99.49), Verdict.PASS),
        ((100, 110, 90), (103, 113, 93), Verdict.INCONCLUSIVE),
        ((100,), (200,), Verdict.INCONCLUSIVE),
    ],
    ids=("slower", "faster", "same", "real but small", "small gain", "noise", "one run"),
)
def test_the_cases(base: tuple[float, ...], new: tuple[float, ...], expected: Verdict) -> None:
    effect = effect_between([np.array([v]) for v in base], [np.array([v]) for v in new])

    assert verdict_of(effect, threshold_percent=1.0, significance=0.05) is expected


def test_an_adjusted_p_value_decides_where_it_is_given() -> None:
    effect = effect_between(
        [np.array([v]) for v in (100, 100.1, 99.9)], [np.array([v]) for v in (105, 105.1, 104.9)]
    )

    assert verdict_of(effect, 1.0, 0.05, p_value=0.2) is Verdict.INCONCLUSIVE


def simulated(
    counts: tuple[int, int],
    run_noise: float,
    step_noise: float,
    *,
    slow_down: float = 0.0,
    steps: int = 40,
    seed: int = 1,
    kind: str = "normal",
) -> Counter[Verdict]:
    """Verdicts on 1000 pairs of arms whose runs differ by themselves, and so do their steps."""
    rng = np.random.default_rng(seed)

    def arm(count: int, factor: float) -> list[FloatArray]:
        noise = {
            "normal": lambda: rng.normal(0, run_noise, count),
            "skewed": lambda: rng.exponential(run_noise, count),
            "heavy": lambda: run_noise * rng.standard_t(3, count),
            "bimodal": lambda: run_noise * rng.integers(0, 2, count) + rng.normal(0, 1e-3, count),
        }[kind]()
        # Steps resemble their neighbours: a slow wave and noise of their own.
        wave = np.cumsum(rng.normal(0, step_noise / 6, (count, steps)), axis=1)
        values = noise[:, None] + wave + rng.normal(0, step_noise, (count, steps))
        return [factor * 1e6 * np.exp(row) for row in values]

    verdicts: Counter[Verdict] = Counter()
    for _ in range(PAIRS):
        effect = effect_between(arm(counts[0], 1.0), arm(counts[1], 1.0 + slow_down))
        verdicts[verdict_of(effect, threshold_percent=1.0, significance=0.05)] += 1
    return verdicts


@pytest.mark.parametrize(
    ("counts", "noise"),
    [
        ((2, 2), (0.02, 0.05)),
        ((3, 3), (0.02, 0.0)),
        ((5, 5), (0.02, 0.05)),
        ((3, 8), (0.02, 0.01)),
        ((8, 1), (0.02, 0.01)),
        ((4, 4), (0.0, 0.05)),
    ],
)
def test_false_alarms_of_equal_versions_are_at_most_as_frequent_as_stated(
    counts: tuple[int, int], noise: tuple[float, float]
) -> None:
    verdicts = simulated(counts, *noise)

    alarms = verdicts[Verdict.REGRESSION] + verdicts[Verdict.IMPROVEMENT]
    assert alarms <= 0.05 * PAIRS
    assert verdicts[Verdict.REGRESSION] <= 0.03 * PAIRS


@pytest.mark.parametrize(
    ("kind", "counts"),
    [("skewed", (4, 4)), ("heavy", (3, 3)), ("bimodal", (4, 4)), ("bimodal", (4, 7))],
)
def test_false_alarms_with_noise_that_is_not_bell_shaped(
    kind: str, counts: tuple[int, int]
) -> None:
    verdicts = simulated(counts, 0.03, 0.01, kind=kind)

    assert verdicts[Verdict.REGRESSION] + verdicts[Verdict.IMPROVEMENT] <= 0.05 * PAIRS


@pytest.mark.parametrize(("counts", "run_noise"), [((3, 3), 0.003), ((6, 6), 0.009)])
def test_a_slow_down_of_three_percent_is_found_when_the_noise_allows(
    counts: tuple[int, int], run_noise: float
) -> None:
    verdicts = simulated(counts, run_noise, 0.005, slow_down=0.03)

    assert verdicts[Verdict.REGRESSION] >= 0.9 * PAIRS
    assert verdicts[Verdict.PASS] == 0
    assert verdicts[Verdict.IMPROVEMENT] == 0


@pytest.mark.parametrize("counts", [(2, 2), (5, 5)])
def test_a_slow_down_of_three_percent_in_large_noise_is_inconclusive(
    counts: tuple[int, int],
) -> None:
    verdicts = simulated(counts, 0.08, 0.02, slow_down=0.03)

    assert verdicts[Verdict.INCONCLUSIVE] >= 0.85 * PAIRS
    assert verdicts[Verdict.PASS] <= 0.025 * PAIRS
