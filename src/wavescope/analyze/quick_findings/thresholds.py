"""From where on something is worth telling: the one table of thresholds of all findings.

docs/findings.md shows this table; a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

from wavescope.errors import UsageError


def _limit(value: float, unit: str, finding: str, meaning: str) -> float:
    """A field with that default, and what docs say of it."""
    described = {"unit": unit, "finding": finding, "meaning": meaning}
    default: float = field(default=value, metadata=described)
    return default


@dataclass(frozen=True)
class Thresholds:
    """When a finding is told; every number has its unit and meaning beside it."""

    back_to_back_ns: float = _limit(
        1_000, "ns", "all on gaps", "shorter gaps are the GPU's own step from op to op"
    )
    idle_percent: float = _limit(20, "% of the span", "gpu-idle", "least idle time")
    idle_problem_percent: float = _limit(
        50, "% of the span", "gpu-idle", "from here on it is a problem, not a warning"
    )
    few_ops: float = _limit(
        30, "ops", "gpu-idle", "a GPU with fewer is mentioned only, without a gain"
    )
    queued_latency_ns: float = _limit(
        20_000,
        "ns",
        "gpu-idle",
        "an idle GPU begins a launched op within this time; beyond it the op waits for something",
    )
    small_gap_ns: float = _limit(10_000, "ns", "small-gaps", "gaps shorter than this are small")
    small_gap_percent: float = _limit(10, "% of the span", "small-gaps", "least time in small gaps")
    launch_op_count: float = _limit(30, "ops", "launch-bound", "fewest ops of the phase")
    launch_op_ns: float = _limit(
        30_000, "ns", "launch-bound", "largest median and mean: longer ops hide their launch"
    )
    launch_gapped_percent: float = _limit(
        25, "% of the phase's ops", "launch-bound", "least share of ops with a gap before them"
    )
    launch_gap_ns: float = _limit(
        200_000, "ns", "launch-bound", "longer gaps are stalls of the host, no launch cost"
    )
    launch_idle_percent: float = _limit(
        20, "% of its time line", "launch-bound", "least share of these gaps"
    )
    launch_phase_percent: float = _limit(
        5, "% of all gaps and ops", "launch-bound", "least share of the phase in the trace"
    )
    exposed_communication_percent: float = _limit(
        10, "% of the span", "exposed-communication", "least communication without compute"
    )
    exposed_copy_percent: float = _limit(
        5, "% of the span", "exposed-copies", "least time in copies with nothing else running"
    )
    storm_count: float = _limit(30, "ops", "copy-storm", "fewest copies or fills of one kind")
    storm_count_percent: float = _limit(
        5, "% of ops", "copy-storm", "least share of copies or fills of one kind"
    )
    storm_mean_ns: float = _limit(20_000, "ns", "copy-storm", "largest mean duration")
    storm_percent: float = _limit(
        2, "% of summed durations", "copy-storm", "least share of the time of all ops"
    )
    tiny_kernel_ns: float = _limit(5_000, "ns", "tiny-kernels", "kernels this short are tiny")
    tiny_count: float = _limit(30, "kernels", "tiny-kernels", "fewest tiny kernels")
    tiny_count_percent: float = _limit(
        50, "% of kernels", "tiny-kernels", "least share of tiny ones"
    )
    tiny_time_percent: float = _limit(
        10, "% of kernel time", "tiny-kernels", "least share of their time"
    )
    little_work_percent: float = _limit(
        2,
        "% of the span",
        "tiny-kernels",
        "tiny kernels that take less of it are mentioned only, small copies are not told",
    )
    straggler_percent: float = _limit(
        5, "%", "slow-gpu", "least excess over the median of the other GPUs"
    )
    straggler_common_percent: float = _limit(
        30,
        "% of compute time",
        "slow-gpu",
        "least share of kernels that all ran equally often",
    )
    outlier_calls: float = _limit(50, "calls", "duration-outliers", "fewest calls of the kernel")
    outlier_factor: float = _limit(
        5, "x the median", "duration-outliers", "longer calls are outliers"
    )
    outlier_percent: float = _limit(
        1, "% of summed durations", "duration-outliers", "least excess time of the outliers"
    )
    drift_calls: float = _limit(200, "calls", "duration-drift", "fewest calls of a kernel")
    drift_kernels: float = _limit(3, "kernels", "duration-drift", "fewest kernels to judge by")
    drift_percent: float = _limit(
        3, "%", "duration-drift", "least change of the median from early to late calls"
    )
    drift_agreement_percent: float = _limit(
        70, "% of their time", "duration-drift", "least share of kernels that changed the same way"
    )
    coverage_percent: float = _limit(
        95, "% of dispatches", "low-coverage", "fewer timed dispatches cannot support claims"
    )
    coverage_problem_percent: float = _limit(
        50, "% of dispatches", "low-coverage", "below it is a problem, not a warning"
    )
    unlinked_percent: float = _limit(
        10, "% of ops", "unknown-launches", "least share of ops without a recorded launch"
    )
    queue_busy_percent: float = _limit(
        5, "% of the GPU's busy time", "queue-serialization", "queues with less are left out"
    )
    queue_overlap_percent: float = _limit(
        2, "% of busy time", "queue-serialization", "most time in which two queues ran at once"
    )

    queue_handover_ns: float = _limit(
        10_000,
        "ns",
        "queue-serialization",
        "largest median time from the end of one queue's op to the start of the other's",
    )

    copy_clock_ns: float = _limit(
        10_000, "ns", "copy-clock", "smallest contradiction; less is the noise of two clocks"
    )

    work_kernel_count: float = _limit(
        50, "kernels", "all on GPU time", "fewer are too few to conclude from"
    )
    work_time_ns: float = _limit(
        2_000_000, "ns", "all on GPU time", "less GPU time is too little to conclude from"
    )
    unfused_attention_percent: float = _limit(5, "% of the span", "unfused-attention", "least gain")
    above_roofline_percent: float = _limit(
        5, "% of the span", "above-roofline", "least time above the roofline of one kind"
    )
    above_roofline_peak_percent: float = _limit(
        60, "% of the peak", "above-roofline", "faster operators are left out"
    )
    above_roofline_least_ns: float = _limit(
        5_000, "ns", "above-roofline", "shorter calls, at the peak, are mostly fixed cost"
    )
    full_precision_percent: float = _limit(
        5, "% of the span", "full-precision-products", "least gain"
    )
    unfused_elementwise_percent: float = _limit(
        5, "% of the span", "unfused-elementwise", "least gain"
    )
    dominant_percent: float = _limit(
        50, "% of GPU time", "dominant-work", "least share of the category"
    )

    def with_values(self, assignments: dict[str, float]) -> Thresholds:
        """These with some replaced; a usage error names what is not there."""
        known = {row.name for row in threshold_rows()}
        for name in assignments:
            if name not in known:
                raise UsageError(
                    f"there is no threshold '{name}'", hint="docs/findings.md lists them"
                )
        return replace(self, **assignments)


class ThresholdRow(NamedTuple):
    """One threshold as the docs show it."""

    finding: str
    name: str
    value: float
    unit: str
    meaning: str


def threshold_rows() -> list[ThresholdRow]:
    """All thresholds in order."""
    return [
        ThresholdRow(
            each.metadata["finding"],
            each.name,
            each.default,
            each.metadata["unit"],
            each.metadata["meaning"],
        )
        for each in fields(Thresholds)
        if isinstance(each.default, (int, float))
    ]


DEFAULT_THRESHOLDS = Thresholds()
