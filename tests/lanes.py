"""Lanes, rows and a colouring for tests of what the viewer draws."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tests.builders import a_trace
from tests.reference.lane_pixels import Drawn
from wavescope.view.lanes import Lane
from wavescope.view.opening import Loaded, TraceView
from wavescope.view.rows import Row

CLASS_COUNT = 5


@dataclass(frozen=True)
class ByRowNumber:
    """Colours ranges by what their row in the trace leaves when divided."""

    id: str = "row number"
    title: str = "Row number"
    class_count: int = CLASS_COUNT

    def labels(self, view: TraceView) -> tuple[str, ...]:
        return tuple(map(str, range(self.class_count)))

    def classes(self, view: TraceView, row: Row, lane: Lane) -> npt.NDArray[np.uint8]:
        return (lane.rows % self.class_count).astype(np.uint8)


def a_lane(ranges: Sequence[tuple[int, int]], depth: int = 0, first_row: int = 0) -> Lane:
    """A lane of the ranges (start, end), whose rows and names count up."""
    lengths = [end - start for start, end in ranges]
    rows = np.arange(first_row, first_row + len(ranges))
    return Lane(
        np.array([start for start, _ in ranges], np.int64),
        np.array(lengths, np.uint64 if max(lengths, default=0) >> 32 else np.uint32),
        (rows + 1000).astype(np.int32),
        rows.astype(np.uint32),
        depth,
    )


def a_random_lane(seed: int, count: int, unit: int, depth: int = 0, first_row: int = 0) -> Lane:
    """Ranges with and without gaps, some without length, times in multiples of about `unit`."""
    chance = random.Random(seed)
    at = chance.randrange(-3, 10) * unit
    ranges = []
    for _ in range(count):
        at += chance.choice((0, 0, 1, 2, 9)) * unit + chance.randrange(2)
        length = chance.choice((0, 1, 1, 2, 5, 30)) * unit + chance.randrange(2)
        ranges.append((at, at + length))
        at += length
    return a_lane(ranges, depth, first_row)


def shifted(lane: Lane, by_ns: int) -> Lane:
    return Lane(lane.starts + by_ns, lane.lengths, lane.names, lane.rows, lane.depth)


def drawn(lanes: Sequence[Lane]) -> list[Drawn]:
    """The ranges of lanes with the classes that `ByRowNumber` gives them."""
    return [
        Drawn(start, start + length, row % CLASS_COUNT)
        for lane in lanes
        for start, length, row in zip(
            lane.starts.tolist(), lane.lengths.tolist(), lane.rows.tolist(), strict=True
        )
    ]


def a_view(*rows: Row, first_ns: int = 0, end_ns: int = 1000) -> TraceView:
    """A view with these rows of a trace without ops."""
    loaded = Loaded(version=7, rows=rows, first_ns=first_ns, end_ns=end_ns, is_whole=True)
    return TraceView(0, "test", a_trace().build(), loaded)
