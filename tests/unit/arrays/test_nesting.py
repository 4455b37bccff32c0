from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.arrays.nesting import containing_range, flatten, nest

WIDTH = 16
LOWEST, HIGHEST = -(2**63), 2**63 - 1

Range = tuple[int, int, int]

ranges_in_lanes = st.lists(
    st.tuples(st.integers(0, WIDTH), st.integers(0, WIDTH), st.integers(0, 2)).map(
        lambda row: (min(row[:2]), max(row[:2]), row[2])
    ),
    max_size=14,
)


def columns(ranges: list[Range]) -> tuple[list[int], list[int], list[int]]:
    return [row[0] for row in ranges], [row[1] for row in ranges], [row[2] for row in ranges]


def opening_key(ranges: list[Range], row: int) -> tuple[int, int, int]:
    start, end, _ = ranges[row]
    return start, -end, row


def expected_parent(ranges: list[Range], row: int) -> int:
    start, end, lane = ranges[row]
    candidates = [
        other
        for other, (other_start, other_end, other_lane) in enumerate(ranges)
        if other_lane == lane
        and opening_key(ranges, other) < opening_key(ranges, row)
        and set(range(start, max(end, start + 1))) <= set(range(other_start, other_end))
    ]
    return max(candidates, key=lambda other: opening_key(ranges, other), default=-1)


def expected_innermost(ranges: list[Range], time: int, lane: int) -> int:
    candidates = [
        row
        for row, (start, end, other) in enumerate(ranges)
        if other == lane and start <= time < end
    ]
    return max(candidates, key=lambda row: opening_key(ranges, row), default=-1)


def test_a_call_stack_becomes_a_tree() -> None:
    ranges = [(0, 100, 1), (10, 40, 1), (10, 20, 1), (50, 90, 1), (0, 60, 2), (90, 100, 1)]

    nesting = nest(*columns(ranges))

    assert nesting.parent.tolist() == [-1, 0, 1, 0, -1, 0]
    assert nesting.depth.tolist() == [0, 1, 2, 1, 0, 1]


@pytest.mark.parametrize(
    ("name", "ranges", "parents"),
    [
        ("crossing ranges are siblings", [(0, 10), (5, 15)], [-1, -1]),
        ("a range in two crossing ones joins the later", [(0, 10), (5, 15), (6, 8)], [-1, -1, 1]),
        ("equal ranges nest by row", [(3, 9), (3, 9), (3, 9)], [-1, 0, 1]),
        ("same start: the longer contains", [(3, 4), (3, 9)], [1, -1]),
        ("same end: the earlier contains", [(5, 9), (3, 9)], [1, -1]),
        ("touching ranges are apart", [(0, 5), (5, 9)], [-1, -1]),
        ("an instant inside", [(0, 5), (3, 3)], [-1, 0]),
        ("an instant at the start", [(3, 3), (3, 5)], [1, -1]),
        ("an instant at the end is outside", [(0, 5), (5, 5)], [-1, -1]),
        ("equal instants are siblings", [(5, 5), (5, 5)], [-1, -1]),
        ("an instant contains no instant", [(0, 9), (5, 5), (5, 5)], [-1, 0, 0]),
        ("1 ns holds an instant", [(5, 5), (5, 6)], [1, -1]),
        (
            "the edges of int64",
            [(LOWEST, HIGHEST), (HIGHEST, HIGHEST), (LOWEST, LOWEST)],
            [-1, -1, 0],
        ),
    ],
)
def test_parents_of_unusual_ranges(
    name: str, ranges: list[tuple[int, int]], parents: list[int]
) -> None:
    starts, ends = [start for start, _ in ranges], [end for _, end in ranges]

    assert nest(starts, ends).parent.tolist() == parents, name


def test_flatten_gives_every_stretch_to_its_innermost_range() -> None:
    flat = flatten([0, 10, 12, 50, 5, 70], [60, 40, 20, 80, 5, 75])

    assert list(
        zip(flat.starts.tolist(), flat.ends.tolist(), flat.ranges.tolist(), strict=True)
    ) == [
        (0, 10, 0),
        (10, 12, 1),
        (12, 20, 2),
        (20, 40, 1),
        (40, 50, 0),
        (50, 70, 3),
        (70, 75, 5),
        (75, 80, 3),
    ]
    assert flat.range_at([-1, 0, 15, 49, 50, 79, 80]).tolist() == [-1, 0, 2, 0, 3, 3, -1]


