"""The ranges of a trace that can be phases or steps, and which of them each op belongs to.

An op's range is told by what caused the op where the trace knows that, else by time; docs/phases.md
says in which order the bases are tried and why."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_links import op_links, rows_of_ids
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import DistinctRows, blocks, different_values
from wavescope.arrays.intervals import Times
from wavescope.arrays.nesting import FlatRanges, Nesting, flatten, nest
from wavescope.model.columns import MARKER_INSTANT, UNKNOWN
from wavescope.model.trace import Trace

Rows = npt.NDArray[np.int64]

GPU_DRAWN_CATEGORY = "gpu_user_annotation"
"""Ranges that Kineto draws over the GPU work which a range of the host caused."""


@dataclass(frozen=True)
class MarkerRanges:
    """Ranges in the order of the trace; `rows` are their rows among its markers."""

    rows: Rows
    starts: Times
    ends: Times
    names: npt.NDArray[np.int32]
    processes: Rows
    threads: Rows
    lanes: DistinctRows
    """Numbers pairs of process and thread."""
    lane_of_range: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, count: int) -> MarkerRanges:
        """The first `count` of the ranges."""
        columns = ("rows", "starts", "ends", "names", "processes", "threads", "lane_of_range")
        return replace(self, **{name: getattr(self, name)[:count] for name in columns})

    @cached_property
    def nesting(self) -> Nesting:
        """Parents and depths within each thread."""
        return nest(self.starts, self.ends, self.lane_of_range)

    @cached_property
    def by_thread(self) -> FlatRanges:
        """The innermost range of each thread at any time."""
        return flatten(self.starts, self.ends, self.lane_of_range)

    @cached_property
    def by_process(self) -> FlatRanges:
        """The innermost range of each process at any time, whatever the thread."""
        return flatten(self.starts, self.ends, self.processes)

    @cached_property
    def only_process(self) -> int | None:
        """The process of all ranges, where there is only one."""
        found = different_values(self.processes)
        return int(found[0]) if len(found) == 1 else None

    @cached_property
    def used_lanes(self) -> Rows:
        """The lanes in which there are ranges."""
        return different_values(self.lane_of_range)

    @cached_property
    def has_processes_of_several_threads(self) -> bool:
        """Whether ranges of one process were opened by different threads."""
        return len(self.used_lanes) > len(different_values(self.processes))

    def lanes_of(self, processes: Array, threads: Array) -> Rows:
        """The lane of each pair; pairs without ranges get lanes in which there are none."""
        numbers, _ = self.lanes.number((processes, threads))
        return numbers.astype(np.int64)

    def numbers_of(self, marker_rows: Array, marker_count: int) -> Rows:
        """For rows among the trace's markers the number of the range, -1 where it is none."""
        number = np.full(marker_count, UNKNOWN, np.int64)
        number[self.rows] = np.arange(len(self.rows))
        return number[marker_rows]


@dataclass(frozen=True)
class TraceRanges:
    """The ranges that the host opened, and those drawn over GPU work."""

    host: MarkerRanges
    drawn: MarkerRanges
    instant_count: int

    def without_drawn(self) -> TraceRanges:
        """The same without the ranges drawn over GPU work."""
        return replace(self, drawn=self.drawn.first(0))


_RANGE_COLUMNS = ("start_ns", "end_ns", "name", "category", "process", "thread", "flags")


def has_markers(trace: Trace) -> bool:
    """Whether there are any; what ranges are made of is read in the same pass."""
    trace.markers.load(*_RANGE_COLUMNS)
    return len(trace.markers) > 0


def trace_ranges(trace: Trace) -> TraceRanges:
    """The ranges of `trace`; instant marks are none. Without any of the host the drawn ones are."""
    markers = trace.markers
    markers.load(*_RANGE_COLUMNS)
    flags = markers["flags"]
    instant = (flags != UNKNOWN) & ((flags & MARKER_INSTANT) != 0)
    drawn = markers["category"] == trace.strings.find(GPU_DRAWN_CATEGORY)
    drawn &= markers["category"] != UNKNOWN
    host_rows = np.flatnonzero(~instant & ~drawn)
    drawn_rows = np.flatnonzero(~instant & drawn)
    if not len(host_rows):
        host_rows, drawn_rows = drawn_rows, host_rows
    return TraceRanges(
        _ranges(trace, host_rows), _ranges(trace, drawn_rows), int(np.count_nonzero(instant))
    )


