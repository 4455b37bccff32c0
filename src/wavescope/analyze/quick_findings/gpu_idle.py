"""GPUs that idle for much of their span; `idle_causes` adds why."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.analyze.ops.utilization import GpuUtilization
from wavescope.analyze.quick_findings.evidence_sql import gaps_sql
from wavescope.analyze.quick_findings.thresholds import DEFAULT_THRESHOLDS, Thresholds
from wavescope.model.result import Finding, Severity
from wavescope.units import duration_text

ID = "gpu-idle"


def idle_share_percent(gpu: GpuUtilization) -> float:
    """Idle time by span."""
    return 100 * gpu.time.idle_ns / gpu.time.span_ns if gpu.time.span_ns else 0.0


def gpu_idle(
    gpus: Sequence[GpuUtilization], thresholds: Thresholds = DEFAULT_THRESHOLDS
) -> list[Finding]:
    """A finding for each GPU that idles much, from its busy time alone."""
    return [
        idle_finding(gpu, thresholds)
        for gpu in gpus
        if idle_share_percent(gpu) >= thresholds.idle_percent
    ]


def idle_finding(gpu: GpuUtilization, thresholds: Thresholds) -> Finding:
    """The finding for one GPU, from its busy time alone."""
    share = idle_share_percent(gpu)
    is_problem = share >= thresholds.idle_problem_percent
    return Finding(
        ID,
        Severity.PROBLEM if is_problem else Severity.WARNING,
        f"GPU {gpu.gpu} was idle for {share:.1f} % of its span",
        f"{duration_text(gpu.time.idle_ns)} of {duration_text(gpu.time.span_ns)} "
        f"between its first and last op had no op running",
        "`wavescope findings` tells likely causes; look at the largest gaps",
        f"gpu {gpu.gpu}",
        gain_percent=share,
        gain_basis="no idle time left",
        sql=gaps_sql(gpu.gpu),
        numbers={
            "gpu": gpu.gpu,
            "span_ns": gpu.time.span_ns,
            "idle_ns": gpu.time.idle_ns,
            "idle_percent": share,
        },
    )
