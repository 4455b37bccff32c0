"""Rows of number cells, read fast, are what Python reads."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.formats.counters.number_rows import NumberRows, real_number, row_of_numbers

CELLS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats().map(str),
    st.sampled_from(
        [
            "",
            "nan",
            "inf",
            "-inf",
            "1e5",
            "007",
            "+3",
            "1,2",
            "true",
            "null",
            '"1"',
            "[1]",
            " 4 ",
            "٣",
        ]
    ),
    st.text(max_size=4),
)


@given(st.lists(CELLS, min_size=1, max_size=8))
def test_a_row_is_what_python_reads(cells: list[str]) -> None:
    found = [float(value) for value in row_of_numbers(cells)]

    wanted = [real_number(cell) for cell in cells]
    assert all(
        a == pytest.approx(b, rel=1e-15) or (math.isnan(a) and math.isnan(b))
        for a, b in zip(found, wanted, strict=True)
    )


@pytest.mark.parametrize("count", [0, 1, 1024, 2500])
def test_rows_of_several_blocks(count: int) -> None:
    rows = NumberRows(2)
    for at in range(count):
        rows.add((str(at), "inf" if at == 7 else f"{at}.5"))

    matrix = rows.matrix()

    assert matrix.shape == (count, 2)
    assert matrix[:, 0].tolist() == list(range(count))
    assert np.isnan(matrix[:, 1]).tolist() == [at == 7 for at in range(count)]
