"""The union of several runs of intervals, each run sorted: without sorting them together.

A run is a pair of columns (starts, ends) of which neither ever decreases and no start lies behind
the end beside it. Starts and ends of any rows, each sorted on its own, are such a run, and cover
the same time as the rows do (see `model.intervals`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from wavescope.arrays.intervals import (
    Times,
    sorted_times,
    stretches_of_sorted,
    union_length_of_sorted_ns,
)
from wavescope.native.library import columns_library

Run = tuple[Times, Times]

_RUNS_AT_ONCE = 16
_NO_TIMES = np.empty(0, np.int64)


class _NativeRun(ctypes.Structure):
    """WavescopeIntervalRun."""

    _fields_ = (
        ("starts", ctypes.c_void_p),
        ("ends", ctypes.c_void_p),
        ("count", ctypes.c_int64),
    )


def stretches_of_runs(runs: Sequence[Run]) -> Run:
    """Where gapless stretches of all runs together begin and end; itself a run.

    A row without length that touches no other makes a stretch without length.
    """
    filled = [run for run in runs if run[0].size]
    # Each step of the native walk looks at all its runs: many are joined in several rounds.
    while len(filled) > _RUNS_AT_ONCE:
        filled = [
            _joined(filled[first : first + _RUNS_AT_ONCE])
            for first in range(0, len(filled), _RUNS_AT_ONCE)
        ]
    return _joined(filled)


def covered_ns(run: Run) -> int:
    """How much time the intervals of one run cover together."""
    library = columns_library()
    if library is None or not run[0].size:
        return union_length_of_sorted_ns(*run)
    starts, ends = (np.ascontiguousarray(column) for column in run)
    library.wavescope_uncovered_ns.restype = ctypes.c_uint64
    uncovered = library.wavescope_uncovered_ns(
        ctypes.c_void_p(starts.ctypes.data),
        ctypes.c_void_p(ends.ctypes.data),
        ctypes.c_int64(starts.size),
    )
    return int(ends[-1]) - int(starts[0]) - int(uncovered)


def _joined(runs: Sequence[Run]) -> Run:
    if len(runs) == 1 and bool(np.all(runs[0][0][1:] > runs[0][1][:-1])):
        return runs[0]  # not even copied: it may be all ops of a GPU
    return _natively_joined(runs) or stretches_of_sorted(
        sorted_times(np.concatenate([_NO_TIMES, *(starts for starts, _ in runs)])),
        sorted_times(np.concatenate([_NO_TIMES, *(ends for _, ends in runs)])),
    )


def _natively_joined(runs: Sequence[Run]) -> Run | None:
    library = columns_library()
    if library is None:
        return None
    columns = [(np.ascontiguousarray(starts), np.ascontiguousarray(ends)) for starts, ends in runs]
    described = [
        _NativeRun(starts.ctypes.data, ends.ctypes.data, starts.size) for starts, ends in columns
    ]
    room = sum(starts.size for starts, _ in runs)
    firsts, lasts = np.empty(room, np.int64), np.empty(room, np.int64)
    library.wavescope_union_of_runs.restype = ctypes.c_int64
    count = library.wavescope_union_of_runs(
        (_NativeRun * len(described))(*described),
        ctypes.c_int32(len(described)),
        ctypes.c_void_p(firsts.ctypes.data),
        ctypes.c_void_p(lasts.ctypes.data),
    )
    if count < 0:
        return None
    if 2 * count > room:
        return firsts[:count], lasts[:count]
    # Copied, since there are usually few: a view would keep all the room.
    return firsts[:count].copy(), lasts[:count].copy()
