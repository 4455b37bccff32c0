"""Covered time against a count of single nanoseconds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wavescope.arrays.covered_time import NOTHING_COVERED, CoveredTime

ROWS = st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 8)), max_size=10)
MOMENTS = np.arange(-30, 40)


def of(rows: list[tuple[int, int]]) -> CoveredTime:
    starts = np.array([start for start, _ in rows], np.int64)
    return CoveredTime.of(starts, starts + np.array([length for _, length in rows], np.int64))


def instants(rows: list[tuple[int, int]]) -> set[int]:
    return {start + at for start, length in rows for at in range(length)}


@given(ROWS)
def test_time_before_any_moment(rows: list[tuple[int, int]]) -> None:
    covered, expected = of(rows), instants(rows)

    assert covered.total_ns == len(expected)
    assert covered.until(MOMENTS).tolist() == [
        sum(each < moment for each in expected) for moment in MOMENTS.tolist()
    ]
    assert np.all(covered.ends > covered.starts)
    assert np.all(covered.starts[1:] > covered.ends[:-1])


@given(ROWS, st.permutations(MOMENTS.tolist()))
def test_moments_in_any_order(rows: list[tuple[int, int]], moments: list[int]) -> None:
    covered, expected = of(rows), instants(rows)

    assert covered.until(np.array(moments)).tolist() == [
        sum(each < moment for each in expected) for moment in moments
    ]


@given(ROWS)
def test_the_end_of_what_lies_before_a_moment(rows: list[tuple[int, int]]) -> None:
    expected = instants(rows)
    least = np.iinfo(np.int64).min

    assert of(rows).last_before(MOMENTS).tolist() == [
        max((each + 1 for each in expected if each < moment), default=least)
        for moment in MOMENTS.tolist()
    ]


@given(st.lists(ROWS, max_size=4))
def test_several_together(parts: list[list[tuple[int, int]]]) -> None:
    together = CoveredTime.of_all([of(rows) for rows in parts])
    expected = set().union(*(instants(rows) for rows in parts))

    assert together.between(MOMENTS[:-1], MOMENTS[1:]).tolist() == [
        int(moment in expected) for moment in MOMENTS[:-1].tolist()
    ]


def test_nothing_covers_nothing() -> None:
    assert CoveredTime.of_all([]) is NOTHING_COVERED
    assert NOTHING_COVERED.total_ns == 0
    assert NOTHING_COVERED.until(np.array([5])).tolist() == [0]
