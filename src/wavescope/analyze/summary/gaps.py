"""Idle gaps of each GPU: how many of which size, and what ran around the largest.

A gap lies between the end of an op and the start of the next one on the same GPU, with no op of any
queue running in between. The gaps of a GPU add up to its idle time exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.findings.small_gaps import small_gaps
from wavescope.analyze.findings.thresholds import DEFAULT_THRESHOLDS
from wavescope.analyze.ops.gpu_timelines import GpuTimeline, gpu_timelines
from wavescope.analyze.ops.op_labels import short_op_name
from wavescope.analyze.ops.rows_by_time import RowsByTime
from wavescope.arrays.intervals import Times, elapsed_ns
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.model.trace import Trace
from wavescope.units import duration_text

Lengths = npt.NDArray[np.uint64]

DECADES_NS = tuple(10**exponent for exponent in range(3, 10))
"""Edges between the histogram's bins: 1 us, 10 us, ... 1 s."""
_BLOCK_ROWS = 1024


@dataclass(frozen=True)
class GapOptions:
    """How many of the largest gaps to list, and what counts as a small one."""

    largest: int = 10
    small_ns: int = int(DEFAULT_THRESHOLDS.small_gap_ns)


class GapBin(NamedTuple):
    """Gaps with from_ns <= length < below_ns (None: no upper limit)."""

    from_ns: int
    below_ns: int | None
    gap_count: int
    total_ns: int


class Gap(NamedTuple):
    """One gap; `before` and `after` are rows in the trace's `ops`."""

    gpu: int
    start_ns: int
    end_ns: int
    before: int
    after: int

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


class _RawGaps(NamedTuple):
    """The gaps of one GPU in order of time."""

    starts: Times
    ends: Times

    @classmethod
    def of(cls, timeline: GpuTimeline) -> _RawGaps:
        return cls(timeline.busy.ends[:-1], timeline.busy.starts[1:])


def gpu_gaps(timelines: Sequence[GpuTimeline], options: GapOptions | None = None) -> list[GpuGaps]:
    """Counts, sums and histogram for each GPU."""
    options = options or GapOptions()
    return [_measured(timeline, _RawGaps.of(timeline), options) for timeline in timelines]


