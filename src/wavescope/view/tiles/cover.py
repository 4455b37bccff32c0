"""How much time the ranges of several lanes cover together."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from ctypes import Array, byref

import numpy as np
import numpy.typing as npt

from wavescope.native import Int64, LaneColumns, Uint64, columns_library
from wavescope.view.lanes import Lane, Times
from wavescope.view.tiles.lane_sums import sums_of
from wavescope.view.tiles.pixels import Pixels

_ROOM = 1 << 16


class Cover:
    """The covered time before some moments, which lie so close that little is left to walk.

    Of a trace that is being read only what is new is walked over.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._begins: dict[weakref.ref[Lane], int] = {}
        self._moments: Times = np.empty(0, np.int64)
        self._before: npt.NDArray[np.uint64] = np.empty(0, np.uint64)

    def times(self, lanes: Sequence[Lane], pixels: Pixels) -> npt.NDArray[np.uint64]:
        """How long ranges of any of the lanes ran in each stretch between the pixels' edges."""
        sums = [sums_of(lane) for lane in lanes]
        columns = (LaneColumns * len(sums))(*(each.columns for each in sums))
        with self._turn:
            begins = {weakref.ref(lane): lane.begins_ns for lane in lanes}
            if begins != self._begins:
                self._walk(columns, begins)
            moments, before = self._moments, self._before
        times = np.zeros(pixels.stretch_count, np.uint64)
        if columns_library().wavescope_cover_times(
            columns,
            len(columns),
            moments,
            before,
            len(moments),
            pixels.edges,
            pixels.stretch_count,
            times,
        ):
            raise MemoryError
        return times

    def _walk(self, columns: Array[LaneColumns], begins: dict[weakref.ref[Lane], int]) -> None:
        """Find the moments from the first lane on that is new or gone."""
        first = min(begins.values(), default=0)
        changed = min((at for _, at in begins.items() ^ self._begins.items()), default=first)
        kept = int(np.searchsorted(self._moments, changed))
        if kept:
            # The walk goes on from the last moment that is kept, which it stores again.
            start, covered = int(self._moments[kept - 1]), int(self._before[kept - 1])
            parts = [(self._moments[: kept - 1], self._before[: kept - 1])]
        else:
            start, covered, parts = first, 0, []
        at, already = Int64(start), Uint64(covered)
        stored = _ROOM
        while stored == _ROOM:
            moments, before = np.empty(_ROOM, np.int64), np.empty(_ROOM, np.uint64)
            stored = columns_library().wavescope_cover_moments(
                columns, len(columns), byref(at), byref(already), _ROOM, moments, before
            )
            if stored < 0:
                raise MemoryError
            parts.append((moments[:stored], before[:stored]))
        self._moments = np.concatenate([part[0] for part in parts])
        self._before = np.concatenate([part[1] for part in parts])
        self._begins = begins


_kept: weakref.WeakKeyDictionary[Lane, dict[str, Cover]] = weakref.WeakKeyDictionary()
_turn = threading.Lock()


def cover_of(purpose: str, lanes: Sequence[Lane]) -> Cover:
    """The cover that a row keeps for its lanes, as long as the first of them is kept."""
    first = min(lanes, key=lambda lane: lane.begins_ns)
    with _turn:
        return _kept.setdefault(first, {}).setdefault(purpose, Cover())
