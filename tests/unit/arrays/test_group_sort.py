"""Sorting within groups gives what sorting by group and value gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.arrays.groups import sorted_within_groups

INT64 = st.integers(-(2**63), 2**63 - 1)
UINT32 = st.integers(0, 2**32 - 1)


def check(pairs: list[tuple[int, int]], width: type[np.integer]) -> None:
    groups = np.array([group for group, _ in pairs], np.uint16)
    values = np.array([value for _, value in pairs], width)

    ordered, counts = sorted_within_groups(groups, values, 5)

    assert ordered.tolist() == [value for _, value in sorted(pairs)]
    assert ordered.dtype == width
    assert counts.tolist() == [sum(group == g for group, _ in pairs) for g in range(5)]


@given(st.lists(st.tuples(st.integers(0, 4), INT64 | st.integers(0, 100)), max_size=60))
def test_values_come_in_order_of_group_and_size(pairs: list[tuple[int, int]]) -> None:
    check(pairs, np.int64)


@given(st.lists(st.tuples(st.integers(0, 4), UINT32 | st.integers(0, 100)), max_size=60))
def test_values_of_32_bits_too(pairs: list[tuple[int, int]]) -> None:
    check(pairs, np.uint32)


@pytest.mark.parametrize("spread", [1, 1_000, 1 << 20, 1 << 40])
def test_large_groups_are_sorted_by_digits(spread: int) -> None:
    rng = np.random.default_rng(spread)
    groups = rng.integers(0, 3, 20_000).astype(np.uint16)
    values = rng.integers(-spread, spread, 20_000)

    for column in (values, np.abs(values).astype(np.uint32)):
        ordered, _ = sorted_within_groups(groups, column, 3)

        assert np.array_equal(ordered, column[np.lexsort((column, groups))])