def test_lanes_do_not_see_each_other() -> None:
    starts, ends, lanes = [0, 0, 10], [10, 20, 30], [7, -4, 7]

    flat = flatten(starts, ends, lanes)

    assert flat.lanes.tolist() == [-4, 7, 7]
    assert flat.range_at([15, 15, 15, 5, -9, 99], [7, -4, 0, 7, 7, 7]).tolist() == [
        2,
        1,
        -1,
        0,
        -1,
        -1,
    ]
    assert containing_range([15, 5], starts, ends, lanes=lanes, time_lanes=[-4, 7]).tolist() == [
        1,
        0,
    ]


def test_lanes_far_apart_in_time_need_no_common_axis() -> None:
    flat = flatten([LOWEST, 0, 5, 8], [0, HIGHEST, 6, 9], [1, 2, 2, 1])

    times = [LOWEST, -1, 0, 4, 5, 8, 8, HIGHEST, 7]
    lanes = [1, 1, 1, 2, 2, 1, 2, 2, 3]
    assert flat.range_at(times, lanes).tolist() == [0, 0, -1, 1, 2, 3, 1, -1, -1]


def test_nothing_nested_in_nothing() -> None:
    assert nest([], []).parent.tolist() == []
    assert flatten([], []).starts.tolist() == []
    assert flatten([4], [4]).range_at([4]).tolist() == [-1]
    assert containing_range([], [0], [5]).tolist() == []
    assert nest([3], [4]).depth.tolist() == [0]


def test_columns_must_belong_together() -> None:
    with pytest.raises(ValueError, match="1 lanes for 2 rows"):
        nest([0, 1], [1, 2], [0])
    with pytest.raises(ValueError, match="row 0 ends before it starts"):
        flatten([5], [4])


def test_a_very_deep_stack_is_walked_without_recursion() -> None:
    levels = np.arange(50_000)

    nesting = nest(levels, 200_000 - levels)

    assert nesting.parent.tolist() == (levels - 1).tolist()
    assert nesting.depth.tolist() == levels.tolist()
    assert flatten(levels, 200_000 - levels).starts.size == 2 * levels.size - 1


@given(ranges_in_lanes)
def test_parents_and_depths_agree_with_the_definition(ranges: list[Range]) -> None:
    nesting = nest(*columns(ranges))

    assert nesting.parent.tolist() == [expected_parent(ranges, row) for row in range(len(ranges))]
    for row, parent in enumerate(nesting.parent.tolist()):
        assert nesting.depth[row] == (0 if parent < 0 else nesting.depth[parent] + 1)


@given(ranges_in_lanes)
def test_innermost_ranges_agree_with_the_definition(ranges: list[Range]) -> None:
    flat = flatten(*columns(ranges))
    times = np.tile(np.arange(-1, WIDTH + 2), 4)
    lanes = np.repeat(np.arange(4), WIDTH + 3)

    expected = [expected_innermost(ranges, t, lane) for t, lane in zip(times, lanes, strict=True)]
    assert flat.range_at(times, lanes).tolist() == expected


@given(ranges_in_lanes)
def test_many_times_in_order_find_the_ranges_of_one_lane(ranges: list[Range]) -> None:
    ranges = [(start, end, 1) for start, end, _ in ranges]
    flat = flatten(*columns(ranges))
    times = np.repeat(np.arange(-1, WIDTH + 2), 4)
    lanes = np.tile(np.arange(4), WIDTH + 3)

    expected = [expected_innermost(ranges, t, lane) for t, lane in zip(times, lanes, strict=True)]
    assert flat.range_at(times, lanes).tolist() == expected


@given(ranges_in_lanes)
def test_segments_are_disjoint_sorted_and_maximal(ranges: list[Range]) -> None:
    flat = flatten(*columns(ranges))

    assert np.all(flat.starts < flat.ends)
    same_lane = flat.lanes[1:] == flat.lanes[:-1]
    assert np.all(flat.lanes[1:] >= flat.lanes[:-1])
    assert np.all(flat.starts[1:][same_lane] >= flat.ends[:-1][same_lane])
    touching = same_lane & (flat.starts[1:] == flat.ends[:-1])
    assert np.all(flat.ranges[1:][touching] != flat.ranges[:-1][touching])


@given(ranges_in_lanes, st.randoms(use_true_random=False))
def test_the_order_of_distinct_rows_does_not_matter(ranges: list[Range], random) -> None:
    distinct = list(dict.fromkeys(ranges))
    shuffled = random.sample(distinct, len(distinct))
    before, after = nest(*columns(distinct)), nest(*columns(shuffled))

    for row, place in enumerate(map(shuffled.index, distinct)):
        parent, moved_parent = before.parent[row], after.parent[place]
        assert (parent < 0) == (moved_parent < 0)
        assert parent < 0 or distinct[parent] == shuffled[moved_parent]
