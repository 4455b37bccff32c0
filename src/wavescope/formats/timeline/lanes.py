"""Lanes: slices that overlap on one track are placed side by side, on further tracks."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wavescope.formats.timeline.tracks import TrackLayout
from wavescope.native import columns_library

if TYPE_CHECKING:
    from wavescope.formats.timeline.writer import TimelineWriter

NESTED_LANES = 32
"""On so many lanes a slice is looked for a place inside another one; further lanes are flat."""
Int64s = npt.NDArray[np.int64]


class Lanes:
    """Assigns lanes per track; `nested` also allows a slice inside the one open on its lane.

    Rows come in order of their start over all calls (nested: of equal starts the longest first).
    """

    def __init__(self, *, nested: bool) -> None:
        self._library = columns_library()
        self._handle = self._library.wavescope_lanes_open(nested)
        if not self._handle:
            raise MemoryError
        weakref.finalize(self, self._library.wavescope_lanes_close, self._handle)

    def assign(
        self,
        tracks: npt.NDArray[np.int32],
        start_ns: npt.NDArray[np.int64],
        end_ns: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.int32]:
        """The lane of each row, counted from 0 on each track."""
        lanes = np.empty(len(tracks), np.int32)
        if self._library.wavescope_lanes_assign(
            self._handle, len(tracks), tracks, start_ns, end_ns, lanes
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
