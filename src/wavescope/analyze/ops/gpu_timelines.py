"""The ops of each GPU and queue as sorted times: what utilization and gaps are computed from.

Grouping and sorting are most of the work of both, so it is done once and shared. Barriers are left
out: a barrier packet waits, it does not work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.groups import grouped_rows
from wavescope.arrays.interval_union import covered_ns, stretches_of_runs
from wavescope.arrays.intervals import Intervals, Times, sorted_times, sum_of_lengths_ns
from wavescope.model.op_kinds import OpClass, OpKind, kind_of_type
from wavescope.model.trace import Trace

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class SortedOps:
    """Starts and ends of some ops, each sorted on its own (they do not pair up by position)."""

    starts: Times
    ends: Times

    @classmethod
    def of(cls, starts: Times, ends: Times) -> SortedOps:
        return cls(sorted_times(starts), sorted_times(ends))

    @classmethod
    def joined(cls, parts: Sequence[SortedOps]) -> SortedOps:
        """The ops of all parts."""
        filled = [part for part in parts if len(part)]
        if len(filled) <= 1:
            return filled[0] if filled else NO_OPS
        return cls.of(
            np.concatenate([part.starts for part in filled]),
            np.concatenate([part.ends for part in filled]),
        )

    @classmethod
    def stretches(cls, parts: Sequence[SortedOps]) -> SortedOps:
        """Gapless stretches of the ops of all parts: often far fewer, covering the same time."""
        return cls(*stretches_of_runs([(part.starts, part.ends) for part in parts]))

    def __len__(self) -> int:
        return int(self.starts.size)

    @cached_property
    def union_ns(self) -> int:
        """The time during which at least one of the ops ran."""
        return covered_ns((self.starts, self.ends))

    @cached_property
    def duration_sum_ns(self) -> int:
        """The durations of all ops added up."""
        return sum_of_lengths_ns(self.starts, self.ends)


NO_OPS = SortedOps(np.empty(0, np.int64), np.empty(0, np.int64))


class QueueTimeline(NamedTuple):
    """The ops of one queue."""

    gpu: int
    queue: int
    ops: SortedOps


class ClassTimes(NamedTuple):
    """The time during which ops of some classes ran, on any queue of a GPU."""

    compute_ns: int
    communication_ns: int
    copy_ns: int
    compute_or_communication_ns: int


@dataclass(frozen=True)
class SampledTime:
    """The slices in which all that began on a GPU is known, and when whole graphs ran on it.

    An op belongs to the slice in which it began, with its whole length, so that busy time is that
    of the slices: an op that runs on beyond the end stands for the one that ran unseen at the
    beginning.
    """

    slices: Intervals
    graph_runs: Intervals

    def gaps_between(self, busy: SortedOps) -> tuple[Times, Times]:
        """The gaps that lie whole in one slice; where a slice cuts one, its length is unknown."""
        covered = self.graph_runs.union(Intervals.from_pairs(busy.starts, busy.ends))
        starts, ends = covered.ends[:-1], covered.starts[1:]
        first = np.searchsorted(self.slices.starts, starts, side="right")
        last = np.searchsorted(self.slices.starts, ends, side="right")
        inside = (first == last) & self.slices.contains_points(ends)
        return starts[inside], ends[inside]


@dataclass(frozen=True)
class GpuTimeline:
    """The ops of one GPU."""

    gpu: int
    queues: tuple[QueueTimeline, ...]
    busy: SortedOps
    """Gapless stretches of any work on any queue: between two of them lies an idle gap."""
    class_times: ClassTimes
    window: Intervals | None = None
    """The times that the timeline is about; None: from its first op to its last."""
    sampled: SampledTime | None = None
    """Of a sampled trace the slices, and what is known of the time outside."""

    @property
    def gaps(self) -> tuple[Times, Times]:
        """Where gaps begin and end."""
        if self.sampled is not None:
            return self.sampled.gaps_between(self.busy)
        if self.window is None:
            return self.busy.ends[:-1], self.busy.starts[1:]
        idle = self.window.subtract(Intervals.from_pairs(self.busy.starts, self.busy.ends))
        return idle.starts, idle.ends

    @property
    def span(self) -> tuple[int, int]:
        """The first start and the last end."""
        if self.sampled is not None and self.sampled.slices.span is not None:
            return self.sampled.slices.span
        if self.window is not None and self.window.span is not None:
            return self.window.span
        if not len(self.busy):
            return 0, 0
        return int(self.busy.starts[0]), int(self.busy.ends[-1])

    def left_out_ns(self, start_ns: int, end_ns: int) -> int:
        """How much of [start, end) the timeline is not about."""
        if self.sampled is not None:
            return end_ns - start_ns - self.sampled.slices.total_ns
        if self.window is None:
            return 0
        return end_ns - start_ns - self.window.clip(start_ns, end_ns).total_ns

    @property
    def span_ns(self) -> int:
        """From the first start to the last end, less what the timeline is not about."""
        start_ns, end_ns = self.span
        return end_ns - start_ns - self.left_out_ns(start_ns, end_ns)

    @property
    def op_count(self) -> int:
        return sum(len(queue.ops) for queue in self.queues)

    @property
    def duration_sum_ns(self) -> int:
        """The durations of all ops added up."""
        return sum(queue.ops.duration_sum_ns for queue in self.queues)

    @cached_property
    def ops(self) -> SortedOps:
        """All ops of the GPU."""
        return SortedOps.joined([queue.ops for queue in self.queues])


def gpu_timelines(trace: Trace) -> list[GpuTimeline]:
    """The timelines of all GPUs that ran anything, in order of GPU number."""
    trace.ops.load("gpu", "queue", "start_ns", "end_ns", "type", "name")
    gpus, queues, starts, ends = (
        trace.ops[name] for name in ("gpu", "queue", "start_ns", "end_ns")
    )
    classes = trace.op_class
    working = _working_rows(trace)
    if working is not None:
        gpus, queues, classes = gpus[working], queues[working], classes[working]
        starts, ends = starts[working], ends[working]
    return timelines_of(gpus, queues, starts, ends, classes)


def timelines_of(
    gpus: Array, queues: Array, starts: Times, ends: Times, classes: Array
) -> list[GpuTimeline]:
    """The timelines of ops that work, in order of GPU number."""
    if not len(classes) or classes.min() == classes.max():
        groups = grouped_rows(gpus, queues, (starts, ends))
        starts, ends = groups.columns  # and the classes are equal in any order
    else:
        groups = grouped_rows(gpus, queues, (starts, ends, classes))
        starts, ends, classes = groups.columns
    timelines = []
    for gpu, members in groups.by_major():
        lanes = [
            QueueTimeline(gpu, queue, SortedOps.of(starts[lane], ends[lane]))
            for queue, lane in members
        ]
        by_class = [
            _by_class(queue.ops, starts[lane], ends[lane], classes[lane])
            for queue, (_, lane) in zip(lanes, members, strict=True)
        ]
        timelines.append(GpuTimeline(gpu, tuple(lanes), *_all_queues(by_class)))
    return timelines


def _by_class(ops: SortedOps, starts: Times, ends: Times, classes: Array) -> list[SortedOps]:
    """Of the ops of one queue those of each class."""
    if classes.min() == classes.max():
        return [ops if op_class == classes[0] else NO_OPS for op_class in OpClass]
    members = [classes == op_class for op_class in OpClass]
    return [SortedOps.of(starts[mask], ends[mask]) for mask in members]


def _all_queues(by_class: Sequence[Sequence[SortedOps]]) -> tuple[SortedOps, ClassTimes]:
    """What all queues of a GPU did together, given the ops of each class on each queue.

    There may be as many stretches as ops: those of classes are let go once they are added up.
    """
    compute, communication, copies = (
        SortedOps.stretches([queue[op_class] for queue in by_class])
        for op_class in (OpClass.COMPUTE, OpClass.COMMUNICATION, OpClass.COPY)
    )
    no_copies = SortedOps.stretches((compute, communication))
    lengths_ns = (each.union_ns for each in (compute, communication, copies, no_copies))
    return SortedOps.stretches((no_copies, copies)), ClassTimes(*lengths_ns)


def _working_rows(trace: Trace) -> Rows | None:
    """Rows of all ops that work: no barriers, no graphs beside their kernels; None for all."""
    used = trace.ops.code_counts("type").codes.tolist()
    doubled = doubled_runs(trace)
    if doubled is not None:
        return np.flatnonzero((trace.op_kind != OpKind.BARRIER) & ~doubled)
    if not any(kind_of_type(trace.strings[code]) is OpKind.BARRIER for code in used):
        return None
    return np.flatnonzero(trace.op_kind != OpKind.BARRIER)


def doubled_runs(trace: Trace) -> npt.NDArray[np.bool_] | None:
    """Which ops are runs of graphs whose kernels are recorded, too; None where there is none."""
    used = trace.ops.code_counts("type").codes.tolist()
    if not any(kind_of_type(trace.strings[code]) is OpKind.GRAPH_RUN for code in used):
        return None
    doubled = trace.derived(_doubled_runs)
    return doubled if doubled.any() else None


def _doubled_runs(trace: Trace) -> npt.NDArray[np.bool_]:
    ops, kinds = trace.ops, trace.op_kind
    ops.load("process", "graph", "start_ns", "end_ns")
    doubled = np.zeros(len(ops), np.bool_)
    runs = np.flatnonzero(kinds == OpKind.GRAPH_RUN)
    nodes = np.flatnonzero((kinds == OpKind.KERNEL) & (ops["graph"] >= 0))
    keys = np.stack((ops["process"].astype(np.int64), ops["graph"].astype(np.int64)))
    for process, graph in np.unique(keys[:, runs], axis=1).T.tolist():
        of_graph = (keys[0] == process) & (keys[1] == graph)
        mine, begun = runs[of_graph[runs]], np.sort(ops["start_ns"][nodes[of_graph[nodes]]])
        first = np.searchsorted(begun, ops["start_ns"][mine])
        doubled[mine] = first < np.searchsorted(begun, ops["end_ns"][mine])
    return doubled
