"""Counters over time: exact steps, and exact means over bins."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.formats.timeline import counter_series
from wavescope.formats.timeline.counter_series import (
    BinnedSeries,
    GpuBusy,
    Samples,
    Span,
    StepSeries,
)

INTERVALS = st.lists(st.tuples(st.integers(-50, 200), st.integers(0, 60)), min_size=1, max_size=30)


def pairs(samples: Samples) -> list[tuple[int, float]]:
    return list(zip(samples.times_ns.tolist(), samples.values.tolist(), strict=True))


def columns(intervals: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.array(sorted(start for start, _ in intervals), np.int64)
    lengths = np.array([length for _, length in sorted(intervals)], np.int64)
    return starts, starts + lengths


def level_at(starts: np.ndarray, ends: np.ndarray, time_ns: int) -> int:
    return int(np.count_nonzero((starts <= time_ns) & (ends > time_ns)))


def test_steps_are_kept_exactly() -> None:
    series = StepSeries(2, Span(0, 100))
    series.add(np.array([0, 0, 1, -1], np.int32), np.array([10, 20, 30, 5]), 1)
    series.add(np.array([0, 0], np.int32), np.array([20, 40]), -1)

    samples = {index: pairs(found) for index, found in series.all_samples()}

    assert samples == {0: [(10, 1), (40, 0)], 1: [(30, 1)]}


def test_steps_of_no_series_give_no_samples() -> None:
    series = StepSeries(1, Span(0, 10))
    series.add(np.array([-1, -1], np.int32), np.array([1, 2]), 1)

    assert list(series.all_samples()) == []


def test_a_count_below_zero_is_shown_as_zero() -> None:
    series = StepSeries(1, Span(0, 100))
    series.add(np.zeros(1, np.int32), np.array([10]), -1)
    series.add(np.zeros(1, np.int32), np.array([20]), 1)

    assert [pairs(found) for _, found in series.all_samples()] == [[(10, 0)]]


@given(INTERVALS, st.booleans())
def test_bins_hold_the_mean_of_the_steps(intervals: list[tuple[int, int]], native: bool) -> None:
    starts, ends = columns(intervals)
    span = Span(int(starts.min()), int(ends.max()))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(counter_series, "BIN_COUNT", 4)
        if not native:
            patched.setattr(counter_series, "encoder_library", lambda: None)
        series = BinnedSeries(1, span)
        zeros = np.zeros(len(starts), np.int32)
        series.add(zeros, starts, np.ones(len(starts), np.int64))
        series.add(zeros, ends, -np.ones(len(starts), np.int64))
        samples = pairs(series.samples(0))

    for (time_ns, value), (following, _) in zip(
        samples, [*samples[1:], (span.last_ns, 0)], strict=True
    ):
        if following > time_ns:
            levels = [level_at(starts, ends, time) for time in range(time_ns, following)]
            assert abs(Fraction(sum(levels), len(levels)) - Fraction(value)) < Fraction(1, 900)
    assert samples[-1][1] == 0


@given(INTERVALS, st.integers(1, 5))
def test_busy_time_is_the_union(intervals: list[tuple[int, int]], steps: int) -> None:
    starts, ends = columns(intervals)
    span = Span(int(starts.min()), int(ends.max()))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(counter_series, "BIN_COUNT", 8)
        busy = GpuBusy(1, span)
    for part in np.array_split(np.arange(len(starts)), steps):
        busy.add(np.zeros(len(part), np.int32), starts[part], ends[part])

    samples = pairs(busy.percent(0))

    total = sum(
        value * (following - time_ns) for (time_ns, value), (following, _) in pairwise(samples)
    )
    union = sum(level_at(starts, ends, time) > 0 for time in range(span.first_ns, span.last_ns))
    assert total / 100 == pytest.approx(union, abs=0.01)
    assert all(0 <= value <= 100 for _, value in samples)


def test_times_far_apart_do_not_overflow() -> None:
    span = Span(-(1 << 62), (1 << 62) + 10)
    series = BinnedSeries(1, span)
    series.add(np.zeros(2, np.int32), np.array([span.first_ns, span.last_ns]), np.array([1, -1]))

    assert pairs(series.samples(0)) == [(span.first_ns, 1.0), (span.last_ns, 0.0)]
