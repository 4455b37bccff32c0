"""What is made of each lane once: sums over its blocks, for itself and for each colouring."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.native import LaneColumns, columns_library, pointer
from wavescope.view.lanes import Lane
from wavescope.view.tiles.pixels import Pixels

BLOCK = 256
"""WAVESCOPE_LANE_BLOCK of lane_pixels.h."""
MOST_COLOURINGS = 2
"""Whose sums a lane keeps; each takes a byte for every range and a little for every block."""

Classes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]


class ClassSums(NamedTuple):
    """A lane in the classes of one colouring."""

    classes: Classes
    """Of each range."""
    occurring: Classes
    """Each class that occurs, in order; those are the columns of `sums`."""
    columns: npt.NDArray[np.uint8]
    """The column of each class."""
    sums: npt.NDArray[np.uint64]
    """[block][column]: the time in all ranges before the block."""


class LaneSums:
    """The sums of one lane. It does not hold the lane, only its columns."""

    def __init__(self, lane: Lane) -> None:
        self.starts = np.ascontiguousarray(lane.starts)
        self.lengths = np.ascontiguousarray(lane.lengths)
        self._turn = threading.Lock()
        self._of_colouring: OrderedDict[Hashable, ClassSums] = OrderedDict()
        block_count = -(-len(self.starts) // BLOCK)
        self._block_starts = np.empty(block_count, np.int64)
        self._longest = np.empty(block_count, np.uint64)
        self._has_instant = np.empty(block_count, np.uint8)
        self.columns = LaneColumns(
            pointer(self.starts, np.int64),
            pointer(self.lengths, self.lengths.dtype),
            len(self.starts),
            self.lengths.itemsize,
            pointer(self._block_starts, np.int64),
        )
        unusable = columns_library().wavescope_lane_blocks(
            self.columns, self._block_starts, self._longest, self._has_instant
        )
        if unusable:
            raise TypeError(f"lengths are of 4 or 8 bytes, not {self.lengths.itemsize}")

    def class_sums(self, colouring: Hashable, classes: Callable[[], Classes]) -> ClassSums:
        """The sums for a colouring, for which `classes` gives the class of each range."""
        with self._turn:
            found = self._of_colouring.get(colouring)
            if found is None:
                found = self._of_colouring[colouring] = self._summed(classes())
                if len(self._of_colouring) > MOST_COLOURINGS:
                    self._of_colouring.popitem(last=False)
            self._of_colouring.move_to_end(colouring)
            return found

    def add_class_times(
        self, sums: ClassSums, pixels: Pixels, times: npt.NDArray[np.uint64]
    ) -> None:
        """Add to times[column][stretch] how long ranges of each class ran."""
        columns_library().wavescope_class_times(
            self.columns,
            sums.classes,
            sums.columns,
            len(sums.occurring),
            sums.sums,
            pixels.edges,
            pixels.stretch_count,
            times,
        )

    def drawn_one_by_one(self, pixels: Pixels, shortest_ns: int) -> Places:
        """Ranges of at least `shortest_ns`, and the first instant of each pixel, in order."""
        library = columns_library()
        # Ranges of three pixels do not overlap, and two may reach beyond the edges.
        wide = np.empty(len(pixels) // 3 + 3, np.int64)
        wide_count = library.wavescope_wide_ranges(
            self.columns,
            self._longest,
            pixels.first_ns,
            pixels.end_ns,
            shortest_ns,
            len(wide),
            wide,
        )
        instants = np.empty(pixels.stretch_count, np.int64)
        instant_count = library.wavescope_first_instants(
            self.columns, self._has_instant, pixels.edges, pixels.stretch_count, instants
        )
        if not instant_count:
            return wide[:wide_count]
        return np.sort(np.concatenate((wide[:wide_count], instants[:instant_count])))

    def _summed(self, classes: Classes) -> ClassSums:
        if len(classes) != len(self.starts):
            raise ValueError(f"{len(classes)} classes for {len(self.starts)} ranges")
        library = columns_library()
        seen = np.zeros(256, np.uint8)
        library.wavescope_seen_bytes(classes, len(classes), seen)
        occurring = np.flatnonzero(seen).astype(np.uint8)
        columns = np.zeros(256, np.uint8)
        columns[occurring] = np.arange(len(occurring))
        sums = np.empty((len(self._block_starts) + 1, len(occurring)), np.uint64)
        library.wavescope_class_sums(self.columns, classes, columns, len(occurring), sums)
        return ClassSums(classes, occurring, columns, sums)


_kept: weakref.WeakKeyDictionary[Lane, LaneSums] = weakref.WeakKeyDictionary()
_turn = threading.Lock()


def sums_of(lane: Lane) -> LaneSums:
    """The sums of a lane that has ranges, made once and kept as long as the lane is."""
    with _turn:
        found = _kept.get(lane)
    if found is None:
        made = LaneSums(lane)
        with _turn:
            found = _kept.setdefault(lane, made)
    return found
