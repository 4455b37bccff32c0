"""Counting and looking up codes block by block equals doing it at once."""

from __future__ import annotations

import numpy as np
import pytest

from wavescope.model.coded_columns import code_counts, looked_up


@pytest.mark.parametrize("rows", [0, 1, 65_536, 200_001])
@pytest.mark.parametrize("width", [np.uint8, np.uint16, np.int32, np.int64])
def test_counts_and_values_by_block(rows: int, width: type[np.integer]) -> None:
    codes = np.random.default_rng(rows).integers(0, 120, rows).astype(width)
    table = np.arange(120, dtype=np.int16) * 3

    assert code_counts(codes, 120).tolist() == np.bincount(codes, minlength=120).tolist()
    assert np.array_equal(looked_up(table, codes), table[codes])
    assert looked_up(table, codes).dtype == np.int16


def test_minus_one_is_the_last_entry() -> None:
    codes = np.array([0, -1, 1], np.int32)

    assert looked_up(np.array([10, 20, 99]), codes).tolist() == [10, 99, 20]
