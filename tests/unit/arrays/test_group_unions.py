"""Unions of intervals by group, against the union of each group alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.arrays import interval_union as group_unions
from wavescope.arrays.interval_union import group_unions_ns
from wavescope.arrays.intervals import union_length_ns

_ROWS = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(-2, 1), st.integers(-1_000, 1_000), st.integers(0, 300)
    ),
    max_size=40,
)


@pytest.mark.parametrize("few_groups", [10_000, 0])
@given(rows=_ROWS)
def test_each_group_is_united_apart(few_groups: int, rows: list[tuple[int, int, int, int]]) -> None:
    outer, inner, starts, lengths = (np.array([row[i] for row in rows], np.int64) for i in range(4))
    ends = starts + lengths
    expected = [0] * 5
    for group in set(zip(outer.tolist(), inner.tolist(), strict=True)):
        mine = (outer == group[0]) & (inner == group[1])
        expected[group[0]] += union_length_ns(starts[mine], ends[mine])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_unions, "_FEW_GROUPS", few_groups)

        assert group_unions_ns(outer, inner, starts, ends, 5) == expected


def test_spans_too_wide_for_one_axis() -> None:
    low, high = -(1 << 62), 1 << 62
    starts, ends = np.array([low, 0, low]), np.array([0, high, low + 5])

    assert group_unions_ns(np.array([0, 0, 1]), np.zeros(3, int), starts, ends, 2) == [1 << 63, 5]
