"""GPUs that idle for much of their span, and why: the likely cause of each gap.

A cause follows from the op that ended the gap and from its launch; docs/findings.md gives the rules
in words. They need the host's calls; without them only very short gaps have a known cause.
"""

from __future__ import annotations

import enum
import re

import numpy as np
import numpy.typing as npt

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.ops.gaps import IdleGaps, LongGaps, longest_gaps
from wavescope.analyze.ops.utilization import GpuUtilization
from wavescope.analyze.quick_findings import idle_finding, idle_share_percent
from wavescope.arrays.distinct_rows import DistinctRows
from wavescope.arrays.nesting import flatten
from wavescope.model.columns import UNKNOWN
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Finding, Value
from wavescope.model.trace import Trace
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


Causes = npt.NDArray[np.int8]

_WAITING_CALL = re.compile(
    r"Synchronize$|^(?:hip|cuda|cu)Memcpy(?!\w*Async)|^(?:hip|cuda)(?:Free|Malloc|HostMalloc)$|"
    r"hsa_signal_wait|^(?:hip|cuda)StreamWaitValue"
)
_NAME_LIMIT = 256


class GapCause(enum.IntEnum):
    """What kept the GPU from working."""

    HOST = 0
    SYNC = 1
    COPY = 2
    LAUNCH_LATENCY = 3
    DEPENDENCY = 4
    STEP = 5
    UNKNOWN = 6


CAUSE_WORDS = {
    GapCause.HOST: "the host launched the next op late",
    GapCause.SYNC: "the host waited for the GPU before launching more",
    GapCause.COPY: "data was handed over between host and GPU",
    GapCause.LAUNCH_LATENCY: "the launch itself took that long",
    GapCause.DEPENDENCY: "the next op was launched in time but waited for something else",
    GapCause.STEP: "the GPU stepped from one op to the next, as it does within a graph",
    GapCause.UNKNOWN: "no launch is recorded for the next op",
}
NEXT_STEPS = {
    GapCause.HOST: "launch less (graphs, fused kernels) or do the host's work ahead of time; "
    "`wavescope summary --table calls` shows what the host did",
    GapCause.SYNC: "remove the synchronization (`.item()`, `.cpu()`, stream or device synchronize) "
    "or launch the next step before waiting",
    GapCause.COPY: "copy asynchronously from pinned memory, and launch other work meanwhile",
    GapCause.LAUNCH_LATENCY: "launch many ops at once with a graph",
    GapCause.DEPENDENCY: "look at what the op waits for: an event of another stream, another "
    "rank's collective, a host signal",
    GapCause.STEP: "fewer and larger ops: fuse kernels, in graphs too",
    GapCause.UNKNOWN: "record host calls too (`wavescope trace --mode hip`) to tell the cause",
}


def gap_causes(context: FindingContext, gaps: LongGaps) -> Causes:
    """The likely cause of each gap."""
    causes = np.full(len(gaps.after), GapCause.UNKNOWN, np.int8)
    if context.links is None or not len(gaps.after):
        return causes
    trace, links = context.trace, context.links
    place = np.minimum(np.searchsorted(links.op_rows, gaps.after), len(links.op_rows) - 1)
    launched = links.op_rows[place] == gaps.after
    calls = np.where(launched, links.call_rows[place], 0)
    trace.calls.load("start_ns", "end_ns", "process", "thread", "name")
    call_starts, call_ends = trace.calls["start_ns"][calls], trace.calls["end_ns"][calls]
    late = launched & (call_starts > gaps.starts)
    causes[late] = GapCause.HOST
    in_time = launched & ~late
    short = gaps.lengths_ns <= context.thresholds.queued_latency_ns
    at_once = short | (call_ends >= gaps.starts)
    causes[in_time & at_once] = GapCause.LAUNCH_LATENCY
    causes[in_time & ~at_once] = GapCause.DEPENDENCY
    causes[in_time & ~_first_of_its_call(context, gaps, calls)] = GapCause.STEP
    _mark_waiting(trace, gaps, calls, late, causes)
    _mark_copies(context, gaps, late & (causes == GapCause.HOST), causes)
    return causes


def _first_of_its_call(
    context: FindingContext, gaps: LongGaps, calls: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Whether the op that ended a gap is the first that its call (a graph's launch) caused."""
    assert context.links is not None
    starts = context.trace.ops["start_ns"][context.links.op_rows]
    first_ns = np.full(len(context.trace.calls), np.iinfo(np.int64).max, np.int64)
    np.minimum.at(first_ns, context.links.call_rows, starts)
    is_first: npt.NDArray[np.bool_] = gaps.ends <= first_ns[calls]
    return is_first


def _mark_copies(
    context: FindingContext, gaps: LongGaps, late: npt.NDArray[np.bool_], causes: Causes
) -> None:
    """Gaps that end with a copy to the GPU, or begin as one to the host ended."""
    ops, kinds = context.trace.ops, context.trace.op_kind
    copies = np.flatnonzero(kinds == OpKind.COPY)
    if not len(copies):
        return
    names = {code: context.trace.strings[code] for code in np.unique(ops["type"][copies]).tolist()}
    to_host = np.isin(ops["type"][copies], [c for c, t in names.items() if "ToHost" in t])
    returned = copies[to_host]
    ends_with_copy = np.isin(gaps.after, copies[~to_host])
    returned_here = returned[ops["gpu"][returned] == gaps.gpu]
    begins_with_copy = np.isin(gaps.starts, ops["end_ns"][returned_here])
    causes[late & (ends_with_copy | begins_with_copy)] = GapCause.COPY


def _mark_waiting(
    trace: Trace,
    gaps: LongGaps,
    calls: npt.NDArray[np.int64],
    late: npt.NDArray[np.bool_],
    causes: Causes,
) -> None:
    """Gaps at whose beginning the launching thread was in a call that waits for the GPU."""
    used = trace.calls.code_counts("name").codes.tolist()
    waiting = [c for c in used if _WAITING_CALL.search(trace.strings[c][:_NAME_LIMIT])]
    rows = np.flatnonzero(np.isin(trace.calls["name"], waiting))
    if not len(rows):
        return
    lanes = DistinctRows(2)
    columns = trace.calls["process"], trace.calls["thread"]
    of_waiting, _ = lanes.number([column[rows] for column in columns])
    chosen = np.flatnonzero(late & (causes == GapCause.HOST))
    of_gap, _ = lanes.number([column[calls[chosen]] for column in columns])
    ranges = flatten(
        trace.calls["start_ns"][rows], trace.calls["end_ns"][rows], of_waiting.astype(np.int64)
    )
    inside = ranges.range_at(gaps.starts[chosen], of_gap.astype(np.int64)) != UNKNOWN
    causes[chosen[inside]] = GapCause.SYNC
