"""Rows found by their exact time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wavescope.analyze.ops.gaps import RowsByTime


@given(st.lists(st.integers(0, 5), max_size=20), st.integers(-1, 6))
def test_every_row_with_that_time(times: list[int], wanted: int) -> None:
    found = RowsByTime(np.array(times, np.int64)).at(wanted)

    assert list(found) == [row for row, time in enumerate(times) if time == wanted]


def test_rows_far_apart_in_a_long_column() -> None:
    times = np.arange(100_000, dtype=np.int64) // 7
    times[[3, 99_999]] = 5_000

    assert list(RowsByTime(times).at(5_000)) == [3, *range(35_000, 35_007), 99_999]
