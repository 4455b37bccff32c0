"""How busy each GPU and queue was, with what, and what was hidden behind compute.

docs/definitions.md publishes every number here. All of them are lengths of interval unions in exact
nanoseconds; for each GPU compute + exposed communication + exposed copies + idle = span.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wavescope.analyze.findings.exposed_communication import exposed_communication
from wavescope.analyze.findings.gpu_idle import gpu_idle
from wavescope.analyze.ops.gpu_timelines import GpuTimeline, QueueTimeline, gpu_timelines
from wavescope.arrays.intervals import busy_at_depth_of_sorted
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.model.trace import Trace


@dataclass(frozen=True)
class UtilizationOptions:
    """What to compute."""

    concurrency: bool = False
    """Whether to tell how long how many ops ran at once: nearly doubles the work on busy traces."""


class BusyTime(NamedTuple):
    """When the ops of one queue or GPU ran."""

    op_count: int
    start_ns: int
    end_ns: int
    busy_ns: int
    duration_sum_ns: int

    @property
    def span_ns(self) -> int:
        return self.end_ns - self.start_ns

    @property
    def idle_ns(self) -> int:
        return self.span_ns - self.busy_ns

    @property
    def busy_percent(self) -> float | None:
        """Busy share of the span; None when the span is empty."""
        return percent_of(self.busy_ns, self.span_ns)

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

    @property
    def max_concurrency(self) -> int | None:
        return len(self.depth_ns) - 1 if self.depth_ns else None


def percent_of(part: int, whole: int) -> float | None:
    """100 * part / whole, None when there is no whole."""
    return 100 * part / whole if whole else None


def gpu_utilizations(
    timelines: Sequence[GpuTimeline], options: UtilizationOptions | None = None
) -> list[GpuUtilization]:
    """The numbers for each GPU."""
    options = options or UtilizationOptions()
    return [_gpu_utilization(timeline, options) for timeline in timelines]


def _gpu_utilization(timeline: GpuTimeline, options: UtilizationOptions) -> GpuUtilization:
    busy_ns = timeline.busy.union_ns
    by_class = timeline.class_times
    return GpuUtilization(
        gpu=timeline.gpu,
        time=BusyTime(
            op_count=timeline.op_count,
            start_ns=int(timeline.busy.starts[0]),
            end_ns=int(timeline.busy.ends[-1]),
            busy_ns=busy_ns,
            duration_sum_ns=timeline.duration_sum_ns,
        ),
        compute_ns=by_class.compute_ns,
        communication_ns=by_class.communication_ns,
        copy_ns=by_class.copy_ns,
        # |A - B| is |A or B| - |B|: lengths suffice, no set is built.
        exposed_communication_ns=by_class.compute_or_communication_ns - by_class.compute_ns,
        exposed_copy_ns=busy_ns - by_class.compute_or_communication_ns,
        depth_ns=_depth_ns(timeline) if options.concurrency else (),
        queues=tuple(_queue_utilization(queue) for queue in timeline.queues),
    )


def _depth_ns(timeline: GpuTimeline) -> tuple[int, ...]:
    ops = timeline.ops
    return tuple(busy_at_depth_of_sorted(ops.starts, ops.ends))


def _queue_utilization(timeline: QueueTimeline) -> QueueUtilization:
    ops = timeline.ops
    time = BusyTime(
        op_count=len(ops),
        start_ns=int(ops.starts[0]),
        end_ns=int(ops.ends[-1]),
        busy_ns=ops.union_ns,
        duration_sum_ns=ops.duration_sum_ns,
    )
    return QueueUtilization(timeline.gpu, timeline.queue, time)


def utilization(
    trace: Trace,
    options: UtilizationOptions | None = None,
    *,
    timelines: Sequence[GpuTimeline] | None = None,
) -> Result:
    """Tables `gpus`, `queues` and, if asked for, `concurrency`; findings; sums as facts.

    `timelines` are those of `trace`, for callers that need them for other analyses too.
    """
    options = options or UtilizationOptions()
    timelines = gpu_timelines(trace) if timelines is None else timelines
    gpus = gpu_utilizations(timelines, options)
    tables = [_gpu_table(gpus), _queue_table(gpus)]
    if options.concurrency:
        tables.append(_concurrency_table(gpus))
    barrier_count = len(trace.ops) - sum(gpu.time.op_count for gpu in gpus)
    return Result(
        "GPU utilization",
        tables,
        [*gpu_idle(gpus), *exposed_communication(gpus)],
        _facts(gpus, barrier_count),
    )


def _facts(gpus: Sequence[GpuUtilization], barrier_count: int) -> dict[str, Value]:
    if not gpus:
        return {"gpu_count": 0, "barrier_count": barrier_count}
    trace_span_ns = max(g.time.end_ns for g in gpus) - min(g.time.start_ns for g in gpus)
    busy_ns = sum(gpu.time.busy_ns for gpu in gpus)
    return {
        "gpu_count": len(gpus),
        "queue_count": sum(len(gpu.queues) for gpu in gpus),
        "barrier_count": barrier_count,
        "gpu_span_ns": trace_span_ns,
        "gpu_busy_ns": busy_ns,
        "gpu_busy_percent": percent_of(busy_ns, trace_span_ns * len(gpus)),
    }


_GPU_COLUMNS = (
    ResultColumn("gpu", "GPU", meaning="GPU number in the trace"),
    ResultColumn("op_count", "Ops", Unit.COUNT, "kernels, copies and fills; not barriers"),
    ResultColumn("queue_count", "Queues", Unit.COUNT, "queues with at least one op"),
    ResultColumn("span_ns", "Span", Unit.NS, "first start to last end"),
    ResultColumn("busy_ns", "Busy", Unit.NS, "time with at least one op running"),
    ResultColumn("busy_percent", "Busy %", Unit.PERCENT, "busy / span"),
    ResultColumn("idle_ns", "Idle", Unit.NS, "span - busy"),
    ResultColumn("compute_ns", "Compute", Unit.NS, "time with a compute op running"),
    ResultColumn("communication_ns", "Comm", Unit.NS, "time with a collective running"),
    ResultColumn("copy_ns", "Copy", Unit.NS, "time with a copy running"),
    ResultColumn(
        "exposed_communication_ns", "Exposed comm", Unit.NS, "communication without compute"
    ),
    ResultColumn(
        "exposed_copy_ns", "Exposed copy", Unit.NS, "copies without compute or communication"
    ),
    ResultColumn("overlap_percent", "Overlap %", Unit.PERCENT, "communication behind compute"),
    ResultColumn("duration_sum_ns", "Sum", Unit.NS, "all durations added up"),
    ResultColumn("mean_concurrency", "At once", meaning="sum / busy: ops running at once"),
)


def _gpu_table(gpus: Sequence[GpuUtilization]) -> ResultTable:
    rows: list[tuple[Value, ...]] = [
        (
            gpu.gpu,
            gpu.time.op_count,
            len(gpu.queues),
            gpu.time.span_ns,
            gpu.time.busy_ns,
            gpu.time.busy_percent,
            gpu.time.idle_ns,
            gpu.compute_ns,
            gpu.communication_ns,
            gpu.copy_ns,
            gpu.exposed_communication_ns,
            gpu.exposed_copy_ns,
            gpu.overlap_percent,
            gpu.time.duration_sum_ns,
            gpu.time.mean_concurrency,
        )
        for gpu in gpus
    ]
    return ResultTable("gpus", "GPU utilization", _GPU_COLUMNS, rows)


_QUEUE_COLUMNS = (
    ResultColumn("gpu", "GPU", meaning="GPU number in the trace"),
    ResultColumn("queue", "Queue", meaning="queue or stream number within the GPU"),
    ResultColumn("op_count", "Ops", Unit.COUNT, "kernels, copies and fills; not barriers"),
    ResultColumn("span_ns", "Span", Unit.NS, "first start to last end on this queue"),
    ResultColumn("busy_ns", "Busy", Unit.NS, "time with at least one op of this queue running"),
    ResultColumn("busy_percent", "Busy %", Unit.PERCENT, "busy / span"),
    ResultColumn("idle_ns", "Idle", Unit.NS, "span - busy"),
    ResultColumn("gpu_span_percent", "of GPU %", Unit.PERCENT, "busy / span of the GPU"),
    ResultColumn("duration_sum_ns", "Sum", Unit.NS, "all durations added up"),
)


def _queue_table(gpus: Sequence[GpuUtilization]) -> ResultTable:
    rows: list[tuple[Value, ...]] = [
        (
            gpu.gpu,
            queue.queue,
            queue.time.op_count,
            queue.time.span_ns,
            queue.time.busy_ns,
            queue.time.busy_percent,
            queue.time.idle_ns,
            percent_of(queue.time.busy_ns, gpu.time.span_ns),
            queue.time.duration_sum_ns,
        )
        for gpu in gpus
        for queue in gpu.queues
    ]
    return ResultTable("queues", "Queues", _QUEUE_COLUMNS, rows)


_CONCURRENCY_COLUMNS = (
    ResultColumn("gpu", "GPU", meaning="GPU number in the trace"),
    ResultColumn("ops_at_once", "Ops at once", Unit.COUNT, "how many ops ran; 0 is idle"),
    ResultColumn("time_ns", "Time", Unit.NS, "how long exactly so many ran"),
    ResultColumn("span_percent", "of span %", Unit.PERCENT, "time / span of the GPU"),
)


def _concurrency_table(gpus: Sequence[GpuUtilization]) -> ResultTable:
    rows: list[tuple[Value, ...]] = [
        (gpu.gpu, depth, length_ns, percent_of(length_ns, gpu.time.span_ns))
        for gpu in gpus
        for depth, length_ns in enumerate(gpu.depth_ns)
    ]
    return ResultTable("concurrency", "Ops running at once", _CONCURRENCY_COLUMNS, rows)
