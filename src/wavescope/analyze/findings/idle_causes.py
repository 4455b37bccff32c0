"""GPUs that idle for much of their span, and the likely causes of their gaps."""

from __future__ import annotations

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.findings.gap_causes import (
    CAUSE_WORDS,
    NEXT_STEPS,
    GapCause,
    gap_causes,
)
from wavescope.analyze.findings.gpu_idle import idle_finding, idle_share_percent
from wavescope.analyze.findings.idle_gaps import IdleGaps, longest_gaps
from wavescope.analyze.summary.utilization import GpuUtilization
from wavescope.model.result import Finding, Value
from wavescope.units import duration_text

_SHOWN = 3
_MOST_GAPS = 50_000
"""The longest gaps of a GPU, of which causes are told; they are nearly all of its idle time."""


def idle_with_causes(context: FindingContext) -> list[Finding]:
    """A finding for each GPU that idles much, with causes."""
    return [
        _with_causes(context, gpu, gaps, idle_finding(gpu, context.thresholds))
        for gpu, gaps in zip(context.utilizations, context.gaps, strict=True)
        if idle_share_percent(gpu) >= context.thresholds.idle_percent
    ]


def _with_causes(
    context: FindingContext, gpu: GpuUtilization, all_gaps: IdleGaps, finding: Finding
) -> Finding:
    if not len(all_gaps):
        return finding
    gaps = longest_gaps(context.trace, all_gaps, _MOST_GAPS)
    causes = gap_causes(context, gaps)
    lengths = gaps.lengths_ns
    by_cause = {cause: int(lengths[causes == cause].sum()) for cause in GapCause}
    # Gaps too short to be examined are the GPU's own.
    by_cause[GapCause.STEP] += max(0, gpu.time.idle_ns - int(lengths.sum()))
    ranked = sorted(by_cause, key=lambda cause: -by_cause[cause])
    main = ranked[0]
    told = [
        f"{100 * by_cause[cause] / gpu.time.idle_ns:.0f} % {CAUSE_WORDS[cause]}"
        for cause in ranked
        if by_cause[cause] * 20 >= gpu.time.idle_ns
    ]
    after = gaps.after[:_SHOWN]
    shown = (
        f"; the longest gap ({duration_text(int(lengths[0]))}) ended with "
        f"{context.op_name(int(after[0]))}, ops {context.op_ids(after)}"
    )
    numbers: dict[str, Value] = dict(finding.numbers)
    numbers["main_cause"] = main.name.lower()
    numbers["gap_count"] = len(all_gaps)
    for cause in GapCause:
        numbers[f"{cause.name.lower()}_ns"] = by_cause[cause]
    numbers["op_after_longest_gap"] = context.op_id(int(after[0]))
    return finding._replace(
        title=f"{finding.title}, mostly because {CAUSE_WORDS[main]}"
        if main is not GapCause.UNKNOWN
        else finding.title,
        evidence=f"{finding.evidence}: {', '.join(told)}{shown}",
        suggestion=NEXT_STEPS[main],
        numbers=numbers,
    )
