"""Host time by stack: the calls, operators and Python functions of each thread, nested.

A moment of a thread counts once, for the innermost call that is open then. Of calls that overlap
without nesting, as damaged input has them, that is the one which began last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.calls.outermost import call_lanes
from wavescope.analyze.flame.paths import ROOT, FrameNames, Numbers, Paths, nodes_of_frames
from wavescope.analyze.flame.tree import FlameTree, added_up
from wavescope.analyze.operators import frame_text
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import distinct
from wavescope.arrays.intervals import Intervals, elapsed_ns
from wavescope.arrays.nesting import flatten, nest
from wavescope.model.columns import THREADS, UNKNOWN
from wavescope.model.trace import Trace

Lengths = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class _Window:
    """Times that count."""

    times: Intervals | None
    """None: all."""

    def lengths(self, starts: Numbers, ends: Numbers) -> Lengths:
        """How much of each range counts."""
        if self.times is None:
            return elapsed_ns(starts, ends)
        return self._before(ends) - self._before(starts)

    def _before(self, moments: Numbers) -> Lengths:
        """How much time that counts is before each moment."""
        assert self.times is not None
        starts, ends = self.times.starts, self.times.ends
        whole = np.append(np.uint64(0), np.cumsum(elapsed_ns(starts, ends), dtype=np.uint64))
        place = np.searchsorted(starts, moments, side="right") - 1
        inside = np.maximum(place, 0)
        part = elapsed_ns(starts[inside], np.minimum(moments, ends[inside]))
        return np.where(place < 0, np.uint64(0), whole[inside] + part)


def host_tree(
    trace: Trace, window: Intervals | None = None, named: FrameNames = frame_text
) -> FlameTree:
    """The time of all calls by process, thread and stack; of calls at the edges of `window` only
    what is inside."""
    paths = Paths()
    calls = trace.calls
    calls.load("start_ns", "end_ns", "name", "process", "thread")
    starts, ends = calls["start_ns"], calls["end_ns"]
    if window is not None and len(calls):
        window = window.clip(int(starts.min()), int(ends.max()) + 1)
    if not len(calls) or (window is not None and not len(window)):
        nothing = np.empty(0, np.int64)
        return added_up(paths, nothing, nothing)
    rows = _rows_in(window, starts, ends)
    starts, ends = starts[rows], ends[rows]
    lanes = call_lanes(calls)[rows]
    parent = nest(starts, ends, lanes).parent
    threads = _thread_nodes(trace, paths, rows, lanes)
    codes, code_of_call = distinct(calls["name"][rows])
    names = paths.numbered(named(trace.strings[code]) for code in codes)
    roots = threads[lanes]
    nodes = nodes_of_frames(paths, parent, names[code_of_call], roots)
    own_ns = _own_lengths(_Window(window), starts, ends, lanes, parent)
    outermost = np.unique(nodes[parent < 0])
    holders = np.unique(np.append(paths.parents[threads[threads >= 0]], threads[threads >= 0]))
    return added_up(
        paths, nodes, own_ns, counts_below=np.append(outermost, holders[holders > ROOT])
    )


def _rows_in(window: Intervals | None, starts: Numbers, ends: Numbers) -> Numbers:
    """The calls that share time with the window, or begin in it; what they lie in is among them."""
    if window is None:
        return np.arange(len(starts))
    shares = _Window(window).lengths(starts, ends) > 0
    return np.flatnonzero(shares | window.contains_points(starts))


def _own_lengths(
    window: _Window, starts: Numbers, ends: Numbers, lanes: Numbers, parent: Numbers
) -> Lengths:
    """The time of each call during which it is the innermost of its thread."""
    own = window.lengths(starts, ends)
    has_parent = np.flatnonzero(parent >= 0)
    inner = np.zeros(len(own), np.uint64)
    np.add.at(inner, parent[has_parent], own[has_parent])
    crossed = np.flatnonzero(np.isin(lanes, _crossed_lanes(starts, ends, lanes, parent)))
    own -= inner
    if len(crossed):
        cut = flatten(starts[crossed], ends[crossed], lanes[crossed])
        own[crossed] = 0
        np.add.at(own, crossed[cut.ranges], window.lengths(cut.starts, cut.ends))
    return own


def _crossed_lanes(starts: Numbers, ends: Numbers, lanes: Numbers, parent: Numbers) -> Numbers:
    """The threads in which calls overlap that do not lie in one another."""
    inside = np.where(parent >= 0, parent, -1 - lanes)
    order = np.lexsort((starts, inside))
    beside = inside[order[1:]] == inside[order[:-1]]
    crosses = beside & (starts[order[1:]] < ends[order[:-1]])
    return np.unique(lanes[order[1:][crosses]])


def _thread_nodes(trace: Trace, paths: Paths, rows: Numbers, lanes: Numbers) -> Numbers:
    """For each number of a thread its node below that of its process, -1 for a thread unused."""
    used, firsts = np.unique(lanes, return_index=True)
    calls, texts = trace.calls, _Labels(trace)
    nodes = np.full(int(used.max()) + 1, -1, np.int64)
    for lane, row in zip(used.tolist(), rows[firsts].tolist(), strict=True):
        process, thread = int(calls["process"][row]), int(calls["thread"][row])
        nodes[lane] = paths.node(texts.process(process), texts.thread(process, thread))
    return nodes


class _Labels:
    """What processes and threads are called."""

    def __init__(self, trace: Trace) -> None:
        names = ("id", "pid", "rank")
        table, threads = trace.processes, trace.table(THREADS)
        self._processes = {
            number: (name, pid, rank)
            for number, pid, rank, name in zip(
                *(table[each].tolist() for each in names), table.strings("name"), strict=True
            )
        }
        self._threads = {
            (process, thread): name
            for process, thread, name in zip(
                *_columns(threads["process"], threads["thread"]),
                threads.strings("name"),
                strict=True,
            )
        }

    def process(self, number: int) -> str:
        name, pid, rank = self._processes.get(number, ("", UNKNOWN, UNKNOWN))
        pid_text = str(pid) if pid != UNKNOWN else f"#{number}"
        rank_text = f", rank {rank}" if rank != UNKNOWN else ""
        return f"{name or 'process'} {pid_text}{rank_text}"

    def thread(self, process: int, thread: int) -> str:
        name: str = self._threads.get((process, thread), "")
        # Some recorders name threads by their numbers.
        if name.startswith(f"thread {thread}"):
            return name
        return f"thread {thread}" + (f" ({name})" if name else "")


def _columns(*arrays: Array) -> list[list[int]]:
    return [array.tolist() for array in arrays]
