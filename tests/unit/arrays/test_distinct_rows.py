"""Distinct rows are numbered in order of appearance."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wavescope.arrays.coded_columns import DistinctRows

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
    firsts = [
        rows[offset + first]
        for offset, (_, firsts) in zip(_offsets(found), found, strict=True)
        for first in firsts
    ]
    assert firsts == list(known)


def _offsets(found: list[tuple[list[int], list[int]]]) -> list[int]:
    """Where the rows of each part begin."""
    return [0, *itertools.accumulate(len(numbers) for numbers, _ in found)][:-1]
