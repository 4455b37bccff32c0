"""What of a trace was recorded: everything, or in some processes slices of time only.

Inside a slice every kernel that began there is in the trace; outside only runs of whole graphs are,
and how many kernels were launched. So an op belongs to the slice in which it began, with all of
its length: what runs on beyond the end stands for what was running at the beginning, unseen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.intervals import Intervals, Times
from wavescope.model.columns import UNKNOWN
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Finding, Severity, Value
from wavescope.model.trace import Trace
from wavescope.units import count_text, duration_text, percent_of

OUTSIDE_SLICES = "outside the slices"
"""How the reason begins of kernels that were counted, but not recorded."""
FEWEST_SLICES = 5
"""An interval from fewer slices would say little."""
NOT_A_SLICE = -1
_SLICES_SQL = (
    'SELECT process_id, COUNT(*) AS slices, SUM("end" - start) AS total_ns '
    "FROM wavescope_slice GROUP BY process_id"
)


class Population(NamedTuple):
    """What the slices of one process stand for."""

    process: int
    run_ns: int | None
    """How long the process was recorded, in slices or not; None where that is not known."""
    kernel_count: int | None
    """The kernels that it launched meanwhile; None where they were not counted."""


@dataclass(frozen=True)
class Recorded:
    """The slices of all processes that were recorded in slices, by process and time.

    Of a selected part of a trace they are what the selection left of the slices.
    """

    trace: Trace
    processes: Array
    """Of each slice."""
    starts: Times
    ends: Times
    sampled_processes: frozenset[int]
    """Also those of which no slice is left."""

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def cluster_of(self) -> npt.NDArray[np.int64]:
        """For each slice its number in the whole trace: pieces of one belong together."""
        whole = self.trace.whole.derived(recorded_slices)
        if whole is None or whole is self:
            return np.arange(len(self))
        return whole.slice_of(self.processes, self.starts)

    @property
    def slice_count(self) -> int:
        """How many slices there are, pieces of one counted once."""
        return len(np.unique(self.cluster_of))

    def clusters_at(self, times: Times) -> npt.NDArray[np.int64]:
        """For each of some times in slices, of any process, a number for the slice."""
        whole = self.trace.whole.derived(recorded_slices) or self
        return np.searchsorted(np.unique(whole.starts), times, side="right")

    @property
    def total_ns(self) -> int:
        return int((self.ends - self.starts).sum())

    def of_process(self, process: int) -> Intervals:
        """The slices of one process."""
        mine = self.processes == process
        return Intervals.from_pairs(self.starts[mine], self.ends[mine])

    def slice_of(self, processes: Array, starts: Times) -> npt.NDArray[np.int64]:
        """For each op the slice of its process in which it began, or NOT_A_SLICE."""
        found = np.full(len(starts), NOT_A_SLICE, np.int64)
        for process in np.unique(self.processes).tolist():
            slices = np.flatnonzero(self.processes == process)
            rows = np.flatnonzero(processes == process)
            place = np.searchsorted(self.starts[slices], starts[rows], side="right") - 1
            inside = (place >= 0) & (starts[rows] < self.ends[slices][place])
            found[rows[inside]] = slices[place[inside]]
        return found

    @cached_property
    def slice_of_op(self) -> npt.NDArray[np.int64]:
        """`slice_of` every op of the trace."""
        ops = self.trace.ops
        ops.load("process", "start_ns")
        return self.slice_of(ops["process"], ops["start_ns"])

    @cached_property
    def is_seen(self) -> npt.NDArray[np.bool_]:
        """Which ops stand for what was recorded whole: begun in a slice, or of a process without
        slices; no run of a graph, whose kernels it would hide, and no barrier."""
        kinds = self.trace.op_kind
        sampled = np.isin(self.trace.ops["process"], sorted(self.sampled_processes))
        seen: npt.NDArray[np.bool_] = (self.slice_of_op >= 0) | ~sampled
        seen &= (kinds != OpKind.GRAPH_RUN) & (kinds != OpKind.BARRIER)
        return seen

    @cached_property
    def populations(self) -> dict[int, Population]:
        """Of each process that was recorded in slices."""
        return {process: self._population(process) for process in sorted(self.sampled_processes)}

    def _population(self, process: int) -> Population:
        if "selection" in self.trace.metadata:
            # The file was trimmed: how long and how much was left out is not in it.
            return Population(process, None, None)
        window = None if self.trace.part_of is None else self.trace.part_of.window
        span = Intervals.from_pairs(*([each] for each in self._span(process)))
        if window is not None:
            return Population(process, window.intersect(span).total_ns, None)
        return Population(process, span.total_ns, _launched(self.trace, process))

    def _span(self, process: int) -> tuple[int, int]:
        """From when to when a process was recorded."""
        table = self.trace.processes
        mine = np.flatnonzero(table["id"] == process)
        slices = self.of_process(process).span
        bounds = [] if slices is None else [slices]
        if len(mine):
            row = int(mine[0])
            start_ns, end_ns = int(table["start_ns"][row]), int(table["end_ns"][row])
            if start_ns != UNKNOWN and end_ns > start_ns:
                return (
                    min([start_ns, *(start for start, _ in bounds)]),
                    max([end_ns, *(end for _, end in bounds)]),
                )
        ops = self.trace.whole.ops
        mine = np.flatnonzero(ops["process"] == process)
        if len(mine):
            bounds.append((int(ops["start_ns"][mine].min()), int(ops["end_ns"][mine].max())))
        if not bounds:
            return 0, 0
        return min(start for start, _ in bounds), max(end for _, end in bounds)

    @cached_property
    def run_ns(self) -> int | None:
        """How long all of these processes were recorded, added up; None where one is not known."""
        runs = [population.run_ns for population in self.populations.values()]
        known = [run for run in runs if run is not None]
        return sum(known) if len(known) == len(runs) else None

    @cached_property
    def kernel_count(self) -> int:
        """Kernels of the trace that began in a slice."""
        return int(np.count_nonzero((self.slice_of_op >= 0) & _is_kernel(self.trace)))

    @cached_property
    def counted_kernels(self) -> int | None:
        """Kernels that were launched while these processes were recorded; None if not counted."""
        counts = [population.kernel_count for population in self.populations.values()]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def window_of_gpu(self, gpu: int) -> Intervals | None:
        """When all that began on a GPU is known: in the slices of every process that used it.

        None where none of them was recorded in slices.
        """
        ops = self.trace.whole.ops
        return self.window_of_processes(np.unique(ops["process"][ops["gpu"] == gpu]).tolist())

    def window_of_processes(self, processes: Iterable[int]) -> Intervals | None:
        """When all that began on a GPU is known, given the processes that used it."""
        everyone = self.trace.whole.derived(recorded_slices) or self
        window: Intervals | None = None
        for process in processes:
            if process not in everyone.sampled_processes:
                continue
            # What a selection leaves out keeps the GPU busy all the same.
            chosen = self if process in self.sampled_processes else everyone
            slices = chosen.of_process(process)
            window = slices if window is None else window.intersect(slices)
        return window


def recorded_slices(trace: Trace) -> Recorded | None:
    """The slices of a trace that has any; None where none of its processes was sampled."""
    table = trace.slices
    table.load("process", "start_ns", "end_ns")
    order = np.lexsort((table["start_ns"], table["process"]))
    order = order[table["end_ns"][order] > table["start_ns"][order]]
    sampled = set(table["process"].tolist())
    if trace.part_of is not None and len(trace.ops):
        sampled &= set(np.unique(trace.ops["process"]).tolist())
        order = order[np.isin(table["process"][order], sorted(sampled))]
    if not sampled:
        return None
    processes, starts, ends = (table[name][order] for name in ("process", "start_ns", "end_ns"))
    return Recorded(trace, processes, starts, ends, frozenset(sampled))


def kernels_part(trace: Trace) -> Trace:
    """A sampled trace with only the ops that stand for what ran; any other as it is."""
    return trace.derived(_seen_ops) if len(trace.slices) else trace


def _seen_ops(trace: Trace) -> Trace:
    found = trace.derived(recorded_slices)
    return trace if found is None else trace.with_tables((trace.ops.take(found.is_seen),))


def _is_kernel(trace: Trace) -> npt.NDArray[np.bool_]:
    kernels: npt.NDArray[np.bool_] = trace.op_kind == OpKind.KERNEL
    return kernels


def _launched(trace: Trace, process: int) -> int | None:
    """Kernels that a process launched while it was recorded, in slices or not."""
    table = trace.coverage
    if not len(table):
        return None
    table.load("process", "timed", "skipped", "lost", "reason")
    total = 0
    columns = (table[name].tolist() for name in ("process", "timed", "skipped", "lost"))
    for owner, timed, skipped, lost, reason in zip(*columns, table.strings("reason"), strict=True):
        if owner == process:
            total += max(timed, 0) + max(lost, 0)
            total += max(skipped, 0) if reason.startswith(OUTSIDE_SLICES) else 0
    return total or None


def slice_facts(found: Recorded) -> dict[str, Value]:
    """What is said first of a trace that was recorded in slices."""
    facts: dict[str, Value] = {
        "sampled": _sentence(found),
        "slice_count": found.slice_count,
        "slice_total_ns": found.total_ns,
        "kernels_in_slices": found.kernel_count,
    }
    if found.run_ns:
        facts["slice_percent"] = percent_of(found.total_ns, found.run_ns)
    if found.counted_kernels is not None:
        facts["kernels_counted"] = found.counted_kernels
    return facts


def _sentence(found: Recorded) -> str:
    share = percent_of(found.total_ns, found.run_ns) if found.run_ns else None
    of_run = "" if share is None else f", {share:.1f} % of the run"
    plural = "" if found.slice_count == 1 else "s"
    kernels = f"{count_text(found.kernel_count)} kernels recorded"
    if found.counted_kernels is not None:
        kernels += f" of {count_text(found.counted_kernels)} counted"
    return (
        f"kernels were recorded in {count_text(found.slice_count)} slice{plural} of time only "
        f"({duration_text(found.total_ns)} in all{of_run}): {kernels}"
    )


def slice_finding(found: Recorded) -> Finding:
    """That a trace is sampled, for results that say so by a finding."""
    intervals = (
        "intervals are of 95 %"
        if found.slice_count >= FEWEST_SLICES
        else f"with fewer than {FEWEST_SLICES} slices there are no intervals"
    )
    return Finding(
        "sampled",
        Severity.INFO,
        "the trace is sampled: shares and totals are estimates",
        f"{_sentence(found)}; {intervals}; time outside of the slices is not idle time",
        "`wavescope trace --mode standard` records every kernel",
        sql=_SLICES_SQL,
        numbers={
            "slice_count": found.slice_count,
            "slice_total_ns": found.total_ns,
            "kernels_in_slices": found.kernel_count,
        },
    )
