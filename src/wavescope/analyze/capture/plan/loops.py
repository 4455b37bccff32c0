"""Loops of a kernel: where waves jumped back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wavescope.model.capture import Flags, Rows, Waves

_MOST_LOOPS = 1_000


class Loop(NamedTuple):
    """Rows `first` to `last`, both of them in the loop, and how often waves went round."""

    first: int
    last: int
    rounds: int

    def __contains__(self, row: object) -> bool:
        return isinstance(row, int) and self.first <= row <= self.last


def find_loops(waves: Waves) -> list[Loop]:
    """Every loop that a wave repeated, the shortest first."""
    if waves.event_count < 2:
        return []
    rows = waves.row
    jumps = (rows[1:] <= rows[:-1]) & (rows[1:] >= 0)
    jumps[waves.event_offsets[1:-1][_inside(waves)] - 1] = False
    back = np.flatnonzero(jumps)
    edges, counts = np.unique(
        np.stack([rows[back + 1], rows[back]], axis=1), axis=0, return_counts=True
    )
    found = [
        Loop(int(first), int(last), int(count))
        for (first, last), count in zip(edges.tolist(), counts.tolist(), strict=True)
    ]
    return sorted(found, key=lambda loop: loop.last - loop.first)[:_MOST_LOOPS]


def _inside(waves: Waves) -> Flags:
    """Which boundaries between waves have an event on both sides."""
    bounds = waves.event_offsets[1:-1]
    inside: Flags = (bounds > 0) & (bounds < waves.event_count)
    return inside


def innermost_loop(loops: list[Loop], row_count: int) -> Rows:
    """For each row the index of the shortest loop around it, -1 outside of all."""
    inside = np.full(row_count, -1, np.int32)
    for index in range(len(loops) - 1, -1, -1):
        inside[loops[index].first : loops[index].last + 1] = index
    return inside
