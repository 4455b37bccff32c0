"""Lanes: slices that overlap on one track are placed side by side, on further tracks."""

from __future__ import annotations

import heapq
import weakref
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wavescope.formats.timeline.encoder_library import address, encoder_library
from wavescope.formats.timeline.tracks import TrackLayout

if TYPE_CHECKING:
    from wavescope.formats.timeline.writer import TimelineWriter

NESTED_LANES = 32
"""On so many lanes a slice is looked for a place inside another one; further lanes are flat."""
Int64s = npt.NDArray[np.int64]


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
    """Assigns lanes per track; `nested` also allows a slice inside the one open on its lane.

    Rows come in order of their start over all calls (nested: of equal starts the longest first).
    """

    def __init__(self, *, nested: bool) -> None:
        self._kind = _NestedLanes if nested else _FlatLanes
        self._tracks: dict[int, _NestedLanes | _FlatLanes] = {}
        self._native = encoder_library()
        if self._native is not None:
            self._handle = self._native.wavescope_lanes_open(int(nested))
            if not self._handle:
                raise MemoryError
            weakref.finalize(self, self._native.wavescope_lanes_close, self._handle)

    def assign(
        self,
        tracks: npt.NDArray[np.int32],
        start_ns: npt.NDArray[np.int64],
        end_ns: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.int32]:
        """The lane of each row, counted from 0 on each track."""
        lanes = np.empty(len(tracks), np.int32)
        if self._native is None:
            rows = zip(tracks.tolist(), start_ns.tolist(), end_ns.tolist(), strict=True)
            for row, (track, start, end) in enumerate(rows):
                if track not in self._tracks:
                    self._tracks[track] = self._kind()
                lanes[row] = self._tracks[track].place(start, end)
        elif self._native.wavescope_lanes_assign(
            self._handle,
            len(tracks),
            address(tracks),
            address(start_ns),
            address(end_ns),
            address(lanes),
        ):
            raise MemoryError
        return lanes


class LaneTracks:
    """Assigns slices to tracks and their lanes; `nested` as in `Lanes`."""

    def __init__(self, layout: TrackLayout, writer: TimelineWriter, *, nested: bool) -> None:
        self._layout = layout
        self._writer = writer
        self._lanes = Lanes(nested=nested)
        self._indexes: dict[int, int] = {}

    def assign(self, tracks: Int64s, start_ns: Int64s, end_ns: Int64s) -> Int64s:
        """The track index of each slice, which is its own track's as long as nothing overlaps."""
        lanes = self._lanes.assign(tracks.astype(np.int32), start_ns, end_ns)
        beside = np.flatnonzero(lanes)
        if not len(beside):
            return tracks
        keys, which = np.unique(tracks[beside] << 32 | lanes[beside], return_inverse=True)
        indexes = np.array([self._index(key) for key in keys.tolist()], np.int64)
        assigned = tracks.copy()
        assigned[beside] = indexes[which]
        return assigned

    def _index(self, key: int) -> int:
        if key not in self._indexes:
            track = self._layout.tracks[key >> 32]
            lane = self._layout.lane_track(track, key & 0xFFFF_FFFF)
            self._writer.track(lane)
            self._indexes[key] = lane.index
        return self._indexes[key]
