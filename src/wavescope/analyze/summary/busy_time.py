"""How busy each GPU and queue was, with what, and how long they idled: the tables.

docs/definitions.md publishes every number here; `ops/utilization.py` and `ops/gaps.py` compute
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wavescope.analyze.ops.busy_timelines import busy_basis, busy_timelines
from wavescope.analyze.ops.coverage import recorded
from wavescope.analyze.ops.gaps import Gap, GapBin, GpuGaps, gpu_gaps, largest_gaps
from wavescope.analyze.ops.gpu_timelines import gpu_timelines
from wavescope.analyze.ops.op_labels import short_op_name
from wavescope.analyze.ops.utilization import GpuUtilization, QueueUtilization, gpu_utilizations
from wavescope.analyze.quick_findings import (
    DEFAULT_THRESHOLDS,
    exposed_communication,
    gpu_idle,
    small_gaps,
)
from wavescope.model.result import (
    ColumnOf,
    Result,
    ResultColumn,
    ResultTable,
    Unit,
    Value,
    table_of,
)
from wavescope.model.trace import Trace
from wavescope.units import duration_text, percent_of

if TYPE_CHECKING:
    from wavescope.analyze.ops.recorded import Recorded


@dataclass(frozen=True)
class UtilizationOptions:
    """What to compute."""

    concurrency: bool = False
    """Whether to tell how long how many ops ran at once: nearly doubles the work on busy traces."""


def utilization(trace: Trace, options: UtilizationOptions | None = None) -> Result:
    """Tables `gpus`, `queues` and, if asked for, `concurrency`; findings; sums as facts."""
    options = options or UtilizationOptions()
    gpus = gpu_utilizations(trace.derived(busy_timelines), concurrency=options.concurrency)
    queues = [(gpu, queue) for gpu in gpus for queue in gpu.queues]
    tables = [
        table_of("gpus", "GPU utilization", _GPU_COLUMNS, gpus),
        table_of("queues", "Queues", _QUEUE_COLUMNS, queues),
    ]
    if options.concurrency:
        depths = [(gpu, *row) for gpu in gpus for row in enumerate(gpu.depth_ns)]
        tables.append(table_of("concurrency", "Ops running at once", _CONCURRENCY_COLUMNS, depths))
    working = sum(timeline.op_count for timeline in trace.derived(gpu_timelines))
    facts = {**_facts(gpus, len(trace.ops) - working), **busy_basis(trace)}
    sampled = recorded(trace)
    if sampled is not None:
        return _sampled(Result("GPU utilization", tables, [], facts), trace, sampled)
    found = [] if trace.lacks_ops else gpu_idle(gpus, is_part=trace.part_of is not None)
    if not trace.hides_ops:
        found += exposed_communication(gpus)
    return Result("GPU utilization", tables, found, facts)


def _sampled(result: Result, trace: Trace, sampled: Recorded) -> Result:
    """The utilization in slices with what it says of the run; no finding promises unseen time."""
    from wavescope.analyze.summary.sampled_busy_time import sampled_utilization  # noqa: PLC0415

    return sampled_utilization(result, trace, sampled)


def _facts(gpus: Sequence[GpuUtilization], barrier_count: int) -> dict[str, Value]:
    if not gpus:
        return {"gpu_count": 0, "barrier_count": barrier_count}
    trace_span_ns = max(g.time.end_ns for g in gpus) - min(g.time.start_ns for g in gpus)
    busy_ns = sum(gpu.time.busy_ns for gpu in gpus)
    own_span_ns = sum(gpu.time.span_ns for gpu in gpus)
    facts: dict[str, Value] = {
        "gpu_count": len(gpus),
        "queue_count": sum(len(gpu.queues) for gpu in gpus),
        "barrier_count": barrier_count,
        "gpu_span_ns": trace_span_ns,
        "gpu_busy_ns": busy_ns,
        "gpu_busy_percent": percent_of(busy_ns, trace_span_ns * len(gpus)),
        "busy_percent": percent_of(busy_ns, own_span_ns),
    }
    if len(gpus) > 1:
        facts["gpus_in_use_percent"] = percent_of(own_span_ns, trace_span_ns * len(gpus))
    return facts


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


@dataclass(frozen=True)
class GapOptions:
    """How many of the largest gaps to list, and what counts as a small one."""

    largest: int = 10
    small_ns: int = int(DEFAULT_THRESHOLDS.small_gap_ns)


def gaps(trace: Trace, options: GapOptions | None = None) -> Result:
    """Tables `gaps` (per GPU), `gap_histogram` and `largest_gaps`, and findings."""
    options = options or GapOptions()
    measured = gpu_gaps(trace.derived(busy_timelines), options.small_ns)
    tables = [
        _gap_table(measured, options.small_ns),
        table_of("gap_histogram", "Gaps by length", _HISTOGRAM_COLUMNS, _filled_bins(measured)),
        _largest_table(trace, options.largest, sum(gpu.gap_count for gpu in measured)),
    ]
    is_partial = trace.lacks_ops or recorded(trace) is not None
    return Result("Idle gaps", tables, [] if is_partial else small_gaps(measured, options.small_ns))


def _gap_table(measured: Sequence[GpuGaps], small_ns: int) -> ResultTable:
    small = duration_text(small_ns)
    columns: tuple[ColumnOf[GpuGaps], ...] = (
        _GPU.of(lambda gpu: gpu.gpu),
        ResultColumn("gap_count", "Gaps", Unit.COUNT, "stretches without any op running").of(
            lambda gpu: gpu.gap_count
        ),
        ResultColumn("total_ns", "Total", Unit.NS, "all gaps added up: the idle time").of(
            lambda gpu: gpu.total_ns
        ),
        ResultColumn("mean_ns", "Mean", Unit.NS, "total / gaps").of(
            lambda gpu: gpu.total_ns / gpu.gap_count if gpu.gap_count else None
        ),
        ResultColumn("longest_ns", "Longest", Unit.NS, "the longest gap").of(
            lambda gpu: gpu.longest_ns if gpu.gap_count else None
        ),
        ResultColumn("small_count", f"Under {small}", Unit.COUNT, f"gaps shorter than {small}").of(
            lambda gpu: gpu.small_count
        ),
        ResultColumn("small_total_ns", f"Total under {small}", Unit.NS, "these added up").of(
            lambda gpu: gpu.small_total_ns
        ),
        ResultColumn("small_span_percent", "of span %", Unit.PERCENT, "these / span of the GPU").of(
            lambda gpu: percent_of(gpu.small_total_ns, gpu.span_ns)
        ),
    )
    return table_of("gaps", "Idle gaps", columns, measured)


def _filled_bins(measured: Sequence[GpuGaps]) -> Iterator[tuple[GpuGaps, GapBin]]:
    return ((gpu, each) for gpu in measured for each in gpu.bins if each.gap_count)


_HISTOGRAM_COLUMNS: tuple[ColumnOf[tuple[GpuGaps, GapBin]], ...] = (
    _GPU.of(lambda row: row[0].gpu),
    ResultColumn("from_ns", "From", Unit.NS, "shortest gap of the bin").of(
        lambda row: row[1].from_ns
    ),
    ResultColumn(
        "below_ns", "Below", Unit.NS, "all gaps of the bin are shorter; none for the last"
    ).of(lambda row: row[1].below_ns),
    ResultColumn("gap_count", "Gaps", Unit.COUNT, "gaps of that length").of(
        lambda row: row[1].gap_count
    ),
    ResultColumn("total_ns", "Total", Unit.NS, "these added up").of(lambda row: row[1].total_ns),
    ResultColumn("idle_percent", "of idle %", Unit.PERCENT, "total / idle time of the GPU").of(
        lambda row: 100 * row[1].total_ns / row[0].total_ns
    ),
)


def _largest_table(trace: Trace, count: int, gap_count: int) -> ResultTable:
    columns: tuple[ColumnOf[Gap], ...] = (
        _GPU.of(lambda gap: gap.gpu),
        ResultColumn("start_ns", "Start", Unit.TIME, "end of the op before").of(
            lambda gap: gap.start_ns
        ),
        ResultColumn("end_ns", "End", Unit.TIME, "start of the op after").of(
            lambda gap: gap.end_ns
        ),
        ResultColumn("duration_ns", "Length", Unit.NS, "end - start").of(
            lambda gap: gap.duration_ns
        ),
        ResultColumn("before", "Op before", Unit.NAME, "op that ended as the gap began").of(
            lambda gap: _name_of(trace.whole, gap.before)
        ),
        ResultColumn("after", "Op after", Unit.NAME, "op that ended the gap").of(
            lambda gap: _name_of(trace.whole, gap.after)
        ),
    )
    largest = largest_gaps(trace.whole, trace.derived(busy_timelines), count)
    return table_of("largest_gaps", "Largest gaps", columns, largest, gap_count)


def _name_of(trace: Trace, row: int | None) -> str | None:
    return None if row is None else short_op_name(trace, row)
