"""Several queues that hardly ever run at the same time."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.ops.gpu_timelines import GpuTimeline, QueueTimeline, SortedOps
from wavescope.analyze.quick_findings import evidence_sql
from wavescope.model.result import Finding, Severity
from wavescope.units import duration_text

ID = "queue-serialization"
_FEWEST_TURNS = 20


def queue_serialization(context: FindingContext) -> list[Finding]:
    """A finding for each GPU on which several busy queues take turns instead of overlapping."""
    findings = []
    for timeline in context.timelines:
        least_ns = context.thresholds.queue_busy_percent * timeline.busy.union_ns / 100
        queues = [queue for queue in timeline.queues if queue.ops.union_ns >= max(least_ns, 1)]
        queues.sort(key=lambda queue: -queue.ops.union_ns)
        if len(queues) < 2 or not _interleave(queues):
            continue
        if _handover_ns(queues) > context.thresholds.queue_handover_ns:
            continue
        sum_ns = sum(queue.ops.union_ns for queue in queues)
        union_ns = SortedOps.stretches([queue.ops for queue in queues]).union_ns
        overlap = 100 * (sum_ns - union_ns) / sum_ns
        if overlap <= context.thresholds.queue_overlap_percent:
            findings.append(_finding(timeline, queues, sum_ns, overlap))
    return findings


def _interleave(queues: list[QueueTimeline]) -> bool:
    """Whether the queues are in use over the same stretch of time, and take turns in it.

    A queue that is used only before or after another one could not have overlapped with it.
    """
    first, second = queues[0].ops, queues[1].ops
    start = max(int(first.starts[0]), int(second.starts[0]))
    end = min(int(first.ends[-1]), int(second.ends[-1]))
    turns = [
        int(ops.starts.searchsorted(end) - ops.starts.searchsorted(start))
        for ops in (first, second)
    ]
    return end > start and min(turns) >= _FEWEST_TURNS


def _handover_ns(queues: list[QueueTimeline]) -> float:
    """The time from the end of one queue's op to the start of the next on the other, as a median.

    It is long where the host launches so slowly that ops could not meet: that is no waiting.
    """
    first, second = queues[0].ops, queues[1].ops
    medians = []
    for before, after in ((first, second), (second, first)):
        places = before.ends.searchsorted(after.starts, side="right") - 1
        followed = places >= 0
        distances = after.starts[followed] - before.ends[places[followed]]
        medians.append(float(np.median(distances)) if len(distances) else np.inf)
    return max(medians)


def _finding(
    timeline: GpuTimeline, queues: list[QueueTimeline], sum_ns: int, overlap: float
) -> Finding:
    largest_ns = queues[0].ops.union_ns
    span_ns = timeline.span_ns
    gain = 100 * (sum_ns - largest_ns) / span_ns if span_ns else 0.0
    shown = ", ".join(f"queue {q.queue} {duration_text(q.ops.union_ns)}" for q in queues[:4])
    return Finding(
        ID,
        Severity.INFO,
        f"{len(queues)} queues of GPU {timeline.gpu} take turns: they overlap {overlap:.1f} %",
        f"{shown}; together {duration_text(sum_ns)} of work, of which hardly any ran at the same "
        f"time",
        "if their work is independent: remove events and synchronization between the streams, and "
        "make sure that they have hardware queues of their own (GPU_MAX_HW_QUEUES)",
        f"gpu {timeline.gpu}",
        gain_percent=gain,
        gain_basis="all queues hidden behind the busiest, if nothing depends on the order",
        sql=evidence_sql.queues_sql(timeline.gpu),
        numbers={
            "gpu": timeline.gpu,
            "queues": len(queues),
            "busy_sum_ns": sum_ns,
            "largest_ns": largest_ns,
            "overlap_percent": overlap,
        },
    )
