"""Every idle gap of a GPU divided over what the host did during it.

A gap ends with an op; its launch call, clipped to the gap, divides it: before the call (less what
the launching thread spent in calls that wait for the GPU), waiting, inside the call, after it. A
gap whose op has no call in the trace is unlinked. The five add up to the idle time exactly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.gaps import GpuIdle, every_gap
from wavescope.analyze.ops.op_links import op_links
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import DistinctRows
from wavescope.arrays.intervals import Times, elapsed_ns
from wavescope.arrays.lane_cover import LaneCover, Lanes, Lengths
from wavescope.model.trace import Trace

Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
NO_CALL = -1

_WAITS_FOR_GPU = re.compile(r"Synchronize|^(?:hip|cuda|cu)(?:Drv)?Memcpy(?!\w*Async)")
_NAME_LIMIT = 256


class IdleSplit(NamedTuple):
    """The idle time of one GPU over what the host did during it."""

    gpu: int
    gap_count: int
    longest_gap_ns: int
    idle_ns: int
    before_ns: int
    waiting_ns: int
    in_launch_ns: int
    after_launch_ns: int
    unlinked_ns: int


@dataclass(frozen=True)
class HostThreads:
    """The threads that call, and when each was inside a call that waits for the GPU."""

    lane_of_call: Lanes
    waiting_calls: Rows
    waiting: LaneCover


@dataclass(frozen=True)
class GapParts:
    """All gaps of one GPU, in order of time, and the launches that ended them."""

    trace: Trace
    idle: GpuIdle
    calls: Rows
    """The row of the call that launched the op which ended the gap; NO_CALL where unknown."""
    lanes: Lanes
    """The thread of that call."""
    launch_starts: Times
    """When that call began, within the gap."""
    launch_ends: Times
    waiting_ns: Lengths
    """How long that thread waited for the GPU between the gap's start and the call."""

    @property
    def starts(self) -> Times:
        return self.idle.starts

    @property
    def ends(self) -> Times:
        return self.idle.ends

    @property
    def after(self) -> Array:
        """The row of the op that ended the gap."""
        return self.idle.after

    @cached_property
    def linked(self) -> Flags:
        linked: Flags = self.calls != NO_CALL
        return linked

    @cached_property
    def inverted_count(self) -> int:
        """How many gaps ended before the call that launched the op began, by the trace's clocks."""
        called = self.trace.calls["start_ns"][self.calls[self.linked]]
        return int(np.count_nonzero(called > self.trace.ops["start_ns"][self.after[self.linked]]))

    @cached_property
    def lengths_ns(self) -> Lengths:
        return elapsed_ns(self.starts, self.ends)

    @cached_property
    def before_ns(self) -> Lengths:
        """Before the launch and not waiting; 0 where there is no launch."""
        return elapsed_ns(self.starts, self.launch_starts) - self.waiting_ns

    @cached_property
    def in_launch_ns(self) -> Lengths:
        return elapsed_ns(self.launch_starts, self.launch_ends)

    @cached_property
    def after_launch_ns(self) -> Lengths:
        after = elapsed_ns(self.launch_ends, self.ends)
        after[~self.linked] = 0
        return after

    @cached_property
    def split(self) -> IdleSplit:
        """All gaps added up."""
        lengths = self.lengths_ns
        idle_ns = _total(lengths)
        divided = [0, 0, 0, 0, idle_ns]
        if self.linked.any():
            parts = (self.before_ns, self.waiting_ns, self.in_launch_ns, self.after_launch_ns)
            divided = [*map(_total, parts), _total(lengths[~self.linked])]
        return IdleSplit(
            self.idle.gpu, len(lengths), int(lengths.max(initial=0)), idle_ns, *divided
        )


def _total(lengths: Lengths) -> int:
    return int(lengths.sum(dtype=np.uint64))


def gap_parts(trace: Trace) -> list[GapParts]:
    """The gaps of every GPU, in order of GPU number."""
    idle, whole = trace.derived(every_gap), trace.whole
    if not len(whole.links) or not len(whole.calls):
        return [_all_unlinked(whole, each) for each in idle]
    whole.calls.load("start_ns", "end_ns", "process", "thread", "name")
    call_of_op = np.full(len(whole.ops), NO_CALL, np.int64)
    links = whole.derived(op_links)
    call_of_op[links.op_rows] = links.call_rows
    threads = whole.derived(host_threads)
    return [_divided(whole, each, call_of_op, threads) for each in idle]


def host_threads(trace: Trace) -> HostThreads:
    """The threads of all calls."""
    calls = trace.calls
    lanes, _ = DistinctRows(2).number([calls["process"], calls["thread"]])
    lane_of_call = lanes.astype(np.int64)
    used = calls.code_counts("name").codes.tolist()
    codes = [code for code in used if waits_for_gpu(trace.strings[code])]
    rows = np.flatnonzero(np.isin(calls["name"], codes))
    starts = calls["start_ns"][rows]
    ends = np.maximum(calls["end_ns"][rows], starts)
    cover = LaneCover.of(starts, ends, lane_of_call[rows])
    return HostThreads(lane_of_call, rows, cover)


def waits_for_gpu(name: str) -> bool:
    """Whether a call of that name returns only when the GPU has done something."""
    return _WAITS_FOR_GPU.search(name[:_NAME_LIMIT]) is not None


def _all_unlinked(trace: Trace, idle: GpuIdle) -> GapParts:
    count = len(idle.starts)
    nobody = np.full(count, NO_CALL, np.int64)
    nothing = np.zeros(count, np.uint64)
    return GapParts(trace, idle, nobody, nobody, idle.starts, idle.starts, nothing)


def _divided(trace: Trace, idle: GpuIdle, call_of_op: Rows, threads: HostThreads) -> GapParts:
    calls = call_of_op[idle.after]
    linked = calls != NO_CALL
    chosen = np.where(linked, calls, 0)
    # Without a call nothing of a gap lies before one, inside one or after one.
    begun = np.where(linked, trace.calls["start_ns"][chosen], idle.starts)
    ended = np.where(linked, trace.calls["end_ns"][chosen], idle.starts)
    launch_starts = np.clip(begun, idle.starts, idle.ends)
    launch_ends = np.clip(ended, launch_starts, idle.ends)
    lanes = np.where(linked, threads.lane_of_call[chosen], NO_CALL)
    waiting = threads.waiting.between_ns(idle.starts, launch_starts, lanes)
    return GapParts(trace, idle, calls, lanes, launch_starts, launch_ends, waiting)
