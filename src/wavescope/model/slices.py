"""Slices of a recording: the times at which every kernel was recorded.

A process that was recorded in slices always has one, if only an empty one: without any it would
look like a process whose every kernel was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavescope.arrays import Array
from wavescope.arrays.intervals import Intervals
from wavescope.model.columns import SLICES
from wavescope.model.source import Batch, Derivation, full_batch
from wavescope.model.trace import TraceTable


def slice_rows(
    process: int,
    starts_ns: Array,
    ends_ns: Array,
    window: tuple[int, int] | None = None,
    ranges: Intervals | None = None,
) -> Batch:
    """Rows of one process, in order and apart: what of its slices is in `window` and `ranges`."""
    if window is not None:
        starts_ns, ends_ns = starts_ns.clip(*window), ends_ns.clip(*window)
    kept = Intervals.from_pairs(starts_ns, ends_ns)
    kept = kept if ranges is None else kept.intersect(ranges)
    firsts, lasts = (kept.starts, kept.ends) if len(kept) else (starts_ns[:1], starts_ns[:1])
    given = {"process": np.full(len(firsts), process), "start_ns": firsts, "end_ns": lasts}
    return full_batch(SLICES, given, None)


def cut_slices(slices: TraceTable, window: tuple[int, int], ranges: Intervals | None) -> TraceTable:
    """`slices` of a part of a trace, which is about `window` and, if there are any, `ranges`."""
    slices.load(*SLICES.column_names)
    parts = [full_batch(SLICES, {}, None)]
    for process in np.unique(slices["process"]).tolist():
        mine = slices["process"] == process
        starts_ns, ends_ns = slices["start_ns"][mine], slices["end_ns"][mine]
        parts.append(slice_rows(process, starts_ns, ends_ns, window, ranges))
    cut = {name: np.concatenate([part[name] for part in parts]) for name in SLICES.column_names}

    def load(names: Sequence[str], derive: Derivation | None) -> Batch:
        return derive(cut) if derive else {name: cut[name] for name in names}

    return TraceTable(SLICES, load, slices.string_table, lambda handles: [""] * len(handles))
