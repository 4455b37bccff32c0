"""GPUs that idle for much of their span, and why: what the host did during their gaps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.findings.idle_words import causes, shares
from wavescope.analyze.idle.gap_parts import GapParts, IdleSplit
from wavescope.analyze.idle.idle_story import IdleStory, idle_story
from wavescope.analyze.ops.coverage import missing_ops_sentence, recorded
from wavescope.analyze.ops.gaps import longest_of
from wavescope.analyze.ops.utilization import GpuUtilization
from wavescope.analyze.quick_findings import idle_finding, idle_share_percent
from wavescope.model.result import (
    ColumnOf,
    Finding,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    Value,
    table_of,
)
from wavescope.units import count_text, counted, duration_text, percent_of

_SHOWN = 3
_LEAST_GAIN_PERCENT = 1.0
_CONTRADICTED = 0.5
_WORTH_TELLING = 0.05
"""Start-up of a smaller share of the idle time is not set apart."""


def idle_gpus(context: FindingContext) -> list[Finding]:
    """A finding for each GPU that idles much, with what the host did meanwhile."""
    if context.trace.lacks_ops:
        return []
    return [
        _told(context, gpu, parts)
        for gpu, parts in zip(context.utilizations, context.gap_parts, strict=True)
        if idle_share_percent(gpu) >= context.thresholds.idle_percent
    ]


def _told(context: FindingContext, gpu: GpuUtilization, parts: GapParts) -> Finding:
    limits = context.thresholds
    finding = idle_finding(gpu, limits, is_part=context.trace.part_of is not None)
    if not parts.split.gap_count:
        return finding
    story = idle_story(parts, limits.queued_latency_ns)
    startup_ns = _startup_ns(context, story)
    tellings = causes(context, story)
    because = " and ".join(telling.because for telling in tellings if telling.because)
    evidence = [f"{finding.evidence}: {shares(story)}"]
    if _is_contradicted(parts):
        because = ""
        evidence.append(
            f"{count_text(parts.inverted_count)} of the {counted(int(parts.linked.sum()), 'gap')} "
            "ended before the launch call of the op began: the clocks of host and GPU disagree, so "
            "that what the host did meanwhile may be told wrongly"
        )
    evidence += [telling.evidence for telling in tellings if telling.evidence]
    evidence.append(_longest_gap(context, story))
    told = finding._replace(
        title=f"{finding.title}, mostly because {because}" if because else finding.title,
        suggestion="; ".join(dict.fromkeys(telling.next_step for telling in tellings)),
        numbers={**finding.numbers, **_numbers(context, story, startup_ns, tellings[0].reason)},
    )
    told = _with_gain(told, gpu, story, startup_ns, limits.back_to_back_ns)
    if startup_ns:
        evidence.append(
            f"{duration_text(startup_ns)} of the idle time is start-up (before the first step, "
            f"first launches, one-time calls) and not part of the gain"
        )
    told = told._replace(severity=_severity(context, gpu, story, startup_ns))
    missing = missing_ops_sentence(context.trace.whole, limits.coverage_percent)
    if missing:
        evidence.insert(0, f"{missing}, so idle time is an upper bound and its causes may be wrong")
        told = _without_gain(told)
    elif gpu.time.op_count < limits.few_ops:
        evidence.append(f"{gpu.time.op_count} ops are too few to judge a program by")
        told = _without_gain(told)
    return told._replace(evidence="; ".join(evidence))


def _is_contradicted(parts: GapParts) -> bool:
    """Whether most ops that ended a gap began before the call that launched them."""
    return parts.inverted_count > _CONTRADICTED * int(parts.linked.sum())


def _severity(
    context: FindingContext, gpu: GpuUtilization, story: IdleStory, startup_ns: int
) -> Severity:
    """Start-up is mentioned only; waiting for what the trace does not have is no proven problem."""
    limits, span_ns = context.thresholds, gpu.time.span_ns
    lasting_ns = story.split.idle_ns - startup_ns
    if 100 * lasting_ns < limits.idle_percent * span_ns:
        return Severity.INFO
    proven_ns = lasting_ns - _unexplained_ns(story)
    is_problem = 100 * proven_ns >= limits.idle_problem_percent * span_ns
    return Severity.PROBLEM if is_problem else Severity.WARNING


def _unexplained_ns(story: IdleStory) -> int:
    return story.late_starts.unexplained_ns if story.late_starts is not None else 0


def _without_gain(finding: Finding) -> Finding:
    return finding._replace(severity=Severity.INFO, gain_percent=None, gain_basis="")


def _with_gain(
    finding: Finding, gpu: GpuUtilization, story: IdleStory, startup_ns: int, step_ns: float
) -> Finding:
    """What is left when every gap is as short as the GPU's own step from op to op."""
    steps_ns = int(np.minimum(story.parts.lengths_ns, np.uint64(step_ns)).sum())
    unexplained_ns = _unexplained_ns(story)
    gain_ns = max(0, story.split.idle_ns - startup_ns - unexplained_ns - steps_ns)
    gain = percent_of(gain_ns, gpu.time.span_ns)
    if gain is None or gain < _LEAST_GAIN_PERCENT:
        return finding._replace(gain_percent=None, gain_basis="")
    return finding._replace(
        gain_percent=gain,
        gain_basis=f"no gap longer than {duration_text(step_ns)}, the same ops as long as now"
        + (", start-up as it is" if startup_ns else "")
        + (
            f", {duration_text(unexplained_ns)} of waiting for what is not in the trace left out"
            if unexplained_ns * 20 >= story.split.idle_ns
            else ""
        ),
    )


