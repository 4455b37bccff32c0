"""Time of classes in bins, against counting every nanosecond."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wavescope.analyze.timeline import TimeGrid, time_in_bins
from wavescope.analyze.timeline.time_bins import coarser

ROWS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 40), st.integers(0, 2)), min_size=0, max_size=20
)


def columns(rows: list[tuple[int, int, int]], origin: int) -> tuple[np.ndarray, ...]:
    starts = np.array([start + origin for start, _, _ in rows], np.int64)
    ends = np.array([start + origin + length for start, length, _ in rows], np.int64)
    return starts, ends, np.array([of for _, _, of in rows], np.uint8)


@given(rows=ROWS, shift=st.integers(0, 6), origin=st.sampled_from([0, -50, 10**15]))
def test_every_nanosecond_is_in_its_bin(
    rows: list[tuple[int, int, int]], shift: int, origin: int
) -> None:
    starts, ends, classes = columns(rows, origin)
    grid = TimeGrid(origin, shift, (100 >> shift) + 1)

    times = time_in_bins(grid, starts, ends, [classes], [3])[0]

    expected = np.zeros((3, grid.bin_count))
    for start, length, of in rows:
        for instant in range(start, start + length):
            expected[of, instant >> shift] += 1
    assert times.tolist() == expected.tolist()


def test_what_takes_no_time_may_lie_at_the_very_end() -> None:
    starts, ends, classes = columns([(0, 64, 0), (64, 0, 1)], 0)

    times = time_in_bins(TimeGrid.over(0, 64, 16), starts, ends, [classes], [2])[0]

    assert times.tolist() == [[4.0] * 16, [0.0] * 16]


def test_two_classifications_of_the_same_rows() -> None:
    starts, ends, classes = columns([(0, 10, 0), (10, 6, 1)], 0)
    grid = TimeGrid(0, 3, 2)

    by_class, together = time_in_bins(grid, starts, ends, [classes, classes * 0], [2, 1])

    assert by_class.tolist() == [[8, 2], [0, 6]]
    assert together.tolist() == [[8, 8]]


def test_coarser_bins_add_two_and_two() -> None:
    assert coarser(np.array([[1.0, 2, 3], [0, 1, 0]])).tolist() == [[3, 3], [1, 0]]
    assert TimeGrid(5, 3, 3).coarser() == TimeGrid(5, 4, 2)


def test_the_grid_is_as_fine_as_bins_allow() -> None:
    assert TimeGrid.over(100, 100 + 64, 16) == TimeGrid(100, 2, 16)
    assert TimeGrid.over(100, 100 + 65, 16) == TimeGrid(100, 3, 9)
    assert TimeGrid.over(7, 7, 16) == TimeGrid(7, 0, 1)
