"""The pixels of a tile: whole nanoseconds of the trace, the same wherever a window begins."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.errors import UsageError
from wavescope.view.lanes import Lane, Times

MOST_PIXELS = 4096
_FARTHEST = 2.0**53
"""Pixels and scales beyond are not whole numbers of the page any more."""
_BOUND = 1 << 62


@dataclass(frozen=True)
class Pixels:
    """Pixel k of a scale is [floor(k * scale), floor((k + 1) * scale)), but at least 1 ns wide."""

    edges: Times
    """Each once, in order, as times of the trace."""
    left: npt.NDArray[np.intp]
    right: npt.NDArray[np.intp]
    """For each pixel the numbers of its two edges."""
    scale: float
    origin_ns: int
    """Where pixel number 0 begins."""

    @classmethod
    def of(cls, scale: float, first: int, count: int, origin_ns: int) -> Pixels:
        """`count` pixels from number `first` on; number 0 begins at `origin_ns`."""
        if not (math.isfinite(scale) and 0 < scale <= _FARTHEST):
            raise UsageError("the scale must be more than 0 ns for a pixel")
        if not 1 <= count <= MOST_PIXELS:
            raise UsageError(f"a tile has 1 to {MOST_PIXELS} pixels")
        if abs(first) > _FARTHEST:
            raise UsageError(f"there is no pixel {first}")
        if not -(1 << 63) <= origin_ns < 1 << 63:
            raise UsageError("the offset is too large")
        numbers = np.arange(first, first + count + 1).astype(np.float64)
        bounds = np.clip(np.floor(numbers * scale), -_BOUND, _BOUND).astype(np.int64)
        farthest = (1 << 63) - 2
        bounds = np.clip(
            bounds, max(-_BOUND, -farthest - origin_ns), min(_BOUND, farthest - origin_ns)
        )
        starts = bounds[:-1] + origin_ns
        ends = np.maximum(bounds[1:] + origin_ns, starts + 1)
        if np.array_equal(ends[:-1], starts[1:]):
            left = np.arange(count)
            return cls(np.append(starts, ends[-1]), left, left + 1, scale, origin_ns)
        edges = np.unique(np.concatenate((starts, ends)))
        left, right = np.searchsorted(edges, starts), np.searchsorted(edges, ends)
        return cls(edges, left, right, scale, origin_ns)

    def __len__(self) -> int:
        return len(self.left)

    @property
    def stretch_count(self) -> int:
        """How many stretches lie between edges; pixels narrower than 1 ns share one."""
        return len(self.edges) - 1

    @property
    def first_ns(self) -> int:
        return int(self.edges[0])

    @property
    def end_ns(self) -> int:
        return int(self.edges[-1])

    @property
    def widths(self) -> npt.NDArray[np.float64]:
        """In ns."""
        return (self.edges[self.right] - self.edges[self.left]).astype(np.float64)

    def within(self, start_ns: int, end_ns: int) -> npt.NDArray[np.bool_]:
        """Which pixels have anything of [start_ns, end_ns)."""
        return (self.edges[self.left] < end_ns) & (self.edges[self.right] > start_ns)

    def meet(self, lane: Lane) -> bool:
        """Whether a lane that has ranges may have some in the pixels; those at an edge count."""
        return lane.begins_ns < self.end_ns and lane.ends_ns >= self.first_ns

    def summed(self, times: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
        """Times in stretches, which are the last dimension, as times in pixels."""
        if self.stretch_count == len(self):
            return times.astype(np.float64)
        before = np.zeros((*times.shape[:-1], self.stretch_count + 1), np.uint64)
        np.cumsum(times, axis=-1, out=before[..., 1:])
        return (before[..., self.right] - before[..., self.left]).astype(np.float64)
