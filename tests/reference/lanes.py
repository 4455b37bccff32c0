"""Lanes, slice by slice; see native/trace_encoder/lanes.cpp."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from wavescope.formats.timeline.tracks import NESTED_LANES


class _FlatLanes:
    """Gives each slice the lowest lane that is free at its start."""

    def __init__(self) -> None:
        self._busy: list[tuple[int, int]] = []
        self._free: list[int] = []
        self._lane_count = 0

    def place(self, start_ns: int, end_ns: int) -> int:
        while self._busy and self._busy[0][0] <= start_ns:
            heapq.heappush(self._free, heapq.heappop(self._busy)[1])
        if self._free:
            lane = heapq.heappop(self._free)
        else:
            lane = self._lane_count
            self._lane_count += 1
        heapq.heappush(self._busy, (end_ns, lane))
        return lane


class _NestedLanes:
    """Gives each slice the lowest lane on which it crosses nothing."""

    def __init__(self) -> None:
        self._open_ends: list[list[int]] = []
        self._beyond = _FlatLanes()

    def place(self, start_ns: int, end_ns: int) -> int:
        for lane in range(NESTED_LANES):
            if lane == len(self._open_ends):
                self._open_ends.append([])
            open_ends = self._open_ends[lane]
            while open_ends and open_ends[-1] <= start_ns:
                open_ends.pop()
            if not open_ends or open_ends[-1] >= end_ns:
                open_ends.append(end_ns)
                return lane
        return NESTED_LANES + self._beyond.place(start_ns, end_ns)


class Lanes:
    """What `timeline.lanes.Lanes` does."""

    def __init__(self, *, nested: bool) -> None:
        self._kind = _NestedLanes if nested else _FlatLanes
        self._tracks: dict[int, _NestedLanes | _FlatLanes] = {}

    def assign(
        self,
        tracks: npt.NDArray[np.int32],
        start_ns: npt.NDArray[np.int64],
        end_ns: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.int32]:
        """The lane of each row, counted from 0 on each track."""
        lanes = np.empty(len(tracks), np.int32)
        rows = zip(tracks.tolist(), start_ns.tolist(), end_ns.tolist(), strict=True)
        for row, (track, start, end) in enumerate(rows):
            if track not in self._tracks:
                self._tracks[track] = self._kind()
            lanes[row] = self._tracks[track].place(start, end)
        return lanes
