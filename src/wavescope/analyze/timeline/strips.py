"""The timeline of a report: strips of bins for every GPU and queue, the longest ops one by one.

A strip tells for each bin of the time axis which share of it every class of ops took. Level of
detail: bins are as fine as a given number of them allows, and coarser levels follow from them by
adding; of single ops the longest are kept, so that a reader who zooms in finds names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.busy_timelines import busy_timelines
from wavescope.analyze.ops.coverage import recorded
from wavescope.analyze.ops.gpu_timelines import GpuTimeline, SortedOps
from wavescope.analyze.ops.utilization import gpu_utilizations
from wavescope.analyze.timeline.time_bins import BinTimes, TimeGrid, coarser, time_in_bins
from wavescope.arrays.coded_columns import code_counts, looked_up
from wavescope.arrays.groups import grouped_rows
from wavescope.arrays.intervals import Intervals, Times, stretches_of_sorted
from wavescope.arrays.nesting import nest
from wavescope.model.columns import QUEUES
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace

Numbers = npt.NDArray[np.int64]

DEEPEST = 6
"""Rows of a lane; ranges that are nested deeper are not drawn."""
MOST_LANES = 32
FULL = 100
"""A bin's share when the whole bin is taken: shares are percents."""


class MarkerLane(NamedTuple):
    """One thread that set markers."""

    process: int
    thread: int
    depth: int


class MarkerLanes(NamedTuple):
    """The ranges by lane and start; times count from the timeline's first nanosecond."""

    lanes: list[MarkerLane]
    lane: npt.NDArray[np.uint16]
    depth: npt.NDArray[np.uint8]
    start_ns: Numbers
    duration_ns: Numbers
    name: npt.NDArray[np.int32]
    """Codes in the trace's strings."""
    left_out_count: int


def marker_lanes(trace: Trace, first_ns: int, last_ns: int, most: int) -> MarkerLanes:
    """The longest `most` ranges that touch [first_ns, last_ns), cut to it."""
    markers = trace.markers
    markers.load("start_ns", "end_ns", "process", "thread", "name")
    starts, ends = markers["start_ns"], markers["end_ns"]
    inside = np.flatnonzero((starts < last_ns) & (ends > first_ns) & (starts < ends))
    keys = np.stack((markers["process"][inside].astype(np.int64), markers["thread"][inside]))
    threads, lane = np.unique(keys, axis=1, return_inverse=True)
    lane = lane.reshape(-1)
    depth = nest(starts[inside], ends[inside], lane).depth
    order = np.argsort(starts[inside] - ends[inside], kind="stable")
    drawn = order[(depth[order] < DEEPEST) & (lane[order] < MOST_LANES)][:most]
    drawn = drawn[np.lexsort((depth[drawn], starts[inside][drawn], lane[drawn]))]
    rows = inside[drawn]
    begin = np.maximum(starts[rows], first_ns)
    lanes = [
        MarkerLane(int(process), int(thread), _deepest(depth, lane, number))
        for number, (process, thread) in enumerate(threads[:, :MOST_LANES].T.tolist())
    ]
    return MarkerLanes(
        lanes,
        lane[drawn].astype(np.uint16),
        depth[drawn].astype(np.uint8),
        begin - first_ns,
        np.minimum(ends[rows], last_ns) - begin,
        markers["name"][rows],
        len(inside) - len(rows),
    )


def _deepest(depth: Numbers, lane: Numbers, number: int) -> int:
    return min(DEEPEST, int(depth[lane == number].max(initial=-1)) + 1)


Shares = npt.NDArray[np.uint8]


Classes = npt.NDArray[np.uint8]


class Colouring(NamedTuple):
    """The classes in the order in which they are stacked, and the class of each op."""

    name: str
    title: str
    labels: tuple[str, ...]
    of_op: Classes

    @classmethod
    def of_used(
        cls, name: str, title: str, labels: Sequence[str], of_op: npt.NDArray[np.integer]
    ) -> Colouring:
        """The colouring with only the classes that occur, numbered anew."""
        used = np.flatnonzero(code_counts(of_op, len(labels)))
        number = np.zeros(len(labels), np.uint8)
        number[used] = np.arange(len(used))
        kept = tuple(labels[index] for index in used.tolist())
        return cls(name, title, kept, looked_up(number, of_op))


class OpNames(NamedTuple):
    """Short names, and for each single op of a timeline the place of its own."""

    names: list[str]
    of_op: npt.NDArray[np.uint32]


@dataclass(frozen=True)
class TimelineOptions:
    """How much of a trace a timeline keeps."""

    bins: int = 1 << 19
    """Of all strips together."""
    bins_of_a_strip: int = 1 << 16
    strips: int = 96
    ops: int = 200_000
    markers: int = 20_000