def _ranges(trace: Trace, rows: Rows) -> MarkerRanges:
    markers = trace.markers
    processes = markers["process"][rows].astype(np.int64)
    threads = markers["thread"][rows].astype(np.int64)
    lanes = DistinctRows(2)
    numbers, _ = lanes.number((processes, threads))
    return MarkerRanges(
        rows=rows,
        starts=markers["start_ns"][rows],
        ends=markers["end_ns"][rows],
        names=markers["name"][rows],
        processes=processes,
        threads=threads,
        lanes=lanes,
        lane_of_range=numbers.astype(np.int64),
    )


class Basis(enum.IntEnum):
    """Why an op belongs to its range."""

    OUTSIDE = 0
    """It belongs to none."""
    CAUSE = 1
    """The range was open on the thread that launched the op."""
    LAUNCH_TIME = 2
    """It was open on another thread of the process when the op was launched."""
    TIME = 3
    """It was open when the op began; the launch is not known."""


class OpRanges(NamedTuple):
    """For each op the number of its range among the host's or the drawn ones, and why."""

    host: npt.NDArray[np.int32]
    drawn: npt.NDArray[np.int32]
    """Ranges drawn over GPU work, for ops without a known launch; -1 for the others."""
    basis: npt.NDArray[np.int8]


class MarkedOps(NamedTuple):
    """The ranges of a trace, and which of them each op belongs to."""

    found: TraceRanges
    ranges: OpRanges


def marked_ops(trace: Trace) -> MarkedOps:
    """The ranges of `trace` and of its ops; those drawn over GPU work only where an op has one."""
    found = trace_ranges(trace)
    ranges = op_ranges(trace, found)
    return MarkedOps(found if np.any(ranges.drawn >= 0) else found.without_drawn(), ranges)


def op_ranges(trace: Trace, found: TraceRanges) -> OpRanges:
    """The range of every op of `trace`."""
    count = len(trace.ops)
    result = OpRanges(
        np.full(count, UNKNOWN, np.int32),
        np.full(count, UNKNOWN, np.int32),
        np.full(count, Basis.OUTSIDE, np.int8),
    )
    if not len(found.host):
        return result
    settled = _by_recorded_marker(trace, found.host, result)
    settled = _by_launching_call(trace, found.host, result, settled)
    rest = None if settled is None else np.flatnonzero(~settled)
    if rest is None or len(rest):
        _by_time(trace, found, result, rest)
    return result


def _by_recorded_marker(
    trace: Trace, ranges: MarkerRanges, result: OpRanges
) -> npt.NDArray[np.bool_] | None:
    """Ops whose range was recorded with the dispatch; None when no op's was."""
    recorded = trace.ops["marker"]
    has_marker = recorded >= 0
    if not has_marker.any():
        return None
    rows = np.flatnonzero(has_marker)
    marker_rows, exists = rows_of_ids(trace.markers["id"], recorded[rows])
    numbers = np.where(exists, ranges.numbers_of(marker_rows, len(trace.markers)), UNKNOWN)
    result.host[rows] = numbers
    result.basis[rows[numbers >= 0]] = Basis.CAUSE
    return has_marker | _known_to_be_outside(trace, ranges, has_marker)


