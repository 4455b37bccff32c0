"""How busy each GPU and queue was, with what, and what was hidden behind compute, in numbers.

docs/definitions.md publishes every number here. All of them are lengths of interval unions in exact
nanoseconds; for each GPU compute + exposed communication + exposed copies + idle = span.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wavescope.analyze.ops.gpu_timelines import GpuTimeline, QueueTimeline
from wavescope.arrays.intervals import busy_at_depth
from wavescope.units import percent_of


class BusyTime(NamedTuple):
    """When the ops of one queue or GPU ran."""

    op_count: int
    start_ns: int
    end_ns: int
    busy_ns: int
    duration_sum_ns: int
    left_out_ns: int = 0
    """Time between start and end that is not meant: outside the selected ranges."""

    @property
    def span_ns(self) -> int:
        return self.end_ns - self.start_ns - self.left_out_ns

    @property
    def idle_ns(self) -> int:
        """Not less than nothing: ops that began in slices may run on beyond these."""
        return max(self.span_ns - self.busy_ns, 0)

    @property
    def busy_percent(self) -> float | None:
        """Busy share of the span; None when the span is empty."""
        return percent_of(min(self.busy_ns, self.span_ns), self.span_ns)

    @property
    def mean_concurrency(self) -> float | None:
        """How many ops ran at once, on average over the busy time; None without busy time."""
        return self.duration_sum_ns / self.busy_ns if self.busy_ns else None


class QueueUtilization(NamedTuple):
    """One queue's busy time."""

    gpu: int
    queue: int
    time: BusyTime


class GpuUtilization(NamedTuple):
    """One GPU's busy time and its split."""

    gpu: int
    time: BusyTime
    compute_ns: int
    communication_ns: int
    copy_ns: int
    exposed_communication_ns: int
    exposed_copy_ns: int
    depth_ns: tuple[int, ...]
    """[d]: how long exactly d ops ran at once; empty when not asked for."""
    queues: tuple[QueueUtilization, ...]

    @property
    def overlapped_communication_ns(self) -> int:
        """Communication hidden behind compute."""
        return self.communication_ns - self.exposed_communication_ns

    @property
    def overlap_percent(self) -> float | None:
        """Share of the communication time hidden behind compute; None without communication."""
        return percent_of(self.overlapped_communication_ns, self.communication_ns)


def gpu_utilizations(
    timelines: Sequence[GpuTimeline], *, concurrency: bool = False
) -> list[GpuUtilization]:
    """The numbers for each GPU; with `concurrency` also how long how many ops ran at once."""
    return [_gpu_utilization(timeline, concurrency) for timeline in timelines]


def _gpu_utilization(timeline: GpuTimeline, concurrency: bool) -> GpuUtilization:
    busy_ns = timeline.busy.union_ns
    by_class = timeline.class_times
    start_ns, end_ns = timeline.span
    return GpuUtilization(
        gpu=timeline.gpu,
        time=BusyTime(
            op_count=timeline.op_count,
            start_ns=start_ns,
            end_ns=end_ns,
            busy_ns=busy_ns,
            duration_sum_ns=timeline.duration_sum_ns,
            left_out_ns=timeline.left_out_ns(start_ns, end_ns),
        ),
        compute_ns=by_class.compute_ns,
        communication_ns=by_class.communication_ns,
        copy_ns=by_class.copy_ns,
        # |A - B| is |A or B| - |B|: lengths suffice, no set is built.
        exposed_communication_ns=by_class.compute_or_communication_ns - by_class.compute_ns,
        exposed_copy_ns=busy_ns - by_class.compute_or_communication_ns,
        depth_ns=_depth_ns(timeline) if concurrency else (),
        queues=tuple(_queue_utilization(timeline, queue) for queue in timeline.queues),
    )


def _depth_ns(timeline: GpuTimeline) -> tuple[int, ...]:
    ops = timeline.ops
    depths = busy_at_depth(ops.starts, ops.ends)
    if timeline.sampled is not None and depths:
        depths[0] = max(timeline.span_ns - timeline.busy.union_ns, 0)
    return tuple(depths)


def _queue_utilization(timeline: GpuTimeline, queue: QueueTimeline) -> QueueUtilization:
    ops = queue.ops
    start_ns, end_ns = int(ops.starts[0]), int(ops.ends[-1])
    time = BusyTime(
        op_count=len(ops),
        start_ns=start_ns,
        end_ns=end_ns,
        busy_ns=ops.union_ns,
        duration_sum_ns=ops.duration_sum_ns,
        left_out_ns=timeline.left_out_ns(start_ns, end_ns),
    )
    return QueueUtilization(queue.gpu, queue.queue, time)
