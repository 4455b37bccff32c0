"""The idle gaps of each GPU as arrays, each with the op that ended it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.gpu_timelines import GpuTimeline
from wavescope.analyze.ops.rows_by_time import RowsByTime
from wavescope.arrays import Array
from wavescope.arrays.intervals import Times, is_sorted, lengths_ns
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace

_FEW_GAPS = 2_000


@dataclass(frozen=True)
class IdleGaps:
    """Gaps of one GPU in the order of time; there may be as many as ops, so little is kept."""

    gpu: int
    after: Array
    """The row of the op that began as the gap ended."""
    lengths_ns: Array
    """In 32 bits if all fit."""

    def __len__(self) -> int:
        return len(self.after)


class LongGaps(NamedTuple):
    """Some gaps of one GPU."""

    gpu: int
    starts: Times
    ends: Times
    after: Array

    @property
    def lengths_ns(self) -> Times:
        lengths: Times = self.ends - self.starts
        return lengths


def longest_gaps(trace: Trace, gaps: IdleGaps, count: int) -> LongGaps:
    """The longest gaps, the longest of all first; of equal ones the earlier first."""
    lengths = gaps.lengths_ns
    candidates: npt.NDArray[np.intp] = np.arange(len(gaps))
    if count < len(gaps):
        # Sorted, for a partition of few different lengths takes many times as long.
        candidates = np.flatnonzero(lengths >= np.sort(lengths)[-count])
    chosen_lengths = lengths[candidates].astype(np.int64)
    order = np.argsort(-chosen_lengths, kind="stable")[:count]
    after = gaps.after[candidates[order]]
    ends = trace.ops["start_ns"][after]
    return LongGaps(gaps.gpu, ends - chosen_lengths[order], ends, after)


def idle_gaps(trace: Trace, timelines: Sequence[GpuTimeline], least_ns: int) -> list[IdleGaps]:
    """The gaps of at least `least_ns` of every GPU."""
    by_start = RowsByTime(trace.ops["start_ns"])
    return [_gaps_of_gpu(trace, by_start, timeline, least_ns) for timeline in timelines]


def _gaps_of_gpu(
    trace: Trace, by_start: RowsByTime, timeline: GpuTimeline, least_ns: int
) -> IdleGaps:
    starts, ends = timeline.busy.ends[:-1], timeline.busy.starts[1:]
    chosen = ends - starts >= least_ns
    if np.count_nonzero(chosen) <= _FEW_GAPS:
        starts, ends = starts[chosen], ends[chosen]
        after = _rows_of_few(trace, by_start, timeline.gpu, ends)
        return IdleGaps(timeline.gpu, after, ends - starts)
    after, lengths = _rows_after_all(trace, timeline.gpu), lengths_ns(starts, ends)
    if chosen.all():
        return IdleGaps(timeline.gpu, after, lengths)
    return IdleGaps(timeline.gpu, after[chosen], lengths[chosen])


def _rows_of_few(trace: Trace, by_start: RowsByTime, gpu: int, times: Times) -> Array:
    """As `_rows_after_all`, one after the other: a few are found without a pass over all ops."""
    op_gpus, kinds = trace.ops["gpu"], trace.op_kind
    return np.array(
        [
            next(
                row
                for row in by_start.at(time)
                if op_gpus[row] == gpu and kinds[row] != OpKind.BARRIER
            )
            for time in times.tolist()
        ],
        np.int64,
    )


def _rows_after_all(trace: Trace, gpu: int) -> Array:
    """For each gap of a GPU, however short, the first row of an op (no barrier) that ended it.

    That is an op which starts when all that started before it have ended.
    """
    rows = np.flatnonzero((trace.ops["gpu"] == gpu) & (trace.op_kind != OpKind.BARRIER))
    rows = rows.astype(np.int32 if len(trace.ops) < 1 << 31 else np.int64)
    starts = trace.ops["start_ns"][rows]
    if not is_sorted(starts):
        order = np.argsort(starts, kind="stable")
        rows, starts = rows[order], starts[order]
    busy_until = np.maximum.accumulate(trace.ops["end_ns"][rows])
    after: Array = rows[1:][starts[1:] > busy_until[:-1]]
    return after