def _known_to_be_outside(
    trace: Trace, ranges: MarkerRanges, has_marker: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Ops without a range where their process records ranges with dispatches.

    An op of a thread that never opened a range is not among them: it may do another thread's work.
    """
    trace.ops.load("process", "thread")
    processes, threads = trace.ops["process"], trace.ops["thread"]
    recording = np.isin(processes, np.unique(processes[has_marker])) & ~has_marker
    if not recording.any():
        return recording
    rows = np.flatnonzero(recording & (threads != UNKNOWN))
    if len(rows):
        lanes = ranges.lanes_of(processes[rows], threads[rows])
        recording[rows] = np.isin(lanes, ranges.used_lanes)
    return recording


def _by_launching_call(
    trace: Trace,
    ranges: MarkerRanges,
    result: OpRanges,
    settled: npt.NDArray[np.bool_] | None,
) -> npt.NDArray[np.bool_] | None:
    """Ops whose launching call is known; what is settled then, None when nothing is."""
    if not len(trace.links) or not len(trace.calls):
        return settled
    links = op_links(trace)
    op_rows, call_rows = links.op_rows, links.call_rows
    if settled is not None:
        is_open = ~settled[op_rows]
        op_rows, call_rows = op_rows[is_open], call_rows[is_open]
    if not len(op_rows):
        return settled
    range_of_call, basis_of_call = _ranges_of_calls(trace, ranges, call_rows)
    result.host[op_rows] = range_of_call[call_rows]
    result.basis[op_rows] = basis_of_call[call_rows]
    settled = np.zeros(len(trace.ops), bool) if settled is None else settled
    settled[op_rows] = True
    return settled


def _ranges_of_calls(
    trace: Trace, ranges: MarkerRanges, call_rows: Rows
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int8]]:
    """For each call that is among `call_rows` the innermost range open when it was made."""
    calls = trace.calls
    calls.load("start_ns", "process", "thread")
    launching = np.zeros(len(calls), bool)
    launching[call_rows] = True
    rows = np.flatnonzero(launching)
    starts, processes = calls["start_ns"][rows], calls["process"][rows]
    lanes = ranges.lanes_of(processes, calls["thread"][rows])
    numbers = ranges.by_thread.range_at(starts, lanes)
    basis = np.where(numbers >= 0, Basis.CAUSE, Basis.OUTSIDE).astype(np.int8)
    alone = np.flatnonzero(numbers < 0)
    if len(alone):
        elsewhere = ranges.by_process.range_at(starts[alone], processes[alone].astype(np.int64))
        numbers[alone] = elsewhere
        basis[alone[elsewhere >= 0]] = Basis.LAUNCH_TIME
    range_of_call = np.full(len(calls), UNKNOWN, np.int32)
    basis_of_call = np.full(len(calls), Basis.OUTSIDE, np.int8)
    range_of_call[rows], basis_of_call[rows] = numbers, basis
    return range_of_call, basis_of_call


def _by_time(trace: Trace, found: TraceRanges, result: OpRanges, rows: Rows | None) -> None:
    """Ops (None: all) by what was open when they began: drawn over the GPU if there is any."""
    ranges = found.drawn if len(found.drawn) else found.host
    target = result.drawn if len(found.drawn) else result.host
    ops = trace.ops
    ops.load("start_ns", "process")
    threads = ops["thread"] if ranges.has_processes_of_several_threads else None
    # Block by block: what is computed for a block stays in the cache.
    for block in blocks(len(ops) if rows is None else len(rows)):
        chosen = block if rows is None else rows[block]
        processes = ops["process"][chosen].astype(np.int64)
        if ranges.only_process is not None:
            processes[processes == UNKNOWN] = ranges.only_process
        starts = ops["start_ns"][chosen]
        numbers = ranges.by_process.range_at(starts, processes)
        if threads is not None:
            numbers = _of_own_thread(ranges, starts, processes, threads[chosen], numbers)
        target[chosen] = numbers
        result.basis[chosen] = np.where(numbers >= 0, np.int8(Basis.TIME), np.int8(Basis.OUTSIDE))


def _of_own_thread(
    ranges: MarkerRanges, starts: Times, processes: Rows, threads: Rows, numbers: Rows
) -> Rows:
    """`numbers` with the ranges of the submitting thread where it is known to open any."""
    lanes = ranges.lanes_of(processes, threads)
    opens_ranges = (threads != UNKNOWN) & np.isin(lanes, ranges.used_lanes)
    if not opens_ranges.any():
        return numbers
    return np.where(opens_ranges, ranges.by_thread.range_at(starts, lanes), numbers)
