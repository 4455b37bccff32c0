"""Distinct rows are numbered in order of appearance, natively and in Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.arrays import distinct_rows
from wavescope.arrays.distinct_rows import DistinctRows

ROWS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-(1 << 63), (1 << 63) - 1)), max_size=50)


def numbered(rows: list[tuple[int, int]], parts: int) -> list[tuple[list[int], list[int]]]:
    distinct = DistinctRows(2)
    found = []
    for part in np.array_split(np.array(rows, np.int64).reshape(-1, 2), parts):
        numbers, firsts = distinct.number([part[:, 0], part[:, 1]])
        found.append((numbers.tolist(), firsts.tolist()))
    return found


@given(ROWS, st.integers(1, 3))
def test_equal_rows_have_equal_numbers(rows: list[tuple[int, int]], parts: int) -> None:
    found = numbered(rows, parts)

    numbers = [number for numbers, _ in found for number in numbers]
    known: dict[tuple[int, int], int] = {}
    assert numbers == [known.setdefault(row, len(known)) for row in rows]
    assert sum(len(firsts) for _, firsts in found) == len(known)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(distinct_rows, "columns_library", lambda: None)
        assert numbered(rows, parts) == found
