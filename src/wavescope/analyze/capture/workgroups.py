"""Which workgroup a traced wave belongs to, by the occupancy rows of its place."""

from __future__ import annotations

import numpy as np

from wavescope.model.capture import Integers, ThreadTrace

UNKNOWN = -1


def workgroup_of_wave(trace: ThreadTrace) -> Integers:
    """By wave the workgroup that its slot held when it began, -1 where the files do not tell."""
    waves, rows = trace.waves, trace.occupancy
    if not len(waves) or not (rows.workgroup >= 0).any():
        return np.full(len(waves), UNKNOWN, np.int64)
    places = np.concatenate(
        [
            np.stack([each.shader_engine, each.cu, each.simd, each.slot], axis=1)
            for each in (rows, waves)
        ]
    )
    _, place = np.unique(places, axis=0, return_inverse=True)
    place = place.reshape(-1)
    time = np.concatenate([rows.time, waves.begin])
    kind = np.concatenate([rows.is_start.astype(np.int8), np.full(len(waves), 2, np.int8)])
    held = np.concatenate(
        [np.where(rows.is_start, rows.workgroup, UNKNOWN), np.full(len(waves), UNKNOWN)]
    )
    order = np.lexsort((kind, time, place))  # of one time: an end, the next start, the wave
    is_row = kind[order] < 2
    last = np.maximum.accumulate(np.where(is_row, np.arange(len(order)), -1))
    before = order[np.maximum(last, 0)]
    known = (last >= 0) & (place[before] == place[order])
    found = np.empty(len(order), np.int64)
    found[order] = np.where(known, held[before], UNKNOWN)
    return found[len(rows) :]
