"""Idle gaps of each GPU: how many of which size, what ended them, what ran around the largest.

A gap lies between the end of an op and the start of the next one on the same GPU, with no op of any
queue running in between. The gaps of a GPU add up to its idle time exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.busy_timelines import busy_timelines
from wavescope.analyze.ops.gpu_timelines import GpuTimeline
from wavescope.analyze.ops.op_links import rows_of_ids
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import blocks
from wavescope.arrays.intervals import Times, elapsed_ns, is_sorted, lengths_ns
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace

_TIME_BLOCK_ROWS = 1 << 14


class RowsByTime:
    """The rows of a column by their time; only blocks whose range holds the time are looked at."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._blocks = [
            (rows, int(times[rows].min()), int(times[rows].max()))
            for rows in blocks(len(times), _TIME_BLOCK_ROWS)
        ]

    def at(self, time_ns: int) -> Iterator[int]:
        """The rows with exactly that time, in ascending order."""
        for rows, lowest, highest in self._blocks:
            if lowest <= time_ns <= highest:
                for row in np.flatnonzero(self._times[rows] == time_ns).tolist():
                    yield rows.start + row


Lengths = npt.NDArray[np.uint64]


DECADES_NS = tuple(10**exponent for exponent in range(3, 10))
"""Edges between the histogram's bins: 1 us, 10 us, ... 1 s."""


_BLOCK_ROWS = 1024


def _rows_by_start(trace: Trace) -> RowsByTime:
    return RowsByTime(trace.ops["start_ns"])


class GapBin(NamedTuple):
    """Gaps with from_ns <= length < below_ns (None: no upper limit)."""

    from_ns: int
    below_ns: int | None
    gap_count: int
    total_ns: int


class Gap(NamedTuple):
    """One gap; `before` and `after` are rows in the trace's `ops`.

    They are None where a selection cuts the gap: then no op ended or began there.
    """

    gpu: int
    start_ns: int
    end_ns: int
    before: int | None
    after: int | None

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns


class GpuGaps(NamedTuple):
    """All gaps of one GPU in numbers."""

    gpu: int
    span_ns: int
    gap_count: int
    total_ns: int
    longest_ns: int
    small_count: int
    small_total_ns: int
    bins: tuple[GapBin, ...]


def gpu_gaps(timelines: Sequence[GpuTimeline], small_ns: int) -> list[GpuGaps]:
    """Counts, sums and histogram for each GPU; gaps under `small_ns` are counted apart."""
    return [_measured(timeline, small_ns) for timeline in timelines]


def _measured(timeline: GpuTimeline, small_ns: int) -> GpuGaps:
    lengths = elapsed_ns(*timeline.gaps)
    small = lengths[lengths < np.uint64(small_ns)]
    return GpuGaps(
        gpu=timeline.gpu,
        span_ns=timeline.span_ns,
        gap_count=int(lengths.size),
        total_ns=int(lengths.sum()),
        longest_ns=int(lengths.max(initial=0)),
        small_count=int(small.size),
        small_total_ns=int(small.sum()),
        bins=tuple(_bins(lengths)),
    )


def _bins(lengths: Lengths) -> Iterator[GapBin]:
    from_ns, remaining, remaining_ns = 0, lengths, int(lengths.sum())
    # Most gaps are short, so that each pass over the longer ones has less to do.
    for below_ns in DECADES_NS:
        longer = remaining[remaining >= np.uint64(below_ns)]
        longer_ns = int(longer.sum())
        yield GapBin(from_ns, below_ns, remaining.size - longer.size, remaining_ns - longer_ns)
        from_ns, remaining, remaining_ns = below_ns, longer, longer_ns
    yield GapBin(from_ns, None, remaining.size, remaining_ns)


def largest_gaps(trace: Trace, timelines: Sequence[GpuTimeline], count: int) -> list[Gap]:
    """The `count` longest gaps of all GPUs, longest first; equal ones by GPU and time."""
    candidates = []
    for timeline in timelines:
        starts, ends = timeline.gaps
        lengths = elapsed_ns(starts, ends)
        longest = longest_of(lengths, count)
        candidates += [
            (-int(lengths[index]), timeline.gpu, int(starts[index]), int(ends[index]))
            for index in longest
        ]
    neighbours = _Neighbours(trace)
    return [
        Gap(gpu, start_ns, end_ns, *neighbours.of_gap(gpu, start_ns, end_ns))
        for _, gpu, start_ns, end_ns in sorted(candidates)[: max(0, count)]
    ]


def longest_of(lengths: Lengths, count: int) -> list[int]:
    """Positions of the `count` largest, of equal ones the first."""
    if count <= 0 or not lengths.size:
        return []
    # The largest of each block bound the result from below, and few others reach that bound.
    block_largest = np.maximum.reduceat(lengths, np.arange(0, lengths.size, _BLOCK_ROWS))
    kept = min(count, block_largest.size)
    bound = np.partition(block_largest, -kept)[-kept] if kept == count else np.uint64(0)
    candidates = np.flatnonzero(lengths >= bound)
    order = np.argsort(~lengths[candidates], kind="stable")
    largest: list[int] = candidates[order[:count]].tolist()
    return largest


