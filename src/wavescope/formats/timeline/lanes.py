"""Lanes: slices that overlap on one track are placed side by side."""

from __future__ import annotations

import weakref

import numpy as np
import numpy.typing as npt

from wavescope.native import columns_library

NESTED_LANES = 32
"""On so many lanes a slice is looked for a place inside another one; further lanes are flat."""


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