class Strip(NamedTuple):
    """A GPU (queue None) or one of its queues."""

    gpu: int
    queue: int | None
    name: str
    """The queue's, where it has one."""
    op_count: int
    busy_ns: int
    times: tuple[BinTimes, ...]
    """For each colouring the time of each class in each bin; at most the bin where ops overlap."""
    recorded: Intervals | None = None
    """Of a sampled trace when every kernel was recorded; None: all the time."""
    busy_percent: float | None = None
    """Of a sampled trace what slices say of the whole time."""


class DetailedOps(NamedTuple):
    """The longest ops, by strip and start; `rows` are their rows in the trace's `ops`."""

    strip: npt.NDArray[np.uint16]
    start_ns: Numbers
    """From the timeline's first nanosecond on."""
    duration_ns: Numbers
    rows: npt.NDArray[np.intp]
    left_out_count: int
    longest_left_out_ns: int


@dataclass(frozen=True)
class Timeline:
    """What a report draws of a trace's ops over time."""

    grid: TimeGrid
    end_ns: int
    colourings: tuple[Colouring, ...]
    strips: list[Strip]
    ops: DetailedOps
    markers: MarkerLanes
    left_out_strips: int

    @property
    def span_ns(self) -> int:
        return self.end_ns - self.grid.origin_ns

    def coarser(self) -> Timeline:
        """The same with half as many bins."""
        strips = [
            strip._replace(times=tuple(coarser(times) for times in strip.times))
            for strip in self.strips
        ]
        return Timeline(
            self.grid.coarser(),
            self.end_ns,
            self.colourings,
            strips,
            self.ops,
            self.markers,
            self.left_out_strips,
        )


def timeline(
    trace: Trace,
    timelines: Sequence[GpuTimeline],
    colourings: Sequence[Colouring],
    options: TimelineOptions | None = None,
) -> Timeline:
    """The timeline of `trace`, of which `timelines` are; a barrier is no work and not drawn."""
    options = options or TimelineOptions()
    shown, left_out = _shown_queues(timelines, options.strips)
    first_ns, last_ns = _span(timelines)
    per_strip = options.bins // max(1, len(shown))
    most_bins = min(options.bins_of_a_strip, 1 << max(10, per_strip.bit_length() - 1))
    grid = TimeGrid.over(first_ns, last_ns, most_bins)
    names = _queue_names(trace)
    strips = [
        strip._replace(name=names.get((strip.gpu, strip.queue), ""))
        for strip in _strips(trace, timelines, shown, grid, colourings)
    ]
    found = recorded(trace)
    if found is not None:
        busy = {gpu.gpu: gpu.time.busy_percent for gpu in gpu_utilizations(busy_timelines(trace))}
        strips = [
            strip._replace(
                recorded=found.window_of_gpu(strip.gpu), busy_percent=busy.get(strip.gpu)
            )
            for strip in strips
        ]
    places = {(strip.gpu, strip.queue): number for number, strip in enumerate(strips)}
    return Timeline(
        grid,
        last_ns,
        tuple(colourings),
        strips,
        _detailed_ops(trace, places, grid, options.ops),
        marker_lanes(trace, first_ns, last_ns, options.markers),
        left_out,
    )


def shares(times: BinTimes, grid: TimeGrid) -> Shares:
    """The times as percents of a bin; whatever took any time has at least 1."""
    percent = np.rint(times * (FULL / grid.bin_ns))
    return np.where(times > 0, np.maximum(percent, 1), 0).astype(np.uint8)


def _span(timelines: Sequence[GpuTimeline]) -> tuple[int, int]:
    """First start and last end of all ops."""
    if not timelines:
        return 0, 1
    first = min(int(gpu.busy.starts[0]) for gpu in timelines)
    last = max(int(gpu.busy.ends[-1]) for gpu in timelines)
    return first, max(last, first + 1)


def _shown_queues(
    timelines: Sequence[GpuTimeline], most_strips: int
) -> tuple[set[tuple[int, int | None]], int]:
    """GPUs, and where a GPU has several queues these too, busiest first; how many found no room."""
    gpus: list[tuple[int, int | None]] = [(gpu.gpu, None) for gpu in timelines]
    queues = sorted(
        (-queue.ops.duration_sum_ns, gpu.gpu, queue.queue)
        for gpu in timelines
        if len(gpu.queues) > 1
        for queue in gpu.queues
    )
    wanted = [*gpus, *((gpu, queue) for _, gpu, queue in queues)]
    return set(wanted[:most_strips]), max(0, len(wanted) - most_strips)


