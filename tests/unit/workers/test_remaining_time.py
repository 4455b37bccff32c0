"""The time that is left, from what is done."""

from __future__ import annotations

import pytest

from wavescope.workers.remaining_time import RemainingTime


class Clock:
    """A clock that stands still unless it is moved."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_items_are_alike_without_weights() -> None:
    clock = Clock()
    remaining = RemainingTime(4, (), clock)
    left = []
    for index in (2, 0, 1, 3):
        clock.now_s += 10
        left.append(remaining.finish(index))

    assert left == [30.0, 20.0, 10.0, 0.0]


def test_heavy_items_take_longer() -> None:
    clock = Clock()
    remaining = RemainingTime(3, (600, 300, 100), clock)
    clock.now_s += 6

    assert remaining.finish(0) == pytest.approx(4.0)
    clock.now_s += 3
    assert remaining.finish(1) == pytest.approx(1.0)
    assert remaining.finish(2) == 0.0


def test_weights_of_nothing_are_borne() -> None:
    clock = Clock()
    remaining = RemainingTime(2, (0, 0), clock)
    clock.now_s += 5

    assert remaining.finish(1) == 5.0
    assert remaining.finish(0) == 0.0
