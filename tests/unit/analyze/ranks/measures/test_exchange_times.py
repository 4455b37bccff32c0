"""Tests of arrivals, waiting and transfer in the exchanges of a group."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.analyze.ranks.digest_builder import Collective
from tests.unit.analyze.ranks.timed_jobs import (
    REFERENCE,
    UNKNOWN_CLOCK,
    Pair,
    a_timed_job,
    certified,
    whole,
)
from wavescope.analyze.ranks.job import MISSING, ClockState, RankClock
from wavescope.analyze.ranks.measures import exchange_times as room
from wavescope.analyze.ranks.measures.exchange_times import ExchangeTimes, exchange_times

_UNBOUNDED = (1 << 63) - 1


def _times(times: list[list[Pair | None]], **options: object) -> ExchangeTimes:
    job = a_timed_job(times, **options)  # type: ignore[arg-type]
    return exchange_times(job, job.groups[0])


def test_the_last_of_three_to_arrive_is_waited_for() -> None:
    found = _times([[(0, 100)], [(30, 105)], [(70, 102)]])

    assert whole(found.skew_ns) == [70]
    assert whole(found.wait_ns) == [70 + 40 + 0]
    assert whole(found.transfer_ns) == [105 - 70]
    assert whole(found.last_member) == [2]
    assert whole(found.shortest_ns) == [32]
    assert whole(found.longest_ns) == [100]
    assert whole(found.duration_ns) == [100 + 75 + 32]
    assert whole(found.member_wait_ns) == [70, 40, 0]
    assert whole(found.member_last_count) == [0, 0, 1]
    assert whole(found.member_timed_count) == [1, 1, 1]


def test_of_two_that_arrive_together_nobody_came_last() -> None:
    found = _times([[(0, 100)], [(70, 100)], [(70, 100)]])

    assert whole(found.last_member) == [MISSING]
    assert whole(found.member_last_count) == [0, 0, 0]
    assert whole(found.wait_ns) == [70]


def test_a_rank_without_the_exchange_is_left_out() -> None:
    found = _times([[(0, 100), (200, 300)], [(30, 105), None], [(70, 102), (250, 310)]])

    assert whole(found.member_count) == [3, 2]
    assert whole(found.skew_ns) == [70, 50]
    assert whole(found.wait_ns) == [110, 50]
    assert whole(found.transfer_ns) == [35, 60]
    assert whole(found.member_timed_count) == [2, 1, 2]


def test_a_single_member_is_compared_with_nobody() -> None:
    found = _times([[(0, 100)], [None]])

    assert found.is_timed.tolist() == [False]
    assert whole(found.wait_ns) == [0]
    assert whole(found.last_member) == [MISSING]
    assert whole(found.shortest_ns) == [100]


def test_what_only_half_of_the_members_recorded_is_not_timed() -> None:
    times: list[list[Pair | None]] = [
        [(0, 100), (200, 300)],
        [(10, 100), (210, 300)],
        [None, (220, 300)],
        [None, None],
    ]

    assert _times(times).is_timed.tolist() == [False, True]


def test_arrivals_are_not_compared_where_matching_is_not_sure() -> None:
    job = a_timed_job([[(0, 100)], [(70, 100)]])
    unsure = replace(job.groups[0], confidence=0.49)

    found = exchange_times(job, unsure)

    assert found.is_timed.tolist() == [False]
    assert (whole(found.wait_ns), whole(found.shortest_ns)) == ([0], [30])


def test_a_clock_that_cannot_be_compared_leaves_durations_only() -> None:
    found = _times([[(0, 100)], [(5_000, 5_030)]], clocks=[REFERENCE, UNKNOWN_CLOCK])

    assert found.is_timed.tolist() == [False]
    assert whole(found.skew_ns) == whole(found.wait_ns) == [0]
    assert whole(found.transfer_low_ns) == [30]
    assert whole(found.transfer_high_ns) == [100]
    assert whole(found.skew_high_ns) == [100]
    assert whole(found.wait_high_ns) == [130]


def test_nobody_bounds_the_skew_of_a_broadcast_without_clocks() -> None:
    found = _times(
        [[(0, 100)], [(5_000, 5_030)]],
        clocks=[REFERENCE, UNKNOWN_CLOCK],
        collective=Collective(0, 0, "broadcast"),
    )

    assert whole(found.skew_high_ns) == [_UNBOUNDED]
    assert whole(found.wait_high_ns) == [_UNBOUNDED]


def test_a_certified_clock_bounds_what_is_told() -> None:
    found = _times([[(0, 100)], [(70, 100)]], clocks=[REFERENCE, certified(-20, 10)])

    assert found.is_certified.tolist() == [True]
    assert whole(found.skew_low_ns) == [50]
    assert whole(found.skew_high_ns) == [80]
    assert (whole(found.wait_low_ns), whole(found.wait_high_ns)) == ([50], [110])
    assert whole(found.transfer_low_ns) == [30]
    assert whole(found.transfer_high_ns) == [50]


def test_a_shared_clock_without_interval_is_timed_and_not_certified() -> None:
    found = _times([[(0, 100)], [(70, 100)]], clocks=[REFERENCE, RankClock(ClockState.SHARED)])

    assert found.is_timed.tolist() == [True]
    assert found.is_certified.tolist() == [False]
    assert whole(found.transfer_high_ns) == [100]


def test_a_group_without_exchanges_has_no_times() -> None:
    job = a_timed_job([[(0, 1)], [(0, 1)]])
    group = job.groups[0]
    empty = type(group)(
        **{**vars(group), "rows": group.rows[:, :0], "use": group.use[:0]},
    )

    found = exchange_times(job, empty)

    assert len(found) == 0
    assert whole(found.member_wait_ns) == [0, 0]


_PAIRS = st.tuples(st.integers(0, 500), st.integers(0, 500)).map(
    lambda pair: (pair[0], pair[0] + pair[1])
)


@st.composite
def _matrices(draw: st.DrawFn) -> list[list[Pair | None]]:
    members, exchanges = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    cell = st.one_of(st.none(), _PAIRS, _PAIRS, _PAIRS)
    return draw(
        st.lists(
            st.lists(cell, min_size=exchanges, max_size=exchanges),
            min_size=members,
            max_size=members,
        )
    )


@given(matrix=_matrices(), cells=st.sampled_from([1, 3, 1 << 17]))
@settings(max_examples=150)
def test_times_are_those_of_brute_force(matrix: list[list[Pair | None]], cells: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_BLOCK_CELLS", cells)
        found = _times(matrix)
    waits = [0] * len(matrix)
    for exchange in range(len(matrix[0])):
        seen = [
            (member, row[exchange])
            for member, row in enumerate(matrix)
            if row[exchange] is not None
        ]
        assert found.member_count[exchange] == len(seen)
        if len(seen) < 2 or 2 * len(seen) <= len(matrix):
            assert not found.is_timed[exchange]
            continue
        last = max(pair[0] for _, pair in seen)
        first = min(pair[0] for _, pair in seen)
        assert found.skew_ns[exchange] == last - first
        assert found.wait_ns[exchange] == sum(last - pair[0] for _, pair in seen)
        assert found.transfer_ns[exchange] == max(pair[1] for _, pair in seen) - last
        assert found.shortest_ns[exchange] == min(end - start for _, (start, end) in seen)
        assert found.longest_ns[exchange] == max(end - start for _, (start, end) in seen)
        late = [member for member, pair in seen if pair[0] == last]
        assert found.last_member[exchange] == (late[0] if len(late) == 1 else MISSING)
        for member, pair in seen:
            waits[member] += last - pair[0]
        # With all clocks right, bounds and estimates agree.
        assert found.shortest_ns[exchange] <= found.transfer_ns[exchange]
        assert found.transfer_ns[exchange] <= found.longest_ns[exchange]
    assert whole(found.member_wait_ns) == waits


@given(seed=st.integers(0, 10_000))
@settings(max_examples=100)
def test_bounds_hold_the_truth_wherever_clocks_are(seed: int) -> None:
    """True times by a simulated all-reduce; fitted offsets off by any error within the interval."""
    chance = random.Random(seed)
    members = chance.randint(2, 5)
    starts = [chance.randint(0, 300) for _ in range(members)]
    last = max(starts)
    ends = [last + chance.randint(1, 200) for _ in starts]
    errors = [0] + [chance.randint(-60, 60) for _ in starts[1:]]
    # A clock that is fitted `error` too high shows true times that much later.
    shown = [
        [(start + error, end + error)]
        for start, end, error in zip(starts, ends, errors, strict=True)
    ]
    clocks = [REFERENCE] + [
        certified(-error - chance.randint(0, 40), -error + chance.randint(0, 40))
        for error in errors[1:]
    ]

    found = _times(shown, clocks=clocks)

    skew, transfer = last - min(starts), max(ends) - last
    wait = sum(last - start for start in starts)
    assert found.is_certified[0]
    assert found.skew_low_ns[0] <= skew <= found.skew_high_ns[0]
    assert found.wait_low_ns[0] <= wait <= found.wait_high_ns[0]
    assert found.transfer_low_ns[0] <= transfer <= found.transfer_high_ns[0]


def test_bounds_without_clocks_hold_the_truth_for_all_offsets() -> None:
    starts, ends = [0, 40, 90], [120, 130, 125]
    for offsets in itertools.product([-1000, 0, 777], repeat=3):
        shown = [
            [(start + offset, end + offset)]
            for start, end, offset in zip(starts, ends, offsets, strict=True)
        ]
        found = _times(shown, clocks=[UNKNOWN_CLOCK] * 3)

        assert (found.transfer_low_ns[0], found.transfer_high_ns[0]) == (35, 120)  # true: 40
        assert found.skew_high_ns[0] == 120
