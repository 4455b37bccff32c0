"""Why a GPU was idle: the likely cause of each gap, from the op that ended it and its launch.

docs/findings.md gives the rules in words. They need the host's calls; without them only very short
gaps have a cause that can be told.
"""

from __future__ import annotations

import enum
import re

import numpy as np
import numpy.typing as npt

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.findings.idle_gaps import LongGaps
from wavescope.arrays.coded_columns import DistinctRows
from wavescope.arrays.nesting import flatten
from wavescope.model.columns import UNKNOWN
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace

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
