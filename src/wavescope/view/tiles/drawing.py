"""What is asked for at once: pixels of a trace at one moment, in one colouring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.view.colouring import ViewColouring
from wavescope.view.lanes import Lane
from wavescope.view.opening import Loaded, TraceView
from wavescope.view.rows import Row
from wavescope.view.tiles.lane_sums import ClassSums, sums_of
from wavescope.view.tiles.pixels import Pixels


class RowLane(NamedTuple):
    """A lane, and the row that it is of."""

    row: Row
    lane: Lane


class LaneTimes(NamedTuple):
    """Times in ns of the classes that occur in a lane: [class][stretch between edges]."""

    classes: npt.NDArray[np.uint8]
    times: npt.NDArray[np.uint64]


class Drawing:
    """Some rows in some pixels. Lanes that several of the rows show are looked at once."""

    def __init__(
        self,
        view: TraceView,
        loaded: Loaded,
        colouring: ViewColouring,
        pixels: Pixels,
        rows: Iterable[Row] = (),
    ) -> None:
        self.loaded = loaded
        self.pixels = pixels
        self._view = view
        self._colouring = colouring
        self._key = (colouring.id, colouring.labels(view))
        uses = Counter(member.lane for row in rows for member in self.members(row))
        self._shared = {lane for lane, count in uses.items() if count > 1}
        self._times: dict[Lane, LaneTimes] = {}

    def members(self, row: Row) -> Iterator[RowLane]:
        """The lanes that a row shows: its own, or those of its members."""
        rows = (self.loaded.row_by_id[each] for each in row.members) if row.members else (row,)
        return (RowLane(each, lane) for each in rows for lane in each.lanes if len(lane))

    def class_sums(self, member: RowLane) -> ClassSums:
        """The lane's sums; made anew when the colouring has found other classes."""
        return sums_of(member.lane).class_sums(
            self._key,
            lambda: np.ascontiguousarray(
                self._colouring.classes(self._view, member.row, member.lane), np.uint8
            ),
        )

    def class_times(self, member: RowLane) -> LaneTimes:
        """How long ranges of the lane ran."""
        found = self._times.get(member.lane)
        if found is None:
            sums = self.class_sums(member)
            times = np.zeros((len(sums.occurring), self.pixels.stretch_count), np.uint64)
            sums_of(member.lane).add_class_times(sums, self.pixels, times)
            found = LaneTimes(sums.occurring, times)
            if member.lane in self._shared:
                self._times[member.lane] = found
        return found