def _strips(
    trace: Trace,
    timelines: Sequence[GpuTimeline],
    shown: set[tuple[int, int | None]],
    grid: TimeGrid,
    colourings: Sequence[Colouring],
) -> Iterator[Strip]:
    sorted_of = {timeline.gpu: timeline for timeline in timelines}
    counts = [len(colouring.labels) for colouring in colourings]
    ops, working = trace.ops, _working(trace)
    columns = (ops["start_ns"], ops["end_ns"], *(colouring.of_op for colouring in colourings))
    groups = grouped_rows(
        ops["gpu"][working], ops["queue"][working], [column[working] for column in columns]
    )
    starts, ends, *classes = groups.columns
    for gpu, members in groups.by_major():
        if gpu not in sorted_of or (gpu, None) not in shown:
            continue
        lanes = {
            queue: time_in_bins(
                grid, starts[rows], ends[rows], [of_op[rows] for of_op in classes], counts
            )
            for queue, rows in members
        }
        whole = sorted_of[gpu]
        times = _times_in_bins(grid, whole.busy, list(lanes.values()))
        yield Strip(gpu, None, "", whole.op_count, whole.busy.union_ns, times)
        for _, queue, queued in whole.queues:
            if (gpu, queue) in shown:
                times = _times_in_bins(grid, queued, [lanes[queue]])
                yield Strip(gpu, queue, "", len(queued), queued.union_ns, times)


def _working(trace: Trace) -> npt.NDArray[np.bool_] | slice:
    """Which ops are work: all but barriers."""
    is_work = trace.op_kind != OpKind.BARRIER
    return slice(None) if is_work.all() else is_work


def _queue_names(trace: Trace) -> dict[tuple[int, int | None], str]:
    table = trace.table(QUEUES)
    if not len(table):
        return {}
    table.load("gpu", "queue", "name")
    places = zip(table["gpu"].tolist(), table["queue"].tolist(), strict=True)
    return dict(zip(places, table.strings("name"), strict=True))


def _times_in_bins(
    grid: TimeGrid, ops: SortedOps, lanes: Sequence[Sequence[BinTimes]]
) -> tuple[BinTimes, ...]:
    """The times of all lanes together, none beyond the time during which any of the ops ran."""
    summed = [np.add.reduce(parts) for parts in zip(*lanes, strict=True)]
    if summed and summed[0].sum() > ops.union_ns:
        busy = _busy_in_bins(grid, ops)
        summed = [_within(times, busy) for times in summed]
    return tuple(summed)


def _busy_in_bins(grid: TimeGrid, ops: SortedOps) -> npt.NDArray[np.float64]:
    """How long any op ran in each bin."""
    starts, ends = stretches_of_sorted(ops.starts, ops.ends)
    of_row: Classes = np.zeros(len(starts), np.uint8)
    busy: npt.NDArray[np.float64] = time_in_bins(grid, starts, ends, [of_row], [1])[0][0]
    return busy


def _within(times: BinTimes, busy: npt.NDArray[np.float64]) -> BinTimes:
    """Where ops overlap: the time that any ran, split in proportion to the classes' times."""
    total = times.sum(axis=0)
    factor = np.divide(busy, total, out=np.ones_like(total), where=total > 0)
    within: BinTimes = times * factor
    return within


def _detailed_ops(
    trace: Trace, places: dict[tuple[int, int | None], int], grid: TimeGrid, most: int
) -> DetailedOps:
    """At most `most` ops; of equally long ones all are kept or none."""
    starts, durations = trace.ops["start_ns"], trace.ops.duration_ns
    durations[trace.op_kind == OpKind.BARRIER] = -1
    rows, longest_left_out = _longest_rows(durations, most)
    gpus, queues = trace.ops["gpu"][rows], trace.ops["queue"][rows]
    strips = _strip_numbers(gpus, queues, places)
    drawn = (strips >= 0) & (durations[rows] >= 0)
    rows, strips = rows[drawn], strips[drawn]
    order = np.lexsort((starts[rows], strips))
    rows, strips = rows[order], strips[order]
    return DetailedOps(
        strips.astype(np.uint16),
        starts[rows] - grid.origin_ns,
        durations[rows],
        rows,
        int((durations >= 0).sum()) - len(rows),
        longest_left_out,
    )


def _longest_rows(durations: Times, most: int) -> tuple[npt.NDArray[np.intp], int]:
    if len(durations) <= most:
        return np.arange(len(durations)), 0
    left_out = len(durations) - most - 1
    bound = int(np.partition(durations, left_out)[left_out])
    return np.flatnonzero(durations > bound), bound


def _strip_numbers(
    gpus: Numbers, queues: Numbers, places: dict[tuple[int, int | None], int]
) -> Numbers:
    """The strip of each op: its queue's, or its GPU's where that has one queue; -1 for none."""
    numbers = np.full(len(gpus), -1, np.int64)
    for (gpu, queue), place in places.items():
        if queue is None:
            numbers[gpus == gpu] = place
    for (gpu, queue), place in places.items():
        if queue is not None:
            numbers[(gpus == gpu) & (queues == queue)] = place
    return numbers
