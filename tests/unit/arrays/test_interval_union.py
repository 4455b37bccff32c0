"""Unions of sorted runs equal unions of the same rows sorted together."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wavescope.arrays.interval_union import Run, covered_ns, stretches_of_runs
from wavescope.arrays.intervals import stretches_of_sorted, union_length_ns

INT64 = st.integers(-(2**63), 2**63 - 1)
ROWS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 60)) | st.tuples(INT64, INT64), max_size=12
)


def run_of(rows: list[tuple[int, int]]) -> Run:
    return (
        np.array(sorted(min(row) for row in rows), np.int64),
        np.array(sorted(max(row) for row in rows), np.int64),
    )


def as_lists(run: Run) -> list[list[int]]:
    return [column.tolist() for column in run]


def test_touching_intervals_of_different_runs_are_one_stretch() -> None:
    runs = [run_of([(0, 10), (40, 50)]), run_of([(10, 20)]), run_of([]), run_of([(60, 60)])]

    assert as_lists(stretches_of_runs(runs)) == [[0, 40, 60], [20, 50, 60]]


def test_no_runs_no_stretches() -> None:
    assert as_lists(stretches_of_runs([])) == [[], []]
    assert covered_ns(run_of([])) == 0


@given(st.lists(ROWS, max_size=5))
def test_any_runs(runs: list[list[tuple[int, int]]]) -> None:
    together = run_of([row for rows in runs for row in rows])

    found = stretches_of_runs([run_of(rows) for rows in runs])

    assert as_lists(found) == as_lists(stretches_of_sorted(*together))
    assert covered_ns(found) == covered_ns(together) == union_length_ns(*together)


def test_many_runs_are_joined_in_rounds() -> None:
    rng = np.random.default_rng(1)
    runs = [
        run_of([(start, start + 3) for start in rng.integers(0, 20_000, 5).tolist()])
        for _ in range(700)
    ]
    together = tuple(np.sort(np.concatenate(column)) for column in zip(*runs, strict=True))

    assert as_lists(stretches_of_runs(runs)) == as_lists(stretches_of_sorted(*together))
