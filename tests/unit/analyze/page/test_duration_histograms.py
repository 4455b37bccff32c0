"""Durations in logarithmic bins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wavescope.analyze.page.trace_report import (
    BINS_PER_OCTAVE,
    duration_histograms,
    lower_edge_ns,
)


@given(st.integers(0, (1 << 53) - 1))
def test_a_duration_lies_between_the_edges_of_its_bin(duration_ns: int) -> None:
    found = duration_histograms(np.zeros(1, np.int64), np.array([duration_ns]), 1)

    low, high = found.edges_ns()
    assert low <= duration_ns < high


def test_edges_divide_an_octave_evenly() -> None:
    first = 1 + 10 * BINS_PER_OCTAVE

    assert [lower_edge_ns(first + place) for place in (0, 1, 15, 16)] == [1024, 1088, 1984, 2048]
    assert lower_edge_ns(0) == 0


def test_groups_are_counted_apart_and_empty_ends_are_cut() -> None:
    durations = np.array([1024, 1024, 2048, 0], np.uint32)

    found = duration_histograms(np.array([0, 0, 2, 2]), durations, 3)

    assert found.first_bin == 0
    assert found.counts.sum(axis=1).tolist() == [2, 0, 2]
    assert found.counts[0].nonzero()[0].tolist() == [1 + 10 * BINS_PER_OCTAVE]
    assert found.counts[2].nonzero()[0].tolist() == [0, 1 + 11 * BINS_PER_OCTAVE]


def test_no_durations() -> None:
    found = duration_histograms(np.empty(0, np.int64), np.empty(0, np.int64), 1)

    assert found.counts.shape == (1, 0)
