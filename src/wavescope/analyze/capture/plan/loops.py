"""The loops of a kernel: where a wave jumped back to what it had executed before."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.model.capture import Flags, Integers, Rows, Waves

_MOST_LOOPS = 1_000
_CALL = re.compile(r"s_(swappc|setpc|call|rfe)")


class Loop(NamedTuple):
    """Rows `first` to `last`, both of them in the loop, and how often waves went round."""

    first: int
    last: int
    rounds: int

    def __contains__(self, row: object) -> bool:
        return isinstance(row, int) and self.first <= row <= self.last


def find_loops(analysis: CaptureAnalysis) -> list[Loop]:
    """Every loop that a wave repeated, the shortest first.

    A jump back is one only if the wave had been there before: compilers put blocks in any order,
    and calls and returns jump back to code that repeats nothing.
    """
    waves = analysis.waves
    if waves.event_count < 2:
        return []
    rows = waves.row
    jumps = (rows[1:] <= rows[:-1]) & (rows[1:] >= 0)
    jumps[waves.event_offsets[1:-1][_inside(waves)] - 1] = False
    back = np.flatnonzero(jumps)
    back = back[~_is_call(analysis)[rows[back]]]
    back = back[_was_there_before(waves, back + 1)]
    edges, counts = np.unique(
        np.stack([rows[back + 1], rows[back]], axis=1), axis=0, return_counts=True
    )
    found = [
        Loop(int(first), int(last), int(count))
        for (first, last), count in zip(edges.tolist(), counts.tolist(), strict=True)
    ]
    return sorted(found, key=lambda loop: loop.last - loop.first)[:_MOST_LOOPS]


def innermost_loop(loops: list[Loop], row_count: int) -> Rows:
    """For each row the index of the shortest loop around it, -1 outside of all."""
    inside = np.full(row_count, -1, np.int32)
    for index in range(len(loops) - 1, -1, -1):
        inside[loops[index].first : loops[index].last + 1] = index
    return inside


def _inside(waves: Waves) -> Flags:
    """Which boundaries between waves have an event on both sides."""
    bounds = waves.event_offsets[1:-1]
    inside: Flags = (bounds > 0) & (bounds < waves.event_count)
    return inside


def _is_call(analysis: CaptureAnalysis) -> Flags:
    """By row whether it calls or returns; row -1, which no instruction is, takes the last."""
    instructions = analysis.instructions
    calls = [bool(_CALL.match(mnemonic)) for mnemonic in instructions.mnemonics]
    return np.append(np.array(calls, np.bool_)[instructions.mnemonic_code], False)


def _was_there_before(waves: Waves, events: Integers) -> Flags:
    """Whether the wave of each event had executed the event's row before."""
    targets = np.zeros(int(waves.row.max(initial=0)) + 2, np.bool_)
    targets[waves.row[events]] = True
    candidates = np.flatnonzero(targets[waves.row])
    visit = waves.wave_of_event[candidates].astype(np.int64) * len(targets) + waves.row[candidates]
    _, first = np.unique(visit, return_index=True)
    is_first = np.zeros(waves.event_count, np.bool_)
    is_first[candidates[first]] = True
    return ~is_first[events]
