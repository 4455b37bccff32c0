"""Time lost in very many small gaps."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.analyze.ops.gaps import GpuGaps
from wavescope.analyze.quick_findings.evidence_sql import gaps_sql
from wavescope.analyze.quick_findings.thresholds import DEFAULT_THRESHOLDS, Thresholds
from wavescope.model.result import Finding, Severity
from wavescope.units import count_text, duration_text

ID = "small-gaps"


def small_gaps(
    gpus: Sequence[GpuGaps], small_ns: int, thresholds: Thresholds = DEFAULT_THRESHOLDS
) -> list[Finding]:
    """A finding for each GPU with much time in gaps under `small_ns`."""
    findings = []
    for gpu in gpus:
        share = 100 * gpu.small_total_ns / gpu.span_ns if gpu.span_ns else 0.0
        if share < thresholds.small_gap_percent:
            continue
        findings.append(
            Finding(
                ID,
                Severity.WARNING,
                f"GPU {gpu.gpu} lost {share:.1f} % of its span in gaps under "
                f"{duration_text(small_ns)}",
                f"{count_text(gpu.small_count)} gaps, together {duration_text(gpu.small_total_ns)}",
                "launch overhead between short kernels: use graphs, or fuse kernels",
                f"gpu {gpu.gpu}",
                gain_percent=share,
                gain_basis="none of these gaps left",
                sql=gaps_sql(gpu.gpu, most_ns=small_ns),
                numbers={
                    "gpu": gpu.gpu,
                    "gap_count": gpu.small_count,
                    "gaps_ns": gpu.small_total_ns,
                    "span_percent": share,
                },
            )
        )
    return findings
