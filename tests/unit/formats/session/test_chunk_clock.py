"""GPU ticks become nanoseconds within one nanosecond of the exact value."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from wavescope.formats.session.reading.facts import ClockPair, TickClock

LARGEST = (1 << 63) - 1


def exact_ns(pairs: list[ClockPair], tick: int) -> Fraction:
    """The rational value on the line through the two pairs around `tick`."""
    for low, high in itertools.pairwise(pairs):
        if low.ticks <= tick <= high.ticks:
            rate = Fraction(high.ns - low.ns, high.ticks - low.ticks)
            return low.ns + (tick - low.ticks) * rate
    raise AssertionError("not between two pairs")


@st.composite
def clocks(draw: st.DrawFn) -> list[ClockPair]:
    steps = draw(
        st.lists(
            st.tuples(st.integers(1, 1 << 44), st.integers(1, 1 << 46)), min_size=1, max_size=6
        )
    )
    ticks, ns = draw(st.integers(0, 1 << 50)), draw(st.integers(0, 1 << 60))
    pairs = [ClockPair(ticks, ns)]
    for more_ticks, more_ns in steps:
        pairs.append(ClockPair(pairs[-1].ticks + more_ticks, pairs[-1].ns + more_ns))
    return pairs


@settings(max_examples=300)
@given(clocks(), st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_between_pairs_it_is_within_a_nanosecond_of_the_exact_line(
    pairs: list[ClockPair], places: list[float]
) -> None:
    first, last = pairs[0].ticks, pairs[-1].ticks
    ticks = [min(last, first + int((last - first) * place)) for place in places]

    found = TickClock(pairs).ns_of(np.array(ticks, np.uint64))

    for tick, ns in zip(ticks, found.tolist(), strict=True):
        assert abs(ns - exact_ns(pairs, tick)) < 1


@settings(max_examples=200)
@given(clocks(), st.lists(st.integers(0, LARGEST), min_size=2, max_size=30))
def test_order_is_kept_everywhere(pairs: list[ClockPair], ticks: list[int]) -> None:
    found = TickClock(pairs).ns_of(np.array(sorted(ticks), np.uint64))

    assert (np.diff(found) >= 0).all()
    assert (found >= 0).all()


def test_the_ends_continue_the_rate_of_the_nearest_second() -> None:
    second = 1_000_000_000
    pairs = [
        ClockPair(0, 10 * second),
        ClockPair(100_000_000, 11 * second),
        ClockPair(200_000_000, 12 * second),
        ClockPair(300_000_000, 13 * second + 3_000_000),
    ]
    ticks = np.array([310_000_000, 320_000_000], np.int64)

    assert TickClock(pairs).ns_of(ticks).tolist() == [
        13 * second + 3_000_000 + 100_300_000,
        13 * second + 3_000_000 + 200_600_000,
    ]
    early = TickClock([ClockPair(tick + 500, ns) for tick, ns in ((0, 5000), (100, 6000))])
    assert early.ns_of(np.array([490, 0], np.int64)).tolist() == [4900, 0]


def test_one_pair_needs_the_frequency() -> None:
    pair = ClockPair(1000, 5000)

    assert not TickClock([pair]).works
    assert TickClock([pair], 100_000_000).ns_of(np.array([1003], np.int64)).tolist() == [5030]


def test_pairs_that_go_backwards_are_dropped_and_counted() -> None:
    clock = TickClock(
        [
            ClockPair(0, 0),
            ClockPair(10, 100),
            ClockPair(5, 150),
            ClockPair(20, 90),
            ClockPair(20, 200),
        ]
    )

    assert clock.dropped == 2
    assert clock.ns_of(np.array([15], np.int64)).tolist() == [150]


def test_clocks_that_no_machine_has_stay_within_bounds() -> None:
    clock = TickClock([ClockPair(0, 0), ClockPair(1, LARGEST)])
    assert clock.ns_of(np.array([0, 1, 2, LARGEST], np.int64)).tolist() == [
        0,
        LARGEST,
        LARGEST,
        LARGEST,
    ]
    slow = TickClock([ClockPair(0, 7), ClockPair(LARGEST, 8)])
    assert slow.ns_of(np.array([0, 5, LARGEST], np.int64)).tolist() == [7, 7, 8]
    assert not TickClock([ClockPair(1, 1)], LARGEST).works
