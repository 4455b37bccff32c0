"""Streams in time order become one stream in time order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wavescope.formats.timeline.host_slices import merged_in_time_order
from wavescope.model.source import Batch

STREAM = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), max_size=25)


def batches(spans: list[tuple[int, int]], sizes: list[int]) -> Iterator[Batch]:
    rows = sorted(((start, start + length) for start, length in spans), key=lambda s: (s[0], -s[1]))
    first = 0
    for size in [*sizes, len(rows)]:
        part = rows[first : first + size]
        first += size
        yield {
            "start_ns": np.array([start for start, _ in part], np.int64),
            "end_ns": np.array([end for _, end in part], np.int64),
        }


@given(
    STREAM, STREAM, st.lists(st.integers(0, 4), max_size=8), st.lists(st.integers(0, 4), max_size=8)
)
def test_all_rows_come_by_start_and_longest_first(
    left: list[tuple[int, int]],
    right: list[tuple[int, int]],
    left_sizes: list[int],
    right_sizes: list[int],
) -> None:
    merged = list(merged_in_time_order((batches(left, left_sizes), batches(right, right_sizes))))

    rows = [
        row
        for batch in merged
        for row in zip(batch["start_ns"].tolist(), batch["end_ns"].tolist(), strict=True)
    ]
    expected = sorted(
        ((start, start + length) for start, length in left + right), key=lambda s: (s[0], -s[1])
    )
    assert rows == expected


def test_of_equal_rows_the_first_stream_comes_first() -> None:
    def stream(origin: int) -> Iterator[Batch]:
        yield {"start_ns": np.array([5]), "end_ns": np.array([9]), "origin": np.array([origin])}

    merged = list(merged_in_time_order((stream(1), stream(2))))

    assert np.concatenate([batch["origin"] for batch in merged]).tolist() == [1, 2]
