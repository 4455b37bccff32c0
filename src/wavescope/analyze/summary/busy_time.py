"""How busy each GPU and queue was, with what, and what was hidden behind compute: the tables.

docs/definitions.md publishes every number here; `ops/utilization.py` computes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wavescope.analyze.ops.gpu_timelines import gpu_timelines
from wavescope.analyze.ops.utilization import (
    GpuUtilization,
    QueueUtilization,
    gpu_utilizations,
    percent_of,
)
from wavescope.analyze.quick_findings import exposed_communication, gpu_idle
from wavescope.model.result import ColumnOf, Result, ResultColumn, Unit, Value, table_of
from wavescope.model.trace import Trace


@dataclass(frozen=True)
class UtilizationOptions:
    """What to compute."""

    concurrency: bool = False
    """Whether to tell how long how many ops ran at once: nearly doubles the work on busy traces."""


def utilization(trace: Trace, options: UtilizationOptions | None = None) -> Result:
    """Tables `gpus`, `queues` and, if asked for, `concurrency`; findings; sums as facts."""
    options = options or UtilizationOptions()
    gpus = gpu_utilizations(trace.derived(gpu_timelines), concurrency=options.concurrency)
    queues = [(gpu, queue) for gpu in gpus for queue in gpu.queues]
    tables = [
        table_of("gpus", "GPU utilization", _GPU_COLUMNS, gpus),
        table_of("queues", "Queues", _QUEUE_COLUMNS, queues),
    ]
    if options.concurrency:
        depths = [(gpu, *row) for gpu in gpus for row in enumerate(gpu.depth_ns)]
        tables.append(table_of("concurrency", "Ops running at once", _CONCURRENCY_COLUMNS, depths))
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


_GPU = ResultColumn("gpu", "GPU", meaning="GPU number in the trace")
_OPS = ResultColumn("op_count", "Ops", Unit.COUNT, "kernels, copies and fills; not barriers")
_BUSY_PERCENT = ResultColumn("busy_percent", "Busy %", Unit.PERCENT, "busy / span")
_IDLE = ResultColumn("idle_ns", "Idle", Unit.NS, "span - busy")
_SUM = ResultColumn("duration_sum_ns", "Sum", Unit.NS, "all durations added up")

_GPU_COLUMNS: tuple[ColumnOf[GpuUtilization], ...] = (
    _GPU.of(lambda gpu: gpu.gpu),
    _OPS.of(lambda gpu: gpu.time.op_count),
    ResultColumn("queue_count", "Queues", Unit.COUNT, "queues with at least one op").of(
        lambda gpu: len(gpu.queues)
    ),
    ResultColumn("span_ns", "Span", Unit.NS, "first start to last end").of(
        lambda gpu: gpu.time.span_ns
    ),
    ResultColumn("busy_ns", "Busy", Unit.NS, "time with at least one op running").of(
        lambda gpu: gpu.time.busy_ns
    ),
    _BUSY_PERCENT.of(lambda gpu: gpu.time.busy_percent),
    _IDLE.of(lambda gpu: gpu.time.idle_ns),
    ResultColumn("compute_ns", "Compute", Unit.NS, "time with a compute op running").of(
        lambda gpu: gpu.compute_ns
    ),
    ResultColumn("communication_ns", "Comm", Unit.NS, "time with a collective running").of(
        lambda gpu: gpu.communication_ns
    ),
    ResultColumn("copy_ns", "Copy", Unit.NS, "time with a copy running").of(
        lambda gpu: gpu.copy_ns
    ),
    ResultColumn(
        "exposed_communication_ns", "Exposed comm", Unit.NS, "communication without compute"
    ).of(lambda gpu: gpu.exposed_communication_ns),
    ResultColumn(
        "exposed_copy_ns", "Exposed copy", Unit.NS, "copies without compute or communication"
    ).of(lambda gpu: gpu.exposed_copy_ns),
    ResultColumn("overlap_percent", "Overlap %", Unit.PERCENT, "communication behind compute").of(
        lambda gpu: gpu.overlap_percent
    ),
    _SUM.of(lambda gpu: gpu.time.duration_sum_ns),
    ResultColumn("mean_concurrency", "At once", meaning="sum / busy: ops running at once").of(
        lambda gpu: gpu.time.mean_concurrency
    ),
)


_QUEUE_COLUMNS: tuple[ColumnOf[tuple[GpuUtilization, QueueUtilization]], ...] = (
    _GPU.of(lambda row: row[0].gpu),
    ResultColumn("queue", "Queue", meaning="queue or stream number within the GPU").of(
        lambda row: row[1].queue
    ),
    _OPS.of(lambda row: row[1].time.op_count),
    ResultColumn("span_ns", "Span", Unit.NS, "first start to last end on this queue").of(
        lambda row: row[1].time.span_ns
    ),
    ResultColumn("busy_ns", "Busy", Unit.NS, "time with at least one op of this queue running").of(
        lambda row: row[1].time.busy_ns
    ),
    _BUSY_PERCENT.of(lambda row: row[1].time.busy_percent),
    _IDLE.of(lambda row: row[1].time.idle_ns),
    ResultColumn("gpu_span_percent", "of GPU %", Unit.PERCENT, "busy / span of the GPU").of(
        lambda row: percent_of(row[1].time.busy_ns, row[0].time.span_ns)
    ),
    _SUM.of(lambda row: row[1].time.duration_sum_ns),
)


_CONCURRENCY_COLUMNS: tuple[ColumnOf[tuple[GpuUtilization, int, int]], ...] = (
    _GPU.of(lambda row: row[0].gpu),
    ResultColumn("ops_at_once", "Ops at once", Unit.COUNT, "how many ops ran; 0 is idle").of(
        lambda row: row[1]
    ),
    ResultColumn("time_ns", "Time", Unit.NS, "how long exactly so many ran").of(lambda row: row[2]),
    ResultColumn("span_percent", "of span %", Unit.PERCENT, "time / span of the GPU").of(
        lambda row: percent_of(row[2], row[0].time.span_ns)
    ),
)
