"""Which findings hold for a trace that was recorded in slices, and how they are told.

Only those that look at one kernel at a time: what lies between kernels, and which follow one
another, is known inside slices only. None promises a gain, since most of the run was not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.findings.copy_clock import copy_clock
from wavescope.analyze.findings.dominant_work import dominant_work
from wavescope.analyze.findings.duration_drift import duration_drift
from wavescope.analyze.findings.duration_outliers import duration_outliers
from wavescope.analyze.findings.full_precision import full_precision
from wavescope.analyze.findings.low_coverage import low_coverage
from wavescope.analyze.ops.coverage import sampled_finding
from wavescope.analyze.ops.recorded import OUTSIDE_SLICES, kernels_part
from wavescope.analyze.quick_findings import input_repaired
from wavescope.model.result import Finding
from wavescope.model.trace import Trace

ID = "sampled"
_OF_SINGLE_KERNELS: tuple[Callable[[FindingContext], list[Finding]], ...] = (
    full_precision,
    duration_outliers,
    duration_drift,
    copy_clock,
)
_NOT_LOOKED_FOR = (
    "launch-bound, gpu-idle, exposed-communication, exposed-copies, copy-storm, tiny-kernels, "
    "above-roofline, unfused-attention, unfused-elementwise, slow-gpu, queue-serialization"
)
_IN_SLICES = "in the slices that were recorded"


def sampled_findings(context: FindingContext) -> list[Finding]:
    """The findings of a sampled trace, first that it is one."""
    trace = context.trace
    seen = FindingContext(kernels_part(trace), context.thresholds)
    told: list[Finding] = []
    if len(seen.trace.ops):
        told = [_of_slices(each) for finder in _OF_SINGLE_KERNELS for each in finder(seen)]
        told += map(_of_slices, dominant_work(seen, told))
    others = low_coverage(context, _outside_slices(trace)) if len(trace.coverage) else []
    return [*_is_sampled(trace), *others, *told, *input_repaired(trace)]


def _is_sampled(trace: Trace) -> Iterable[Finding]:
    for finding in sampled_finding(trace):
        yield finding._replace(
            evidence=f"{finding.evidence}; not looked for in a sampled trace: {_NOT_LOOKED_FOR}"
        )


def _of_slices(finding: Finding) -> Finding:
    evidence = "; ".join(chain((finding.evidence,) if finding.evidence else (), (_IN_SLICES,)))
    return finding._replace(evidence=evidence, gain_percent=None, gain_basis="")


def _outside_slices(trace: Trace) -> int:
    """How many kernels were counted, but not recorded because they were outside the slices."""
    trace.coverage.load("skipped", "reason")
    pairs = zip(trace.coverage["skipped"].tolist(), trace.coverage.strings("reason"), strict=True)
    return sum(max(count, 0) for count, reason in pairs if reason.startswith(OUTSIDE_SLICES))
