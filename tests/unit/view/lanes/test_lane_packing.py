"""Ranges get the lanes that a plain walk gives them, at once or part by part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wavescope.view.lanes import GrowingLanes, Lane, Packing, Ranges, packed_lanes
from wavescope.view.lanes.packing import MOST_LANES, joined_lanes


class Range(NamedTuple):
    start: int
    end: int


def ranges_of(rows: list[Range], first_row: int = 0) -> Ranges:
    numbers = np.arange(first_row, first_row + len(rows))
    return Ranges(
        np.array([row.start for row in rows], np.int64),
        np.array([row.end for row in rows], np.int64),
        (numbers * 3).astype(np.int32),
        numbers.astype(np.uint32),
    )


def walked(rows: list[Range], packing: Packing) -> dict[int, set[int]]:
    """For each depth the numbers of its ranges, found by looking at all that are open."""
    nested = packing is Packing.BELOW_OPEN
    order = sorted(
        range(len(rows)), key=lambda n: (rows[n].start, -rows[n].end if nested else 0, n)
    )
    found: dict[int, set[int]] = {}
    for number in order:
        start = rows[number].start
        taken = {
            depth
            for depth, members in found.items()
            if any(max(rows[member].end, rows[member].start) > start for member in members)
        }
        first_free = min(set(range(len(taken) + 1)) - taken)
        depth = max(taken, default=-1) + 1 if nested else first_free
        if depth < MOST_LANES:
            found.setdefault(depth, set()).add(number)
    return found


def held(lanes: tuple[Lane, ...]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for lane in lanes:
        found.setdefault(lane.depth, set()).update(lane.rows.tolist())
    return found


def check_lane(lane: Lane, rows: list[Range]) -> None:
    """Nothing overlaps, and every range is still the one that it was."""
    ends = lane.starts + lane.lengths.astype(np.int64)
    assert np.all(ends[:-1] <= lane.starts[1:])
    for start, end, name, row in zip(
        lane.starts.tolist(), ends.tolist(), lane.names.tolist(), lane.rows.tolist(), strict=True
    ):
        assert (start, end, name) == (rows[row].start, max(rows[row][:2]), row * 3)


RANGE = st.tuples(st.integers(0, 60), st.integers(-2, 25)).map(lambda r: Range(r[0], sum(r)))
RANGES = st.lists(RANGE, max_size=25)
PACKINGS = st.sampled_from(list(Packing))


@given(RANGES, PACKINGS)
def test_lanes_are_those_of_a_plain_walk(rows: list[Range], packing: Packing) -> None:
    packed = packed_lanes(ranges_of(rows), packing)

    assert held(packed.lanes) == walked(rows, packing)
    assert packed.left_out_count == 0
    for lane in packed.lanes:
        check_lane(lane, rows)


@settings(deadline=None, max_examples=60)
@given(st.lists(RANGES, max_size=4), PACKINGS, st.sampled_from([-200, 0, 4096]))
@example([[Range(0, 0)] * 4, [Range(0, 1)]], Packing.BELOW_OPEN, -200)
@example([[Range(0, 1), Range(5, 6)], [Range(5, 9)]], Packing.BELOW_OPEN, 4096)
def test_parts_give_the_lanes_of_the_whole(
    parts: list[list[Range]], packing: Packing, patience: int
) -> None:
    growing = GrowingLanes(packing, patience)
    rows: list[Range] = []
    for part in parts:
        growing.add(ranges_of(part, len(rows)))
        rows += part

    whole = growing.whole()

    assert held(whole) == held(packed_lanes(ranges_of(rows), packing).lanes)
    assert len({lane.depth for lane in whole}) == len(whole)
    for lane in whole:
        check_lane(lane, rows)


def test_a_part_from_far_back_waits_on_the_side() -> None:
    """A function that spans the run is often the last to be recorded."""
    growing = GrowingLanes(Packing.BELOW_OPEN)
    inner = [Range(10 * number, 10 * number + 10) for number in range(5000)]
    growing.add(ranges_of(inner))

    growing.add(ranges_of([Range(0, 50_000)], 5000))

    assert [(lane.depth, len(lane)) for lane in growing.lanes()] == [(0, 5000), (0, 1)]
    assert [(lane.depth, len(lane)) for lane in growing.whole()] == [(0, 1), (1, 5000)]


def test_enough_on_the_side_is_packed_with_the_rest() -> None:
    growing = GrowingLanes(Packing.FIRST_FREE)
    growing.add(ranges_of([Range(number, number + 1) for number in range(10_000)]))

    growing.add(ranges_of([Range(number, number + 1) for number in range(1400)], 10_000))
    before = [(lane.depth, len(lane)) for lane in growing.lanes()]
    growing.add(ranges_of([Range(number, number + 1) for number in range(1400)], 11_400))

    assert before == [(0, 10_000), (0, 1400)]
    assert [(lane.depth, len(lane)) for lane in growing.lanes()] == [
        (0, 10_000),
        (1, 1400),
        (2, 1400),
    ]


def test_parts_that_stay_are_the_same_objects() -> None:
    growing = GrowingLanes(Packing.FIRST_FREE)
    for part in range(2):
        first = 1000 * part
        rows = [Range(first + number, first + number + 1) for number in range(1000 - 900 * part)]
        growing.add(ranges_of(rows))
    kept = growing.lanes()[0]

    growing.add(ranges_of([Range(1200, 1300)]))

    assert growing.lanes()[0] is kept
    assert [len(lane) for lane in growing.lanes()] == [1000, 100, 1]


def test_ranges_beyond_the_deepest_lane_are_counted() -> None:
    rows = [Range(number, 1000) for number in range(MOST_LANES + 3)]
    for packing in Packing:
        packed = packed_lanes(ranges_of(rows), packing)

        assert [lane.depth for lane in packed.lanes] == list(range(MOST_LANES))
        assert packed.left_out_count == 3


@pytest.mark.parametrize(
    ("length_ns", "kind"), [(0, np.uint32), (2**32 - 1, np.uint32), (2**32, np.uint64)]
)
def test_lengths_are_narrow_where_all_fit(length_ns: int, kind: type) -> None:
    packed = packed_lanes(ranges_of([Range(-5, length_ns - 5)]), Packing.FIRST_FREE)

    (lane,) = packed.lanes
    assert lane.lengths.dtype == kind
    assert lane.lengths.tolist() == [length_ns]


def test_the_longest_range_there_is() -> None:
    least, most = -(2**63), 2**63 - 1

    (lane,) = packed_lanes(ranges_of([Range(least, most)]), Packing.BELOW_OPEN).lanes

    assert lane.lengths.tolist() == [2**64 - 1]


def test_lanes_that_follow_each_other_are_laid_end_to_end() -> None:
    first, second = (
        packed_lanes(ranges_of(rows), Packing.FIRST_FREE).lanes[0]
        for rows in ([Range(0, 4)], [Range(4, 2**33), Range(2**33, 2**33)])
    )

    (lane,) = joined_lanes([second, first], Packing.FIRST_FREE).lanes

    assert lane.starts.tolist() == [0, 4, 2**33]
    assert lane.lengths.tolist() == [4, 2**33 - 4, 0]


def test_no_ranges_need_no_lane() -> None:
    assert packed_lanes(ranges_of([]), Packing.FIRST_FREE) == ((), 0)
    assert GrowingLanes(Packing.BELOW_OPEN).whole() == ()
