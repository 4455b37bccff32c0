"""Ranges of three pixels and more are drawn one by one, and an instant of each pixel."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lanes import ByRowNumber, a_lane, a_random_lane, a_view, shifted
from tests.reference.lane_pixels import pixels_of
from wavescope.view.lanes import Lane
from wavescope.view.rows import Row, RowKind
from wavescope.view.tiles.boxes import Boxes
from wavescope.view.tiles.drawing import Drawing
from wavescope.view.tiles.pixels import Pixels
from wavescope.view.tiles.row_tile import row_tile


def boxes_of(row: Row, window: tuple[float, int, int], first_ns: int = 0) -> Boxes:
    view = a_view(row, first_ns=first_ns)
    pixels = Pixels.of(*window, first_ns)
    return row_tile(Drawing(view, view.loaded, ByRowNumber(), pixels), row).boxes


def rows_of(boxes: Boxes) -> list[int]:
    return boxes.row.tolist()


def expected_rows(lane: Lane, window: tuple[float, int, int], first_ns: int) -> list[int]:
    pixels = pixels_of(*window, first_ns)
    taken: set[tuple[int, int]] = set()
    found = []
    for start, length, row in zip(
        lane.starts.tolist(), lane.lengths.tolist(), lane.rows.tolist(), strict=True
    ):
        is_seen = start < pixels[-1][1] and start + length > pixels[0][0]
        if length and length >= 3 * window[0] and is_seen:
            found.append(row)
        elif not length and (inside := [p for p in pixels if p[0] <= start < p[1]]):
            if not taken.issuperset(inside):
                found.append(row)
            taken.update(inside)
    return found


@settings(deadline=None, max_examples=80)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0, 1, 40, 256, 257, 600]),
    st.sampled_from([1, 2**33]),
    st.sampled_from([0, 1_700_000_000_000_000_000]),
    st.tuples(
        st.one_of(st.sampled_from([0.1, 0.34, 1.0, 2.0]), st.floats(0.05, 30)),
        st.integers(-30, 120),
        st.integers(1, 60),
    ),
)
def test_boxes_are_those_of_a_look_at_every_range(
    seed: int, size: int, unit: int, origin: int, window: tuple[float, int, int]
) -> None:
    lane = shifted(a_random_lane(seed, size, unit), origin)
    row = Row("queue/0/0", RowKind.QUEUE, "queue", lanes=(lane,))
    window = (window[0] * unit, window[1], window[2])

    assert rows_of(boxes_of(row, window, origin)) == expected_rows(lane, window, origin)


def test_a_box_says_which_range_it_is() -> None:
    lane = a_lane([(1000, 1400), (1400, 1401), (1500, 2**40)], depth=2, first_row=6)
    row = Row("calls/0/1", RowKind.CALLS, "thread", lanes=(lane,))

    boxes = boxes_of(row, (100.0, 0, 6), first_ns=1000)

    assert boxes.depth.tolist() == [2, 2]
    assert boxes.start.tolist() == [0, 500]
    assert boxes.duration.tolist() == [400, 2**40 - 1500]
    assert boxes.name.tolist() == [1006, 1008]
    assert boxes.row.tolist() == [6, 8]
    assert boxes.class_.tolist() == [1, 3]


def test_boxes_are_ordered_by_depth_and_start() -> None:
    lanes = (
        a_lane([(50, 90)], depth=1, first_row=0),
        a_lane([(60, 90)], depth=0, first_row=1),
        a_lane([(0, 40)], depth=0, first_row=2),
        a_lane([(10, 40)], depth=1, first_row=3),
    )
    row = Row("queue/0/0", RowKind.QUEUE, "queue", lanes=lanes)

    assert rows_of(boxes_of(row, (1.0, 0, 100))) == [2, 1, 3, 0]


def test_an_instant_comes_before_the_range_that_starts_with_it() -> None:
    row = Row("queue/0/0", RowKind.QUEUE, "queue", lanes=(a_lane([(5, 5), (5, 9), (9, 9)]),))

    assert rows_of(boxes_of(row, (1.0, 0, 20))) == [0, 1, 2]
    assert rows_of(boxes_of(row, (1.0, 9, 20))) == [2]
    assert rows_of(boxes_of(row, (1.0, 10, 20))) == []


def test_zoomed_in_every_range_is_a_box() -> None:
    lane = a_random_lane(3, 200, 1)
    row = Row("queue/0/0", RowKind.QUEUE, "queue", lanes=(lane,))
    end_ns = lane.ends_ns
    found: set[int] = set()

    scale = 0.3
    for first in range(math.floor(lane.begins_ns / scale) - 4, math.ceil(end_ns / scale) + 4, 512):
        found.update(rows_of(boxes_of(row, (scale, first, 512))))

    with_length = lane.rows[lane.lengths > 0]
    assert found.issuperset(with_length.tolist())
    assert found <= set(lane.rows.tolist())


def test_many_instants_are_one_for_each_pixel() -> None:
    instants = a_lane([(number, number) for number in range(2000)])
    row = Row("markers/0/1", RowKind.MARKERS, "thread", lanes=(instants,))

    assert rows_of(boxes_of(row, (500.0, -1, 8))) == [0, 500, 1000, 1500]


def test_gpus_leave_boxes_to_their_queues() -> None:
    queue = Row("queue/0/0", RowKind.QUEUE, "queue", lanes=(a_lane([(0, 100)]),))
    gpu = Row("gpu/0", RowKind.GPU, "GPU", members=("queue/0/0",))
    view = a_view(gpu, queue)
    drawing = Drawing(view, view.loaded, ByRowNumber(), Pixels.of(1.0, 0, 100, 0), (gpu, queue))

    assert len(row_tile(drawing, gpu).boxes) == 0
    assert len(row_tile(drawing, queue).boxes) == 1
    assert np.all(row_tile(drawing, gpu).shares == 255)
