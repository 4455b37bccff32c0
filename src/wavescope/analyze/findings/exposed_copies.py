"""Copies during which the GPU does nothing else."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.findings.context import FindingContext, Rows
from wavescope.analyze.ops.utilization import GpuUtilization
from wavescope.analyze.quick_findings import evidence_sql
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Finding, Severity
from wavescope.units import duration_text

ID = "exposed-copies"
_SHOWN = 3


def exposed_copies(context: FindingContext) -> list[Finding]:
    """A finding for each GPU that spends much of its span only copying."""
    findings = []
    for gpu in context.utilizations:
        span_ns = gpu.time.span_ns
        share = 100 * gpu.exposed_copy_ns / span_ns if span_ns else 0.0
        rows = _copies(context, gpu.gpu)
        # Copies that began before a selected time keep the GPU busy, but are not of the selection.
        if share >= context.thresholds.exposed_copy_percent and len(rows):
            findings.append(_finding(context, gpu, share, rows))
    return findings


def _copies(context: FindingContext, gpu: int) -> Rows:
    is_copy = context.trace.op_kind == OpKind.COPY
    return np.flatnonzero(is_copy & (context.trace.ops["gpu"] == gpu))


def _finding(context: FindingContext, gpu: GpuUtilization, share: float, rows: Rows) -> Finding:
    ops = context.trace.ops
    longest = rows[np.argsort(-context.durations_ns[rows].astype(np.int64), kind="stable")]
    direction = context.trace.strings[int(ops["type"][longest[0]])]
    return Finding(
        ID,
        Severity.WARNING,
        f"GPU {gpu.gpu} spent {share:.1f} % of its span only copying",
        f"{duration_text(gpu.exposed_copy_ns)} of {duration_text(gpu.copy_ns)} in {len(rows):,} "
        f"copies ran beside nothing else; the longest ({direction}) took "
        f"{duration_text(int(context.durations_ns[longest[0]]))}: ops "
        f"{context.op_ids(longest[:_SHOWN])}",
        "copy from pinned memory, asynchronously and on a stream of its own, or keep the data on "
        "the GPU",
        f"gpu {gpu.gpu}",
        gain_percent=share,
        gain_basis="all copies hidden behind other work",
        sql=evidence_sql.copies_sql(gpu.gpu),
        numbers={
            "gpu": gpu.gpu,
            "copies": len(rows),
            "copy_ns": gpu.copy_ns,
            "exposed_ns": gpu.exposed_copy_ns,
            "exposed_percent": share,
            "longest_op": context.op_id(int(longest[0])),
        },
    )
