"""The ops of each GPU and queue as sorted times: what utilization and gaps are computed from.

Grouping and sorting are most of the work of both, so it is done once and shared. Barriers are left
out: a barrier packet waits, it does not work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.row_groups import grouped_rows
from wavescope.model.interval_union import covered_ns, stretches_of_runs
from wavescope.model.intervals import Times, sorted_times, sum_of_lengths_ns
from wavescope.model.op_kinds import OpClass, OpKind, kind_of_type
from wavescope.model.source import Array
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
    """The ops of one queue; `by_class` has one entry for each `OpClass`."""

    gpu: int
    queue: int
    ops: SortedOps
    by_class: tuple[SortedOps, ...]


@dataclass(frozen=True)
class GpuTimeline:
    """The ops of one GPU; what lies on several queues is put together as gapless stretches."""

    gpu: int
    queues: tuple[QueueTimeline, ...]

    @property
    def op_count(self) -> int:
        return sum(len(queue.ops) for queue in self.queues)

    @property
    def duration_sum_ns(self) -> int:
        """The durations of all ops added up."""
        return sum(queue.ops.duration_sum_ns for queue in self.queues)

    def of_class(self, op_class: OpClass) -> SortedOps:
        """Gapless stretches of the ops of one class on all queues."""
        return SortedOps.stretches([queue.by_class[op_class] for queue in self.queues])

    @cached_property
    def compute(self) -> SortedOps:
        return self.of_class(OpClass.COMPUTE)

    @cached_property
    def communication(self) -> SortedOps:
        return self.of_class(OpClass.COMMUNICATION)

    @cached_property
    def copies(self) -> SortedOps:
        return self.of_class(OpClass.COPY)

    @cached_property
    def computing_or_communicating(self) -> SortedOps:
        """Gapless stretches of compute and communication together."""
        return SortedOps.stretches((self.compute, self.communication))

    @cached_property
    def busy(self) -> SortedOps:
        """Gapless stretches of any work: between two of them lies an idle gap."""
        return SortedOps.stretches((self.computing_or_communicating, self.copies))

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
    if not len(classes) or classes.min() == classes.max():
        groups = grouped_rows(gpus, queues, (starts, ends))
        starts, ends = groups.columns  # and the classes are equal in any order
    else:
        groups = grouped_rows(gpus, queues, (starts, ends, classes))
        starts, ends, classes = groups.columns
    timelines = []
    for gpu, members in groups.by_major():
        lanes = tuple(
            _queue_timeline(gpu, queue, starts[lane], ends[lane], classes[lane])
            for queue, lane in members
        )
        timelines.append(GpuTimeline(gpu, lanes))
    return timelines


def _queue_timeline(
    gpu: int, queue: int, starts: Times, ends: Times, classes: Array
) -> QueueTimeline:
    ops = SortedOps.of(starts, ends)
    only = OpClass(classes[0]) if classes.min() == classes.max() else None
    return QueueTimeline(gpu, queue, ops, tuple(_by_class(ops, starts, ends, classes, only)))


def _by_class(
    ops: SortedOps, starts: Times, ends: Times, classes: Array, only: OpClass | None
) -> Iterable[SortedOps]:
    """The ops of each class, given the one they all belong to if there is one."""
    for op_class in OpClass:
        if only is None:
            members = classes == op_class
            yield SortedOps.of(starts[members], ends[members])
        else:
            yield ops if op_class is only else NO_OPS


def _working_rows(trace: Trace) -> Rows | None:
    """Rows of all ops but barriers; None when there are no barriers."""
    used = trace.ops.code_counts("type").codes.tolist()
    if not any(kind_of_type(trace.strings[code]) is OpKind.BARRIER for code in used):
        return None
    return np.flatnonzero(trace.op_kind != OpKind.BARRIER)
