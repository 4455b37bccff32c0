"""The track of every slice, with further tracks declared where slices overlap."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.formats.timeline.lanes import Lanes
from wavescope.formats.timeline.tracks import TrackLayout
from wavescope.formats.timeline.writer import TimelineWriter

Int64s = npt.NDArray[np.int64]


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
