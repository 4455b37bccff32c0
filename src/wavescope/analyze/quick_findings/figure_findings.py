"""The findings that figures of a summary tell: idle GPUs, gaps, communication, clocks, repairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.gaps import GpuGaps
from wavescope.analyze.ops.utilization import GpuUtilization
from wavescope.analyze.quick_findings.evidence_sql import collectives_sql, gaps_sql, inversions_sql
from wavescope.analyze.quick_findings.thresholds import DEFAULT_THRESHOLDS, Thresholds
from wavescope.model.result import Finding, Severity
from wavescope.model.trace import Trace
from wavescope.units import count_text, counted, duration_text


def idle_share_percent(gpu: GpuUtilization) -> float:
    """Idle time by span."""
    return 100 * gpu.time.idle_ns / gpu.time.span_ns if gpu.time.span_ns else 0.0


def gpu_idle(
    gpus: Sequence[GpuUtilization],
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    *,
    is_part: bool = False,
) -> list[Finding]:
    """A finding for each GPU that idles much, from its busy time alone; `is_part` of a trace.

    It promises no gain: how much of the idle time can go is told by what caused it.
    """
    return [
        idle_finding(gpu, thresholds, is_part=is_part)._replace(gain_percent=None, gain_basis="")
        for gpu in gpus
        if idle_share_percent(gpu) >= thresholds.idle_percent
    ]


def idle_finding(gpu: GpuUtilization, thresholds: Thresholds, *, is_part: bool) -> Finding:
    """The finding for one GPU, from its busy time alone; `is_part` of a trace."""
    share = idle_share_percent(gpu)
    is_problem = share >= thresholds.idle_problem_percent
    is_few = gpu.time.op_count < thresholds.few_ops
    return Finding(
        "gpu-idle",
        Severity.INFO if is_few else Severity.PROBLEM if is_problem else Severity.WARNING,
        f"GPU {gpu.gpu} was idle for {share:.1f} % of "
        + ("the selected time" if is_part else "its span"),
        f"{duration_text(gpu.time.idle_ns)} of {duration_text(gpu.time.span_ns)} "
        + ("that were selected" if is_part else "between its first and last op")
        + " had no op running",
        "`wavescope findings` tells likely causes; look at the largest gaps",
        f"gpu {gpu.gpu}",
        gain_percent=None if is_few else share,
        gain_basis="" if is_few else "no idle time left, the same ops as long as now",
        sql=gaps_sql(gpu.gpu),
        numbers={
            "gpu": gpu.gpu,
            "span_ns": gpu.time.span_ns,
            "idle_ns": gpu.time.idle_ns,
            "idle_percent": share,
        },
    )


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
                "small-gaps",
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


def exposed_communication(
    gpus: Sequence[GpuUtilization], thresholds: Thresholds = DEFAULT_THRESHOLDS
) -> list[Finding]:
    """A finding for each GPU that spends much of its span communicating without computing."""
    findings = []
    for gpu in gpus:
        span_ns = gpu.time.span_ns
        share = 100 * gpu.exposed_communication_ns / span_ns if span_ns else 0.0
        if share >= thresholds.exposed_communication_percent:
            findings.append(_exposed_finding(gpu, share))
    return findings


def _exposed_finding(gpu: GpuUtilization, share: float) -> Finding:
    overlap = gpu.overlap_percent or 0.0
    return Finding(
        "exposed-communication",
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


def clock_inversion(after_start_ns: npt.NDArray[np.int64]) -> list[Finding]:
    """One finding if any op began before its call; given is op start - call start of each."""
    inverted = after_start_ns[after_start_ns < 0]
    if not len(inverted):
        return []
    return [
        Finding(
            "clock-inversion",
            Severity.WARNING,
            f"{counted(len(inverted), 'op')} began before the launching call",
            f"by up to {duration_text(-int(inverted.min()))}; of "
            f"{counted(len(after_start_ns), 'op')} with a call",
            "host and GPU clocks disagree: read launch latencies as differences only",
            sql=inversions_sql(),
            numbers={
                "inverted": len(inverted),
                "linked": len(after_start_ns),
                "largest_ns": -int(inverted.min()),
            },
        )
    ]


def input_repaired(trace: Trace) -> list[Finding]:
    """A finding for each note of the reader."""
    return [
        Finding(
            "input-repaired",
            Severity.INFO,
            f"{sentence}: {count:,}",
            f"{trace.format} reader, {trace.path}",
            "check the recording if these rows matter",
            numbers={"rows": count},
        )
        for sentence, count in trace.notes
    ]