class _Neighbours:
    """Finds the ops around gaps."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._by_start = trace.derived(_rows_by_start)
        self._by_end = RowsByTime(trace.ops["end_ns"])

    def of_gap(self, gpu: int, start_ns: int, end_ns: int) -> tuple[int | None, int | None]:
        """Rows of the op that ended as the gap began and of the one that ended it."""
        return (
            self._first_of(gpu, self._by_end.at(start_ns)),
            self._first_of(gpu, self._by_start.at(end_ns)),
        )

    def _first_of(self, gpu: int, rows: Iterator[int]) -> int | None:
        gpus, kinds = self._trace.ops["gpu"], self._trace.op_kind
        found = (row for row in rows if gpus[row] == gpu and kinds[row] != OpKind.BARRIER)
        return next(found, None)


_FEW_GAPS = 2_000


@dataclass(frozen=True)
class GpuIdle:
    """All gaps of one GPU in the order of time."""

    trace: Trace
    """The whole trace, of which `after` are rows."""
    gpu: int
    starts: Times
    ends: Times
    is_cut: bool
    """Whether a selection cut gaps, so that not every one ends with an op, or some are unknown."""

    @cached_property
    def after(self) -> Array:
        """The row of the op that began as the gap ended, or where it was cut, of the next."""
        if not self.is_cut:
            return _rows_after_all(self.trace, self.gpu)
        rows, starts = _rows_by_start_on(self.trace, self.gpu)
        places = np.searchsorted(starts, self.ends)
        return rows[np.minimum(places, len(rows) - 1)]


def every_gap(trace: Trace) -> list[GpuIdle]:
    """The gaps of every GPU, however short."""
    is_cut = trace.part_of is not None
    return [
        GpuIdle(trace.whole, timeline.gpu, *timeline.gaps, is_cut or timeline.sampled is not None)
        for timeline in trace.derived(busy_timelines)
    ]


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


def idle_gaps(trace: Trace, timelines: Sequence[GpuTimeline], least_ns: int) -> list[IdleGaps]:
    """The gaps of at least `least_ns` of every GPU."""
    by_start = trace.derived(_rows_by_start)
    return [_gaps_of_gpu(trace, by_start, timeline, least_ns) for timeline in timelines]


def gaps_before_selected(trace: Trace, least_ns: int) -> list[IdleGaps]:
    """Of a selected trace the gaps of at least `least_ns` that end with one of its ops."""
    ids, whole_ids = trace.ops["id"], trace.whole.ops["id"]
    found = []
    for idle in trace.derived(every_gap):
        lengths = elapsed_ns(idle.starts, idle.ends)
        rows, is_selected = rows_of_ids(ids, whole_ids[idle.after])
        is_selected &= trace.whole.ops["start_ns"][idle.after] == idle.ends
        chosen = is_selected & (lengths >= np.uint64(least_ns))
        found.append(IdleGaps(idle.gpu, rows[chosen], lengths[chosen].astype(np.int64)))
    return found


def _gaps_of_gpu(
    trace: Trace, by_start: RowsByTime, timeline: GpuTimeline, least_ns: int
) -> IdleGaps:
    starts, ends = timeline.gaps
    chosen = ends - starts >= least_ns
    if np.count_nonzero(chosen) <= _FEW_GAPS:
        starts, ends = starts[chosen], ends[chosen]
        after = _rows_of_few(trace, by_start, timeline.gpu, ends)
        return IdleGaps(timeline.gpu, after, ends - starts)
    lengths = lengths_ns(starts, ends)
    if timeline.sampled is None:
        after = _rows_after_all(trace, timeline.gpu)
    else:
        rows, row_starts = _rows_by_start_on(trace, timeline.gpu)
        after = rows[np.searchsorted(row_starts, ends)]
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
    rows, starts = _rows_by_start_on(trace, gpu)
    busy_until = np.maximum.accumulate(trace.ops["end_ns"][rows])
    after: Array = rows[1:][starts[1:] > busy_until[:-1]]
    return after


def _rows_by_start_on(trace: Trace, gpu: int) -> tuple[Array, Times]:
    """The rows of all ops of a GPU but barriers in order of their starts, and these."""
    rows = np.flatnonzero((trace.ops["gpu"] == gpu) & (trace.op_kind != OpKind.BARRIER))
    rows = rows.astype(np.int32 if len(trace.ops) < 1 << 31 else np.int64)
    starts = trace.ops["start_ns"][rows]
    if not is_sorted(starts):
        order = np.argsort(starts, kind="stable")
        rows, starts = rows[order], starts[order]
    return rows, starts