def _startup_ns(context: FindingContext, story: IdleStory) -> int:
    """Idle time that comes once: before the first step, in first launches and first calls."""
    first_step_ns = context.first_step_ns(story.split.gpu)
    early_ns = 0
    if first_step_ns is not None:
        early_ns = int(story.parts.lengths_ns[story.parts.ends <= first_step_ns].sum())
    once_ns = story.first_launches.total_ns if story.first_launches is not None else 0
    if story.host is not None and story.host.one_time is not None:
        once_ns += story.host.one_time.covered_ns
    # First launches are mostly before the first step: what is in both counts once.
    startup_ns = max(early_ns, once_ns)
    return startup_ns if startup_ns >= _WORTH_TELLING * story.split.idle_ns else 0


def _longest_gap(context: FindingContext, story: IdleStory) -> str:
    lengths, after = story.parts.lengths_ns, story.parts.after
    longest = longest_of(lengths, _SHOWN)
    trace = story.parts.trace
    ids = ", ".join(str(context.id_of_op(trace, int(after[gap]))) for gap in longest)
    name = context.name_of_op(trace, int(after[longest[0]]))
    return (
        f"the longest gap ({duration_text(int(lengths[longest[0]]))}) ended with {name}, ops {ids}"
    )


def _numbers(
    context: FindingContext, story: IdleStory, startup_ns: int, reason: str
) -> dict[str, Value]:
    numbers: dict[str, Value] = {
        "main_cause": story.ranked[0].value,
        "reason": reason,
        **{name: value for name, value in story.split._asdict().items() if name != "gpu"},
        "startup_ns": startup_ns,
        "op_after_longest_gap": context.id_of_op(
            story.parts.trace, int(story.parts.after[story.longest_gap])
        ),
        "waiting_call": story.waiting_call or None,
    }
    host, late = story.host, story.late_starts
    if host is not None and host.innermost is not None:
        numbers["before_call"] = host.innermost.readable
        numbers["before_call_ns"] = host.innermost.covered_ns
        numbers["before_stack"] = " > ".join(call.readable for call in host.telling[-4:])
    if story.host_in_longest is not None and story.host_in_longest.innermost is not None:
        numbers["longest_gap_call"] = story.host_in_longest.innermost.readable
        numbers["longest_gap_call_ns"] = story.host_in_longest.innermost.covered_ns
    if story.first_launches is not None:
        numbers["first_launch_ns"] = story.first_launches.total_ns
    if late is not None:
        for each, total_ns in late.by_reason_ns.items():
            numbers[f"after_{each.name.lower()}_ns"] = total_ns
    return numbers


_COLUMNS: tuple[ColumnOf[tuple[GpuUtilization, IdleSplit]], ...] = (
    ResultColumn("gpu", "GPU", meaning="GPU number in the trace").of(lambda row: row[1].gpu),
    ResultColumn("span_ns", "Span", Unit.NS, "first start to last end").of(
        lambda row: row[0].time.span_ns
    ),
    ResultColumn("idle_ns", "Idle", Unit.NS, "no op of any queue runs").of(
        lambda row: row[1].idle_ns
    ),
    ResultColumn("idle_percent", "Idle %", Unit.PERCENT, "idle / span").of(
        lambda row: percent_of(row[1].idle_ns, row[0].time.span_ns)
    ),
    ResultColumn("gap_count", "Gaps", Unit.COUNT, "stretches without any op running").of(
        lambda row: row[1].gap_count
    ),
    ResultColumn("longest_gap_ns", "Longest", Unit.NS, "the longest gap").of(
        lambda row: row[1].longest_gap_ns
    ),
    ResultColumn(
        "before_ns", "Before launch", Unit.NS, "until the launch call of the op that ended the gap"
    ).of(lambda row: row[1].before_ns),
    ResultColumn(
        "waiting_ns", "Waiting", Unit.NS, "of the time until then, in calls that wait for the GPU"
    ).of(lambda row: row[1].waiting_ns),
    ResultColumn("in_launch_ns", "In launch", Unit.NS, "inside the launch call").of(
        lambda row: row[1].in_launch_ns
    ),
    ResultColumn("after_launch_ns", "After launch", Unit.NS, "from its return to the op").of(
        lambda row: row[1].after_launch_ns
    ),
    ResultColumn("unlinked_ns", "Unlinked", Unit.NS, "the op has no launch call in the trace").of(
        lambda row: row[1].unlinked_ns
    ),
)


def idle_table(context: FindingContext) -> ResultTable:
    """The idle time of every GPU over what the host did during it."""
    splits = [parts.split for parts in context.gap_parts]
    rows = list(zip(context.utilizations, splits, strict=True))
    table = table_of("idle", "Idle time by what the host did", _COLUMNS, rows)
    if recorded(context.trace) is None:
        return table
    meanings = {
        "span_ns": "slices of time that were recorded, added up",
        "idle_ns": "gaps that lie whole in a slice: no op of any queue runs",
        "idle_percent": "these gaps / slices",
    }
    columns = tuple(
        column._replace(meaning=meanings.get(column.name, column.meaning))
        for column in table.columns
    )
    return replace(table, title=f"{table.title} (whole gaps in slices)", columns=columns)