def _measured(timeline: GpuTimeline, raw: _RawGaps, options: GapOptions) -> GpuGaps:
    lengths = elapsed_ns(raw.starts, raw.ends)
    small = lengths[lengths < np.uint64(options.small_ns)]
    return GpuGaps(
        gpu=timeline.gpu,
        span_ns=int(timeline.busy.ends[-1]) - int(timeline.busy.starts[0]),
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
        raw = _RawGaps.of(timeline)
        lengths = elapsed_ns(raw.starts, raw.ends)
        longest = _largest(lengths, count)
        candidates += [
            (-int(lengths[index]), timeline.gpu, int(raw.starts[index]), int(raw.ends[index]))
            for index in longest
        ]
    neighbours = _Neighbours(trace)
    return [
        Gap(gpu, start_ns, end_ns, *neighbours.of_gap(gpu, start_ns, end_ns))
        for _, gpu, start_ns, end_ns in sorted(candidates)[: max(0, count)]
    ]


def _largest(lengths: Lengths, count: int) -> list[int]:
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
        self._by_start = RowsByTime(trace.ops["start_ns"])
        self._by_end = RowsByTime(trace.ops["end_ns"])

    def of_gap(self, gpu: int, start_ns: int, end_ns: int) -> tuple[int, int]:
        """Rows of the op that ended as the gap began and of the one that ended it."""
        return (
            self._first_of(gpu, self._by_end.at(start_ns)),
            self._first_of(gpu, self._by_start.at(end_ns)),
        )

    def _first_of(self, gpu: int, rows: Iterator[int]) -> int:
        gpus, kinds = self._trace.ops["gpu"], self._trace.op_kind
        return next(row for row in rows if gpus[row] == gpu and kinds[row] != OpKind.BARRIER)


def gaps(
    trace: Trace,
    options: GapOptions | None = None,
    *,
    timelines: Sequence[GpuTimeline] | None = None,
) -> Result:
    """Tables `gaps` (per GPU), `gap_histogram` and `largest_gaps`, and findings.

    `timelines` are those of `trace`, for callers that need them for other analyses too.
    """
    options = options or GapOptions()
    timelines = gpu_timelines(trace) if timelines is None else timelines
    measured = gpu_gaps(timelines, options)
    largest = largest_gaps(trace, timelines, options.largest)
    tables = [
        _gap_table(measured, options),
        _histogram_table(measured),
        _largest_table(trace, largest, sum(gpu.gap_count for gpu in measured)),
    ]
    return Result("Idle gaps", tables, small_gaps(measured, options.small_ns))


def _gap_table(measured: Sequence[GpuGaps], options: GapOptions) -> ResultTable:
    small = duration_text(options.small_ns)
    columns = (
        ResultColumn("gpu", "GPU", meaning="GPU number in the trace"),
        ResultColumn("gap_count", "Gaps", Unit.COUNT, "stretches without any op running"),
        ResultColumn("total_ns", "Total", Unit.NS, "all gaps added up: the idle time"),
        ResultColumn("mean_ns", "Mean", Unit.NS, "total / gaps"),
        ResultColumn("longest_ns", "Longest", Unit.NS, "the longest gap"),
        ResultColumn("small_count", f"Under {small}", Unit.COUNT, f"gaps shorter than {small}"),
        ResultColumn("small_total_ns", f"Total under {small}", Unit.NS, "these added up"),
        ResultColumn("small_span_percent", "of span %", Unit.PERCENT, "these / span of the GPU"),
    )
    rows: list[tuple[Value, ...]] = [
        (
            gpu.gpu,
            gpu.gap_count,
            gpu.total_ns,
            gpu.total_ns / gpu.gap_count if gpu.gap_count else None,
            gpu.longest_ns if gpu.gap_count else None,
            gpu.small_count,
            gpu.small_total_ns,
            100 * gpu.small_total_ns / gpu.span_ns if gpu.span_ns else None,
        )
        for gpu in measured
    ]
    return ResultTable("gaps", "Idle gaps", columns, rows)


_HISTOGRAM_COLUMNS = (
    ResultColumn("gpu", "GPU", meaning="GPU number in the trace"),
    ResultColumn("from_ns", "From", Unit.NS, "shortest gap of the bin"),
    ResultColumn(
        "below_ns", "Below", Unit.NS, "all gaps of the bin are shorter; none for the last"
    ),
    ResultColumn("gap_count", "Gaps", Unit.COUNT, "gaps of that length"),
    ResultColumn("total_ns", "Total", Unit.NS, "these added up"),
    ResultColumn("idle_percent", "of idle %", Unit.PERCENT, "total / idle time of the GPU"),
)


def _histogram_table(measured: Sequence[GpuGaps]) -> ResultTable:
    rows: list[tuple[Value, ...]] = [
        (
            gpu.gpu,
            row.from_ns,
            row.below_ns,
            row.gap_count,
            row.total_ns,
            100 * row.total_ns / gpu.total_ns,
        )
        for gpu in measured
        for row in gpu.bins
        if row.gap_count
    ]
    return ResultTable("gap_histogram", "Gaps by length", _HISTOGRAM_COLUMNS, rows)


_LARGEST_COLUMNS = (
    ResultColumn("gpu", "GPU", meaning="GPU number in the trace"),
    ResultColumn("start_ns", "Start", Unit.TIME, "end of the op before"),
    ResultColumn("end_ns", "End", Unit.TIME, "start of the op after"),
    ResultColumn("duration_ns", "Length", Unit.NS, "end - start"),
    ResultColumn("before", "Op before", Unit.NAME, "op that ended as the gap began"),
    ResultColumn("after", "Op after", Unit.NAME, "op that ended the gap"),
)


def _largest_table(trace: Trace, largest: Sequence[Gap], gap_count: int) -> ResultTable:
    rows: list[tuple[Value, ...]] = [
        (
            gap.gpu,
            gap.start_ns,
            gap.end_ns,
            gap.duration_ns,
            short_op_name(trace, gap.before),
            short_op_name(trace, gap.after),
        )
        for gap in largest
    ]
    return ResultTable("largest_gaps", "Largest gaps", _LARGEST_COLUMNS, rows, gap_count)
