"""How long each step of a rank ran what: exact, whether steps overlap or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.digest.host_late import HostLate
from wavescope.analyze.ranks.digest.rank_digest import UNKNOWN, Numbers
from wavescope.analyze.ranks.digest.rank_ops import RankOps
from wavescope.arrays import Array
from wavescope.arrays.interval_union import covered_ns, group_unions_ns
from wavescope.arrays.intervals import Times, sorted_times

Flags = npt.NDArray[np.bool_]

_MOST_SLICES = 4_000
"""With more runs of ops than these, sorting all ops by step takes less than going through them."""


class OpRuns(NamedTuple):
    """Ops of one step that follow one another in the trace: there are far fewer than ops."""

    firsts: npt.NDArray[np.intp]
    lengths: npt.NDArray[np.intp]
    steps: Times
    """Of each run, -1 for ops outside any step."""

    def counts(self, step_count: int) -> Times:
        """How many ops each step has."""
        return self._added(self.lengths, step_count)

    def sums(self, values: Array, step_count: int) -> Times:
        """The values of all ops of each step added up."""
        if not len(self.firsts):
            return np.zeros(step_count, np.int64)
        return self._added(np.add.reduceat(values, self.firsts, dtype=np.int64), step_count)

    def minima(self, values: Times, step_count: int) -> Times:
        """The least value of each step."""
        found = np.full(step_count + 1, np.iinfo(np.int64).max, np.int64)
        if len(self.firsts):
            np.minimum.at(found, self.steps, np.minimum.reduceat(values, self.firsts))
        return found[:step_count]

    def maxima(self, values: Times, step_count: int) -> Times:
        """The greatest value of each step."""
        found = np.full(step_count + 1, np.iinfo(np.int64).min, np.int64)
        if len(self.firsts):
            np.maximum.at(found, self.steps, np.maximum.reduceat(values, self.firsts))
        return found[:step_count]

    def slices(self) -> dict[int, list[slice]]:
        """For each step, and -1, the places of its ops."""
        parts: dict[int, list[slice]] = {}
        for first, length, step in zip(*(column.tolist() for column in self), strict=True):
            parts.setdefault(step, []).append(slice(first, first + length))
        return parts

    def _added(self, of_run: Array, step_count: int) -> Times:
        # The last place is that of ops outside any step.
        found = np.zeros(step_count + 1, np.int64)
        np.add.at(found, self.steps, of_run)
        return found[:step_count]


def op_runs(step_of_op: Array) -> OpRuns:
    """The runs of ops of one step."""
    if not len(step_of_op):
        nothing = np.empty(0, np.intp)
        return OpRuns(nothing, nothing, np.empty(0, np.int64))
    changes = np.flatnonzero(step_of_op[1:] != step_of_op[:-1]) + 1
    firsts = np.concatenate(([0], changes))
    lengths = np.diff(np.append(firsts, len(step_of_op)))
    return OpRuns(firsts, lengths, step_of_op[firsts].astype(np.int64))


class StepSpans(NamedTuple):
    """When steps begin and end, in order of their beginnings, and which ops are their own."""

    starts: Times
    ends: Times
    runs: OpRuns


class StepTimes(NamedTuple):
    """How long each step ran what."""

    busy_ns: Times
    compute_ns: Times
    collective_ns: Times
    exposed_ns: Times
    host_late_ns: Times


def step_times(
    ops: RankOps, spans: StepSpans, of_collective: Numbers, late: HostLate | None
) -> StepTimes:
    """The times of all steps of a rank, given the step of each of its collectives."""
    if _are_alone(ops, spans):
        busy, compute, collective, either = (
            covered.between(spans.starts, spans.ends)
            for covered in (ops.busy, ops.compute, ops.collective, ops.compute_or_collective)
        )
        exposed = either - compute
    else:
        busy = _unions_ns(ops, spans, np.ones(len(ops), np.bool_))
        compute = _unions_ns(ops, spans, ops.is_compute)
        collective, exposed = _of_collectives(ops, of_collective, len(spans.starts))
    idle = spans.ends - spans.starts - ops.busy.between(spans.starts, spans.ends)
    if late is None:
        host_late = np.full(len(spans.starts), UNKNOWN, np.int64)
    else:
        host_late = late.between(spans.starts, spans.ends, idle)
    return StepTimes(busy, compute, collective, exposed, host_late)


def _are_alone(ops: RankOps, spans: StepSpans) -> bool:
    """Whether nothing but its own ops runs from the beginning to the end of each step."""
    if not np.all(spans.starts[1:] >= spans.ends[:-1]):
        return False
    if not len(spans.starts):
        return True
    parts = spans.runs.slices().get(UNKNOWN, [])
    if not parts:
        return True
    starts, ends = (
        np.concatenate([times[part] for part in parts]) for times in (ops.starts, ops.ends)
    )
    following = np.searchsorted(spans.ends, starts, side="right")
    next_starts = np.append(spans.starts, np.iinfo(np.int64).max)[following]
    return not np.any((next_starts < ends) & (starts < ends))


def _unions_ns(ops: RankOps, spans: StepSpans, chosen: Flags) -> Times:
    """How long at least one of the chosen ops of each step ran."""
    if len(spans.runs.firsts) > _MOST_SLICES:
        of_op = np.repeat(spans.runs.steps, spans.runs.lengths)
        rows = np.flatnonzero(chosen & (of_op >= 0))
        nothing = np.zeros(len(rows), np.int8)
        columns = (of_op[rows], nothing, ops.starts[rows], ops.ends[rows])
        return np.array(group_unions_ns(*columns, len(spans.starts)), np.int64)
    lengths = np.zeros(len(spans.starts), np.int64)
    everything = bool(chosen.all())
    for step, slices in spans.runs.slices().items():
        if step == UNKNOWN:
            continue
        starts = _joined(ops.starts, slices, None if everything else chosen)
        ends = _joined(ops.ends, slices, None if everything else chosen)
        lengths[step] = covered_ns((sorted_times(starts), sorted_times(ends)))
    return lengths


def _joined(times: Times, slices: Sequence[slice], chosen: Flags | None) -> Times:
    """The chosen times of some runs of ops."""
    parts = [times[part] if chosen is None else times[part][chosen[part]] for part in slices]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _of_collectives(ops: RankOps, of_collective: Numbers, step_count: int) -> tuple[Times, Times]:
    """How long a collective of each step ran, and how long of that no compute did."""
    inside = of_collective >= 0
    rows = ops.collective_rows[inside]
    steps, starts, ends = stretches_by_group(
        of_collective[inside], ops.starts[rows], ops.ends[rows]
    )
    lengths = ends - starts
    exposed = lengths - ops.compute.between(starts, ends)
    totals = np.zeros((2, step_count), np.int64)
    np.add.at(totals[0], steps, lengths)
    np.add.at(totals[1], steps, exposed)
    return totals[0], totals[1]


def stretches_by_group(
    groups: Array, starts: Times, ends: Times
) -> tuple[npt.NDArray[np.int64], Times, Times]:
    """The gapless stretches that the rows of each group cover: group, start and end of each."""
    order = np.lexsort((starts, groups))
    groups, starts, ends = groups[order].astype(np.int64), starts[order], ends[order]
    if not len(order):
        return groups, starts, ends
    # The latest end so far within each group: by the places of ends in their order, since times
    # themselves leave no room for the number of the group.
    distinct_ends, place = np.unique(ends, return_inverse=True)
    reached = np.maximum.accumulate(groups * len(distinct_ends) + place) % len(distinct_ends)
    latest = distinct_ends[reached]
    is_first = np.append(True, (groups[1:] != groups[:-1]) | (starts[1:] > latest[:-1]))
    firsts = np.flatnonzero(is_first)
    lasts = np.append(firsts[1:], len(order)) - 1
    return groups[firsts], starts[firsts], latest[lasts]
