"""Communication that no compute hides."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.analyze.ops.utilization import GpuUtilization
from wavescope.analyze.quick_findings.evidence_sql import collectives_sql
from wavescope.analyze.quick_findings.thresholds import DEFAULT_THRESHOLDS, Thresholds
from wavescope.model.result import Finding, Severity
from wavescope.units import duration_text

ID = "exposed-communication"


def exposed_communication(
    gpus: Sequence[GpuUtilization], thresholds: Thresholds = DEFAULT_THRESHOLDS
) -> list[Finding]:
    """A finding for each GPU that spends much of its span communicating without computing."""
    findings = []
    for gpu in gpus:
        span_ns = gpu.time.span_ns
        share = 100 * gpu.exposed_communication_ns / span_ns if span_ns else 0.0
        if share >= thresholds.exposed_communication_percent:
            findings.append(_finding(gpu, share))
    return findings


def _finding(gpu: GpuUtilization, share: float) -> Finding:
    overlap = gpu.overlap_percent or 0.0
    return Finding(
        ID,
        Severity.WARNING,
        f"GPU {gpu.gpu} spent {share:.1f} % of its span in communication without compute",
        f"{duration_text(gpu.exposed_communication_ns)} of "
        f"{duration_text(gpu.communication_ns)} communication was not hidden "
        f"({overlap:.1f} % overlapped)",
        "overlap collectives with compute on another stream, make them smaller or fewer, or look "
        "for a slower rank that the others wait for",
        f"gpu {gpu.gpu}",
        gain_percent=share,
        gain_basis="all communication hidden behind compute",
        sql=collectives_sql(gpu.gpu),
        numbers={
            "gpu": gpu.gpu,
            "span_ns": gpu.time.span_ns,
            "communication_ns": gpu.communication_ns,
            "exposed_ns": gpu.exposed_communication_ns,
            "exposed_percent": share,
            "overlap_percent": overlap,
        },
    )
