"""Counting and looking up codes block by block equals doing it at once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.arrays.coded_columns import (
    code_counts,
    counted_codes,
    different_rows,
    different_values,
    looked_up,
)


@pytest.mark.parametrize("rows", [0, 1, 65_536, 200_001])
@pytest.mark.parametrize("width", [np.uint8, np.uint16, np.int32, np.int64])
def test_counts_and_values_by_block(rows: int, width: type[np.integer]) -> None:
    codes = np.random.default_rng(rows).integers(0, 120, rows).astype(width)
    table = np.arange(120, dtype=np.int16) * 3

    assert code_counts(codes, 120).tolist() == np.bincount(codes, minlength=120).tolist()
    assert np.array_equal(looked_up(table, codes), table[codes])
    assert looked_up(table, codes).dtype == np.int16


def test_minus_one_is_the_last_entry_and_not_counted() -> None:
    codes = np.array([0, -1, 1], np.int32)

    assert looked_up(np.array([10, 20, 99]), codes).tolist() == [10, 99, 20]
    assert code_counts(codes, 3).tolist() == [1, 1, 0]


@pytest.mark.parametrize("width", [np.uint16, np.int32])
def test_a_code_that_is_too_large_is_an_error(width: type[np.integer]) -> None:
    with pytest.raises(ValueError, match="not below 3"):
        code_counts(np.array([0, 5], width), 3)


@given(st.lists(st.integers(-1, 20), max_size=40))
def test_used_codes_and_how_often(codes: list[int]) -> None:
    found = counted_codes(np.array(codes, np.int32))

    assert list(zip(*(column.tolist() for column in found), strict=True)) == sorted(
        Counter(codes).items()
    )


def test_different_rows_are_each_given_once_in_order() -> None:
    assert different_rows(np.array([4, 1, 4, 0]), 6).tolist() == [0, 1, 4]
    assert different_rows(np.empty(0, np.int64), 6).tolist() == []


@given(
    st.sampled_from([np.int32, np.int64]).flatmap(
        lambda kind: st.lists(
            st.integers(np.iinfo(kind).min, np.iinfo(kind).max) | st.integers(-3, 70_000)
        ).map(lambda values: np.array(values, kind))
    )
)
def test_different_values_are_in_order_and_keep_their_type(values: np.ndarray) -> None:
    found = different_values(values)

    assert found.tolist() == sorted(set(values.tolist()))
    assert found.dtype == values.dtype
