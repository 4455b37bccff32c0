"""All findings of a trace: `findings(trace)`.

A finding is one small module; this is the list of them. Each states numbers, the query that shows
them, what could be gained at most and the next step. docs/findings.md explains them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wavescope.analyze.findings.above_roofline import FUSIBLE_KINDS, above_roofline
from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.findings.copy_clock import copy_clock
from wavescope.analyze.findings.copy_storm import copy_storm
from wavescope.analyze.findings.dominant_work import dominant_work
from wavescope.analyze.findings.duration_drift import duration_drift
from wavescope.analyze.findings.duration_outliers import duration_outliers
from wavescope.analyze.findings.exposed_copies import exposed_copies
from wavescope.analyze.findings.full_precision import full_precision
from wavescope.analyze.findings.idle_gpus import idle_gpus, idle_table
from wavescope.analyze.findings.launch_bound import launch_bound
from wavescope.analyze.findings.low_coverage import low_coverage
from wavescope.analyze.findings.queue_serialization import queue_serialization
from wavescope.analyze.findings.sampled_findings import sampled_findings
from wavescope.analyze.findings.slow_gpu import slow_gpu
from wavescope.analyze.findings.tiny_kernels import tiny_kernels
from wavescope.analyze.findings.unfused_attention import unfused_attention
from wavescope.analyze.findings.unfused_elementwise import unfused_elementwise
from wavescope.analyze.findings.unknown_launches import ID as UNKNOWN_LAUNCHES
from wavescope.analyze.findings.unknown_launches import unknown_launches
from wavescope.analyze.ops.busy_timelines import busy_basis
from wavescope.analyze.ops.coverage import coverage, recorded, sampled_facts
from wavescope.analyze.quick_findings import (
    DEFAULT_THRESHOLDS,
    Thresholds,
    clock_inversion,
    exposed_communication,
    input_repaired,
)
from wavescope.errors import UsageError
from wavescope.model.progress import NO_LAUNCH
from wavescope.model.result import (
    ColumnOf,
    Finding,
    Result,
    ResultColumn,
    Severity,
    Unit,
    Value,
    table_of,
)
from wavescope.model.trace import Trace

Finder = Callable[[FindingContext], list[Finding]]


def _exposed_communication(context: FindingContext) -> list[Finding]:
    return exposed_communication(context.utilizations, context.thresholds)


def _clock_inversion(context: FindingContext) -> list[Finding]:
    links, trace = context.links, context.trace
    if links is None:
        return []
    starts = trace.ops["start_ns"][links.op_rows]
    return clock_inversion(starts - trace.calls["start_ns"][links.call_rows])


FINDERS: tuple[Finder, ...] = (
    low_coverage,
    launch_bound,
    idle_gpus,
    _exposed_communication,
    exposed_copies,
    copy_storm,
    tiny_kernels,
    unfused_attention,
    above_roofline,
    full_precision,
    unfused_elementwise,
    slow_gpu,
    duration_outliers,
    duration_drift,
    queue_serialization,
    _clock_inversion,
    copy_clock,
    unknown_launches,
    lambda context: input_repaired(context.trace),
)

FINDING_IDS = (
    "low-coverage",
    "launch-bound",
    "gpu-idle",
    "exposed-communication",
    "exposed-copies",
    "copy-storm",
    "tiny-kernels",
    "unfused-attention",
    "above-roofline",
    "full-precision-products",
    "unfused-elementwise",
    "slow-gpu",
    "duration-outliers",
    "duration-drift",
    "queue-serialization",
    "clock-inversion",
    "copy-clock",
    "unknown-launches",
    "input-repaired",
    "dominant-work",
    "sampled",
)
"""The ids of all findings, in the order of `FINDERS`; then what no other tells, and that a trace is
sampled."""

_OF_ALL_OPS = (launch_bound, _exposed_communication, exposed_copies, queue_serialization)
"""Silent where a filter hides ops: they would be about these, too."""

_ORDER = {Severity.PROBLEM: 0, Severity.WARNING: 1, Severity.INFO: 2}


def findings(trace: Trace, thresholds: Thresholds | None = None) -> list[Finding]:
    """All findings of `trace`: the gravest first, then those with more to gain."""
    return _found(FindingContext(trace, thresholds or DEFAULT_THRESHOLDS))


def _found(context: FindingContext) -> list[Finding]:
    if not len(context.trace.ops):
        return input_repaired(context.trace)
    if recorded(context.trace) is not None:
        return sampled_findings(context)
    silent = _OF_ALL_OPS if context.hides_ops else ()
    finders = [finder for finder in FINDERS if finder not in silent]
    found = [finding for finder in finders for finding in _over_gpus(finder(context))]
    found = _without_repeats(found)
    found += dominant_work(context, found)
    if any(finding.id == UNKNOWN_LAUNCHES for finding in found):
        found = [finding for finding in found if NO_LAUNCH not in finding.title]
    return sorted(found, key=_rank)


def _without_repeats(found: list[Finding]) -> list[Finding]:
    """The findings without those that would say the same of the same kernels again."""
    ids = {finding.id for finding in found}
    if "tiny-kernels" in ids:
        found = [finding for finding in found if finding.id != "unfused-elementwise"]
    if ids & {"tiny-kernels", "unfused-elementwise"}:
        found = [
            finding
            for finding in found
            if finding.id != "above-roofline" or finding.numbers["kind"] not in FUSIBLE_KINDS
        ]
    return found


def _rank(finding: Finding) -> tuple[int, float]:
    return _ORDER[finding.severity], -(finding.gain_percent or 0.0)


def _over_gpus(findings: list[Finding]) -> list[Finding]:
    """What is the same on several GPUs told once, for the one that it is worst on."""
    of_gpus = [each for each in findings if "gpu" in each.numbers]
    if len(of_gpus) < 2:
        return findings
    worst, *others = sorted(of_gpus, key=_rank)
    shares = ", ".join(f"GPU {each.numbers['gpu']}{_share(each)}" for each in others)
    gpus = ",".join(str(each.numbers["gpu"]) for each in of_gpus)
    told = worst._replace(
        evidence=f"{worst.evidence}; likewise {shares}",
        where=f"gpus {gpus}",
        numbers={**worst.numbers, "gpus": gpus},
    )
    return [told, *(each for each in findings if "gpu" not in each.numbers)]


def _share(finding: Finding) -> str:
    share = finding.numbers.get("idle_percent", finding.gain_percent)
    return f" {share:.1f} %" if isinstance(share, float) else ""


_COLUMNS: tuple[ColumnOf[Finding], ...] = (
    ResultColumn("id", "Finding", Unit.NAME, "which finding, see docs/findings.md").of(
        lambda finding: finding.id
    ),
    ResultColumn("severity", "Severity", Unit.NAME, "problem, warning or info").of(
        lambda finding: finding.severity.value
    ),
    ResultColumn("where", "Where", Unit.NAME, "GPU, phase or kernel it is about").of(
        lambda finding: finding.where or None
    ),
    ResultColumn("gain_percent", "Gain %", Unit.PERCENT, "of the time of `where`, at most").of(
        lambda finding: finding.gain_percent
    ),
    ResultColumn("title", "Title", Unit.NAME, "the conclusion").of(lambda finding: finding.title),
    ResultColumn("sql", "SQL", Unit.NAME, "query that shows the evidence").of(
        lambda finding: finding.sql or None
    ),
)


def findings_result(
    trace: Trace,
    thresholds: Thresholds | None = None,
    only: Sequence[str] = (),
) -> Result:
    """Tables `findings` and `idle`, and the findings themselves, all or only some."""
    for identifier in only:
        if identifier not in FINDING_IDS:
            raise UsageError(
                f"there is no finding '{identifier}'", hint=f"there are: {', '.join(FINDING_IDS)}"
            )
    context = FindingContext(trace, thresholds or DEFAULT_THRESHOLDS)
    found = [each for each in _found(context) if not only or each.id in only]
    tables = [table_of("findings", "Findings", _COLUMNS, found), idle_table(context)]
    facts: dict[str, Value] = {
        "path": trace.path,
        **sampled_facts(trace),
        "op_count": len(trace.ops),
        "finding_count": len(found),
        "coverage": coverage(trace).facts["coverage"],
        **busy_basis(trace),
    }
    return Result("Findings", tables, found, facts)


def idle_result(trace: Trace) -> Result:
    """The table `idle` alone."""
    return Result("Idle time", [idle_table(FindingContext(trace))])
