"""The order in which runs were made, and what drift does to differences of their values."""

from __future__ import annotations

import pytest

from wavescope.analyze.compare.statistics.run_order import (
    RunOrder,
    base_first,
    means_apart,
    run_order,
    trend_fit,
)
from wavescope.errors import UsageError


def test_times_of_recording_tell_the_order() -> None:
    order = run_order([10, 30], [20, 40])

    assert order == RunOrder((0, 2), (1, 3), "times of recording")
    assert order.words == "interleaved"
    assert run_order([30, 40], [10, 20]).words == "new first"
    assert run_order([1, 2], [3, 4]).words == "base first"


@pytest.mark.parametrize("times", [[None, 1, 2, 3], [1, 1, 2, 3]], ids=("missing", "equal"))
def test_without_all_times_the_base_is_taken_to_be_first(times: list[int | None]) -> None:
    assert run_order(times[:2], times[2:]) == RunOrder((0, 1), (2, 3), "")


def test_an_order_that_is_said_counts_more_than_times() -> None:
    assert run_order([1, 2], [3, 4], "interleaved") == RunOrder((0, 2), (1, 3), "--order")
    assert run_order([1, 2], [3, 4], "bnnb") == RunOrder((0, 3), (1, 2), "--order")
    assert run_order([3, 4], [1, 2], "base-first") == RunOrder((0, 1), (2, 3), "--order")
    assert run_order([None] * 3, [None], "interleaved").base == (0, 2, 3)


@pytest.mark.parametrize(
    ("order", "words"), [("bnxb", "not an order of runs"), ("bbn", "2 base and 1 new")]
)
def test_an_order_that_cannot_be(order: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        run_order([1, 2], [3, 4], order)


@pytest.mark.parametrize(
    ("order", "lever", "wander"),
    [
        # Steps of a walk 1/2, 1, 1/2 move the difference of the means: squares add up to 1.5.
        (base_first(2, 2), 2.0, 1.5),
        (RunOrder((0, 2), (1, 3)), 1.0, 0.5),
        (RunOrder((0, 3), (1, 2)), 0.0, 0.5),
    ],
    ids=("base first", "in turns", "bnnb"),
)
def test_what_drift_does_to_a_difference_of_means(
    order: RunOrder, lever: float, wander: float
) -> None:
    contrast = means_apart(order)

    assert contrast.lever == pytest.approx(lever)
    assert contrast.wander == pytest.approx(wander)
    assert contrast.squares == pytest.approx(1.0)


def test_a_trend_cancels_beside_a_difference() -> None:
    fit = trend_fit(base_first(3, 3))
    assert fit is not None

    assert fit.difference.lever == pytest.approx(0)
    assert fit.difference.weights.sum() == pytest.approx(0)
    assert fit.difference.weights[3:].sum() == pytest.approx(1)
    assert trend_fit(base_first(2, 1)) is None
