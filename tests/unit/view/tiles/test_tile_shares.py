"""The shares of classes in pixels are those of a count over all ranges, at every zoom."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lanes import ByRowNumber, a_lane, a_random_lane, a_view, drawn, shifted
from tests.reference.lane_pixels import exact_shares, pixels_of, stretches, time_in
from wavescope.view.lanes import Lane
from wavescope.view.opening import TraceView
from wavescope.view.rows import Row, RowKind
from wavescope.view.tiles.drawing import Drawing
from wavescope.view.tiles.pixels import Pixels
from wavescope.view.tiles.row_tile import RowTile, row_tile

UNITS = st.sampled_from([1, 3, 1000, 2**33])
SIZES = st.sampled_from([0, 1, 3, 40, 255, 256, 257, 600])
SEEDS = st.integers(0, 2**32)
ORIGINS = st.sampled_from([0, -77, 1_700_000_000_000_000_000])
SCALES = st.one_of(
    st.sampled_from([0.01, 0.3, 0.5, 1.0, 2.0, 7.0]), st.floats(0.05, 500, allow_subnormal=False)
)
WINDOWS = st.tuples(SCALES, st.integers(-30, 120), st.integers(1, 24))


def tile(view: TraceView, row: Row, window: tuple[float, int, int]) -> RowTile:
    pixels = Pixels.of(*window, view.loaded.first_ns)
    return row_tile(Drawing(view, view.loaded, ByRowNumber(), pixels, view.loaded.rows), row)


def check_shares(shown: RowTile, plane: int, expected: dict[int, list[Fraction]]) -> None:
    """Each share is the exact one, rounded, and at least 1."""
    classes = shown.classes.tolist()
    assert set(expected) <= set(classes)
    for place, number in enumerate(classes):
        found = shown.shares[plane, place].tolist()
        exact = expected.get(number, [Fraction(0)] * len(found))
        for share, value in zip(found, exact, strict=True):
            assert (share > 0) == (value > 0)
            assert share == 1 or abs(share - value) <= Fraction(1, 2) + Fraction(1, 10**9)


def scaled(window: tuple[float, int, int], unit: int) -> tuple[float, int, int]:
    return window[0] * unit, window[1], window[2]


@settings(deadline=None, max_examples=60)
@given(SEEDS, SIZES, UNITS, ORIGINS, WINDOWS)
def test_shares_of_a_lane(
    seed: int, size: int, unit: int, origin: int, window: tuple[float, int, int]
) -> None:
    lane = shifted(a_random_lane(seed, size, unit), origin)
    row = Row("queue/0/0", RowKind.QUEUE, "queue", lanes=(lane,))
    view = a_view(row, first_ns=origin)
    window = scaled(window, unit)

    shown = tile(view, row, window)

    expected = exact_shares(drawn([lane]), pixels_of(*window, origin))
    assert shown.shares.shape == (1, len(expected), window[2])
    check_shares(shown, 0, expected)


def random_lanes(seed: int, sizes: Sequence[int], unit: int) -> list[Lane]:
    firsts = np.cumsum([0, *sizes]).tolist()
    return [
        a_random_lane(seed + number, size, unit, number % 3, first)
        for number, (size, first) in enumerate(zip(sizes, firsts, strict=False))
    ]


@settings(deadline=None, max_examples=60)
@given(SEEDS, st.lists(SIZES, min_size=2, max_size=5), UNITS, WINDOWS)
def test_shares_of_overlapping_lanes(
    seed: int, sizes: list[int], unit: int, window: tuple[float, int, int]
) -> None:
    """A queue's lanes and a GPU's members share the time that any range ran."""
    lanes = random_lanes(seed, sizes, unit)
    queue = Row("queue/0/0", RowKind.QUEUE, "queue", lanes=tuple(lanes[1:]))
    copies = Row("copies/0", RowKind.COPIES, "copies", lanes=tuple(lanes[:1]))
    gpu = Row("gpu/0", RowKind.GPU, "GPU", members=("queue/0/0", "copies/0"))
    view = a_view(gpu, queue, copies)
    window = scaled(window, unit)
    pixels = pixels_of(*window, 0)

    check_shares(tile(view, queue, window), 0, exact_shares(drawn(lanes[1:]), pixels))
    check_shares(tile(view, gpu, window), 0, exact_shares(drawn(lanes), pixels))


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.lists(SIZES, min_size=1, max_size=4), WINDOWS)
def test_nested_ranges_have_a_plane_for_each_depth(
    seed: int, sizes: list[int], window: tuple[float, int, int]
) -> None:
    lanes = random_lanes(seed, sizes, 1)
    row = Row("calls/0/1", RowKind.CALLS, "thread", lanes=tuple(lanes))

    shown = tile(a_view(row), row, window)

    assert len(shown.shares) == row.depth == 1 + max(lane.depth for lane in lanes)
    for depth in range(row.depth):
        of_depth = drawn([lane for lane in lanes if lane.depth == depth])
        check_shares(shown, depth, exact_shares(of_depth, pixels_of(*window, 0)))


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.lists(SIZES, min_size=1, max_size=4), UNITS, WINDOWS)
def test_busy_percent_of_members(
    seed: int, sizes: list[int], unit: int, window: tuple[float, int, int]
) -> None:
    lanes = random_lanes(seed, sizes, unit)
    queue = Row("queue/0/0", RowKind.QUEUE, "queue", lanes=tuple(lanes))
    busy = Row("series/busy/0", RowKind.SERIES, "busy", members=("queue/0/0",))
    window = scaled(window, unit)
    united = list(stretches(drawn(lanes)))

    end_ns = max((each.end for each in united), default=1)

    shown = tile(a_view(busy, queue, end_ns=end_ns), busy, window)

    assert shown.means is not None
    expected = [
        np.float32(100 * time_in(united, pixel) / (pixel[1] - pixel[0]))
        if pixel[0] < end_ns and pixel[1] > 0
        else np.nan  # the trace is not idle there: it has not begun, or has ended
        for pixel in pixels_of(*window, 0)
    ]
    np.testing.assert_array_equal(shown.means, expected)


@settings(deadline=None, max_examples=8)
@given(SEEDS, st.integers(2, 4), WINDOWS)
def test_a_cover_grows_with_its_trace(
    seed: int, part_count: int, window: tuple[float, int, int]
) -> None:
    """Parts come one after the other, and the last one is replaced by a shorter one."""
    parts = [
        shifted(a_random_lane(seed + number, 300, 1, 0, 300 * number), 900 * number)
        for number in range(part_count)
    ]
    pairs = [pairwise_lanes(part, number) for number, part in enumerate(parts)]
    for count in range(1, part_count + 1):
        for lanes in (
            [lane for pair in pairs[:count] for lane in pair],
            [lane for pair in pairs[: count - 1] for lane in pair] + [cut(pairs[count - 1][0])],
        ):
            gpu = Row("gpu/0", RowKind.GPU, "GPU", members=("queue/0/0",))
            queue = Row("queue/0/0", RowKind.QUEUE, "queue", lanes=tuple(lanes))
            shown = tile(a_view(gpu, queue), gpu, scaled(window, 20))

            expected = exact_shares(drawn(lanes), pixels_of(*scaled(window, 20), 0))
            check_shares(shown, 0, expected)


def pairwise_lanes(lane: Lane, number: int) -> list[Lane]:
    """The lane, and one with half of its ranges that overlaps it."""
    other = [(start + 3, start + 4) for start, after in pairwise(lane.starts.tolist())]
    distinct = [range_ for range_, after in pairwise(other) if range_[1] <= after[0]]
    return [lane, a_lane(distinct, 1, 10_000 + 300 * number)]


def cut(lane: Lane) -> Lane:
    return Lane(lane.starts[:100], lane.lengths[:100], lane.names[:100], lane.rows[:100])


def test_one_long_range_over_many_short_ones() -> None:
    """What the long one covers is not walked over; times are those of the union."""
    long = a_lane([(0, 5000)], 0, 0)
    short = a_lane([(2 * number, 2 * number + 1) for number in range(3000)], 1, 1)
    row = Row("queue/0/0", RowKind.QUEUE, "queue", lanes=(long, short))

    shown = tile(a_view(row), row, (500.0, 8, 4))

    busy = shown.shares[0].astype(int).sum(axis=0).tolist()
    assert busy == [255, 255, pytest.approx(127.5, abs=3), pytest.approx(127.5, abs=3)]
    check_shares(shown, 0, exact_shares(drawn([long, short]), pixels_of(500.0, 8, 4, 0)))


def test_ranges_behind_one_that_covers_others_of_their_lane() -> None:
    """Lanes far ahead of a walk are left out for a while, and taken up where the walk has come to."""
    quick, late = ([(at, at + 1) for at in range(*part, 2)] for part in ((0, 1200), (3000, 3200)))
    busy = a_lane([*quick, (1300, 2000), *late])
    rare = a_lane([(0, 5), (1990, 1995), (2050, 2055), (2150, 2155)], 1, 1000)
    row = Row("queue/0/0", RowKind.QUEUE, "queue", lanes=(busy, rare))

    shown = tile(a_view(row), row, (100.0, 13, 18))

    check_shares(shown, 0, exact_shares(drawn([busy, rare]), pixels_of(100.0, 13, 18, 0)))


def test_shares_say_how_much_of_a_pixel_a_class_has() -> None:
    lane = a_lane([(0, 10), (15, 20), (20, 21), (400, 1000)])
    row = Row("queue/0/0", RowKind.QUEUE, "queue", lanes=(lane,))

    shown = tile(a_view(row), row, (100.0, 0, 6))

    assert shown.classes.tolist() == [0, 1, 2, 3]
    assert shown.shares[0].tolist() == [
        [26, 0, 0, 0, 0, 0],
        [13, 0, 0, 0, 0, 0],
        [3, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 255, 255],
    ]


def test_any_time_at_all_is_seen() -> None:
    row = Row("queue/0/0", RowKind.QUEUE, "queue", lanes=(a_lane([(7, 8)]),))

    assert tile(a_view(row), row, (1e9, 0, 2)).shares[0].tolist() == [[1, 0]]


def test_rows_without_ranges_have_no_classes() -> None:
    for row in (
        Row("process/0", RowKind.GROUP, "process"),
        Row("queue/0/0", RowKind.QUEUE, "queue", lanes=(a_lane([]),)),
        Row("gpu/0", RowKind.GPU, "GPU", members=()),
    ):
        shown = tile(a_view(row), row, (1.0, 0, 8))

        assert shown.classes.tolist() == []
        assert shown.shares.shape == (1, 0, 8)
        assert len(shown.boxes) == 0
