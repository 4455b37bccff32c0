"""The ranges of a trace that can be phases: where they lie, and which lies in which."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.coded_columns import DistinctRows
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
        found = np.unique(self.processes)
        return int(found[0]) if len(found) == 1 else None

    @cached_property
    def used_lanes(self) -> Rows:
        """The lanes in which there are ranges."""
        return np.unique(self.lane_of_range)

    @cached_property
    def has_processes_of_several_threads(self) -> bool:
        """Whether ranges of one process were opened by different threads."""
        return len(self.used_lanes) > len(np.unique(self.processes))

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
class FoundRanges:
    """The ranges that the host opened, and those drawn over GPU work."""

    host: MarkerRanges
    drawn: MarkerRanges
    instant_count: int

    def without_drawn(self) -> FoundRanges:
        """The same without the ranges drawn over GPU work."""
        return replace(self, drawn=self.drawn.first(0))


def found_ranges(trace: Trace) -> FoundRanges:
    """The ranges of `trace`; instant marks are none. Without any of the host the drawn ones are."""
    markers = trace.markers
    markers.load("start_ns", "end_ns", "name", "category", "process", "thread", "flags")
    flags = markers["flags"]
    instant = (flags != UNKNOWN) & ((flags & MARKER_INSTANT) != 0)
    drawn = markers["category"] == trace.strings.find(GPU_DRAWN_CATEGORY)
    drawn &= markers["category"] != UNKNOWN
    host_rows = np.flatnonzero(~instant & ~drawn)
    drawn_rows = np.flatnonzero(~instant & drawn)
    if not len(host_rows):
        host_rows, drawn_rows = drawn_rows, host_rows
    return FoundRanges(
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
