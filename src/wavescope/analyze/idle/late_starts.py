"""Ops that were launched and began much later though the GPU was idle: what they waited for.

What an op waits for is seldom in a trace. What can be told: that it is a node of a graph, that it
was the next in its queue or began as quickly as ops do, that its thread had told its queue to wait
for an event, that it is the first op of its queue. The rest is unknown, and called so.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.idle.first_launches import launch_calls
from wavescope.analyze.idle.gap_parts import GapParts, Rows, host_threads
from wavescope.analyze.ops.op_links import op_links
from wavescope.arrays.intervals import Times
from wavescope.model.columns import UNKNOWN
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace

_WAIT_EVENT = re.compile(r"StreamWaitEvent")
_MOST_EXAMINED = 1_000
"""The longest waits of a GPU, of which the events are looked for."""


class LateStart(enum.IntEnum):
    """Why an op began later than its launch was over."""

    GRAPH_STEP = 0
    DELIVERY = 1
    EVENT = 2
    FIRST_OF_QUEUE = 3
    UNKNOWN = 4
    QUEUE_STEP = 5


@dataclass(frozen=True)
class LateOp:
    """The op that waited longest after its launch."""

    row: int
    reason: LateStart
    waited_ns: int
    launch_name: str
    launch_ns: int
    is_first_of_queue: bool
    op_before: int | None
    """The op of another queue that ended after the launch, as the gap began."""
    host_wait: str
    """The call in which the launching thread waited meanwhile, empty where there is none."""


@dataclass(frozen=True)
class LateStarts:
    """The time after launches by what the ops waited for."""

    by_reason_ns: dict[LateStart, int]
    longest: LateOp

    @property
    def unexplained_ns(self) -> int:
        """Time in which ops waited for something that the trace does not have."""
        waits = (LateStart.EVENT, LateStart.FIRST_OF_QUEUE, LateStart.UNKNOWN)
        return sum(self.by_reason_ns[reason] for reason in waits)

    @property
    def main(self) -> LateStart:
        return max(self.by_reason_ns, key=lambda reason: self.by_reason_ns[reason])


def late_starts(parts: GapParts, delivery_ns: float) -> LateStarts | None:
    """What ops waited for after their launches; within `delivery_ns` they began as ops do."""
    waited = parts.after_launch_ns
    if not waited.any():
        return None
    reasons = np.full(len(waited), LateStart.DELIVERY, np.int8)
    launches = parts.trace.derived(launch_calls)
    calls = np.where(parts.linked, parts.calls, 0)
    starts = parts.trace.ops["start_ns"][parts.after]
    reasons[starts > launches.first_start_ns[calls]] = LateStart.GRAPH_STEP
    waited_in_queue = parts.trace.calls["end_ns"][calls] <= parts.starts
    reasons[waited_in_queue & (reasons == LateStart.DELIVERY)] = LateStart.QUEUE_STEP
    is_step = reasons == LateStart.GRAPH_STEP
    late = np.flatnonzero(~is_step & (waited > delivery_ns) & parts.linked)
    reasons[late] = LateStart.UNKNOWN
    examined = late[np.argsort(waited[late])[::-1][:_MOST_EXAMINED]]
    for gap, reason in zip(examined.tolist(), _reasons(parts, examined), strict=True):
        reasons[gap] = reason
    by_reason = {reason: int(waited[reasons == reason].sum()) for reason in LateStart}
    longest = int(np.argmax(waited))
    return LateStarts(by_reason, _late_op(parts, longest, LateStart(int(reasons[longest]))))


def _reasons(parts: GapParts, gaps: Rows) -> list[LateStart]:
    """Why the ops of some gaps began late."""
    trace = parts.trace
    events = _event_waits(trace)
    queues = trace.ops["queue"][parts.after[gaps]]
    found = [LateStart.UNKNOWN] * len(gaps)
    for queue in np.unique(queues).tolist():
        ops = _ops_of_queue(trace, parts.idle.gpu, queue)
        starts = trace.ops["start_ns"][ops]
        for place in np.flatnonzero(queues == queue).tolist():
            gap = int(gaps[place])
            earlier = int(np.searchsorted(starts, parts.ends[gap])) - 1
            previous = int(ops[earlier]) if earlier >= 0 else None
            if _follows_an_event(parts, gap, previous, events):
                found[place] = LateStart.EVENT
            elif previous is None:
                found[place] = LateStart.FIRST_OF_QUEUE
    return found


def _ops_of_queue(trace: Trace, gpu: int, queue: int) -> Rows:
    ops = trace.ops
    chosen = (ops["gpu"] == gpu) & (ops["queue"] == queue) & (trace.op_kind != OpKind.BARRIER)
    rows = np.flatnonzero(chosen)
    return rows[np.argsort(ops["start_ns"][rows], kind="stable")]


class _EventWaits(NamedTuple):
    """The calls that let a queue wait for an event, in order of time."""

    rows: Rows
    starts: Times


def _event_waits(trace: Trace) -> _EventWaits:
    codes = [
        code
        for code in trace.calls.code_counts("name").codes.tolist()
        if _WAIT_EVENT.search(trace.strings[code][:256])
    ]
    rows = np.flatnonzero(np.isin(trace.calls["name"], codes))
    rows = rows[np.argsort(trace.calls["start_ns"][rows], kind="stable")]
    return _EventWaits(rows, trace.calls["start_ns"][rows])


def _follows_an_event(parts: GapParts, gap: int, previous: int | None, events: _EventWaits) -> bool:
    """Whether the thread told a queue to wait for an event since it launched the previous op."""
    trace = parts.trace
    calls, launches = trace.calls, trace.derived(_launch_of_op)
    call, lanes = int(parts.calls[gap]), trace.derived(host_threads).lane_of_call
    since = np.iinfo(np.int64).min
    if previous is not None and launches[previous] >= 0:
        since = int(calls["start_ns"][launches[previous]])
    first, stop = np.searchsorted(events.starts, (since, int(calls["start_ns"][call])))
    between = events.rows[first:stop]
    between = between[lanes[between] == lanes[call]]
    named, own = calls["stream"][between], int(trace.ops["stream"][parts.after[gap]])
    return bool(np.any((named == UNKNOWN) | (own == UNKNOWN) | (named == own)))


def _launch_of_op(trace: Trace) -> npt.NDArray[np.int64]:
    links = trace.derived(op_links)
    launches = np.full(len(trace.ops), -1, np.int64)
    launches[links.op_rows] = links.call_rows
    return launches


def _late_op(parts: GapParts, gap: int, reason: LateStart) -> LateOp:
    trace = parts.trace
    calls, call, row = trace.calls, int(parts.calls[gap]), int(parts.after[gap])
    return LateOp(
        row,
        reason,
        int(parts.after_launch_ns[gap]),
        trace.strings[int(calls["name"][call])],
        int(calls["end_ns"][call]) - int(calls["start_ns"][call]),
        _is_first_of_queue(parts, gap),
        _op_of_another_queue(parts, gap),
        longest_wait(parts, gap),
    )


def _is_first_of_queue(parts: GapParts, gap: int) -> bool:
    row = int(parts.after[gap])
    rows = _ops_of_queue(parts.trace, parts.idle.gpu, int(parts.trace.ops["queue"][row]))
    return int(rows[0]) == row


def _op_of_another_queue(parts: GapParts, gap: int) -> int | None:
    """The op of another queue that ended as the gap began, after the launch was over."""
    ops, call = parts.trace.ops, int(parts.calls[gap])
    begin_ns = int(parts.starts[gap])
    if int(parts.trace.calls["end_ns"][call]) > begin_ns:
        return None
    ended = np.flatnonzero((ops["end_ns"] == begin_ns) & (ops["gpu"] == parts.idle.gpu))
    others = ended[ops["queue"][ended] != ops["queue"][int(parts.after[gap])]]
    return int(others[0]) if len(others) else None


def longest_wait(parts: GapParts, gap: int) -> str:
    """The call in which the launching thread waited for the GPU longest during a gap."""
    trace, threads = parts.trace, parts.trace.derived(host_threads)
    rows = threads.waiting_calls
    rows = rows[threads.lane_of_call[rows] == parts.lanes[gap]]
    begun = np.maximum(trace.calls["start_ns"][rows], parts.starts[gap])
    ended = np.minimum(trace.calls["end_ns"][rows], parts.ends[gap])
    shared = ended - begun
    if not len(rows) or int(shared.max()) <= 0:
        return ""
    return trace.strings[int(trace.calls["name"][rows[np.argmax(shared)]])]
