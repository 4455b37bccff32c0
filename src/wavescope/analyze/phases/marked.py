"""Phases from markers: which ops belong to which path of nested ranges, and what they add up to.

`marked_phases` is what other analyses build on; `phases_result` makes the tables of it. All
definitions are published in docs/phases.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.markers import Basis, MarkedOps, OpRanges, TraceRanges, marked_ops
from wavescope.analyze.phases.paths import (
    NO_PATH,
    Path,
    PathTree,
    PhaseScope,
    RangePaths,
    range_paths,
)
from wavescope.arrays.coded_columns import code_counts, looked_up
from wavescope.arrays.interval_union import group_unions_ns
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace

# What phases and their tables are made from, read from the file in one pass.
OP_COLUMNS = ("gpu", "start_ns", "end_ns", "name", "type", "process", "marker")


class PathFacts(NamedTuple):
    """One path in numbers; ops of the ranges nested in it are its ops too."""

    occurrences: int
    wall_ns: int
    """How long at least one of its ranges was open."""
    range_sum_ns: int
    """The durations of its ranges added up."""
    op_count: int
    own_op_count: int
    """Ops for which it is the innermost path."""
    gpu_time_ns: int
    """Union of its ops on each GPU, added up over GPUs."""
    by_time_count: int
    """Ops that belong to it by time only, their launch being unknown."""


@dataclass(frozen=True)
class MarkedPhases:
    """The phases of one trace, as arrays over its ops."""

    trace: Trace
    found: TraceRanges
    ranges: OpRanges
    range_paths: RangePaths
    path_of_op: npt.NDArray[np.int32]
    """For every op the innermost path, a position in `paths`; -1 outside any range."""
    scope: PhaseScope = PhaseScope.ALL

    @property
    def marked_ops(self) -> MarkedOps:
        """What the phases are made from, for others to use again."""
        return MarkedOps(self.found, self.ranges)

    @property
    def tree(self) -> PathTree:
        return self.range_paths.tree

    @property
    def paths(self) -> list[Path]:
        return self.tree.paths

    def path_text(self, number: int) -> str:
        """A path for people: request > decode."""
        return self.tree.text(number)

    @cached_property
    def basis_counts(self) -> dict[Basis, int]:
        """How many ops belong to their path for which reason; barriers are left out."""
        counts = np.bincount(self.ranges.basis[self._working], minlength=len(Basis))
        return {basis: int(counts[basis]) for basis in Basis}

    @cached_property
    def _working(self) -> npt.NDArray[np.bool_]:
        working: npt.NDArray[np.bool_] = self.trace.op_kind != OpKind.BARRIER
        return working

    @cached_property
    def facts(self) -> list[PathFacts]:
        """What each path adds up to; barriers, which do no work, are left out."""
        count = len(self.paths)
        own_counts, by_time = self._own_counts()
        counts = self.tree.with_nested(own_counts)
        unions_ns = self._unions_ns
        by_time = self.tree.with_nested(by_time)
        occurrences, wall_ns, sums_ns = self._range_facts()
        return [
            PathFacts(
                occurrences[number],
                wall_ns[number],
                sums_ns[number],
                counts[number],
                own_counts[number],
                unions_ns[number],
                by_time[number],
            )
            for number in range(count)
        ]

    @cached_property
    def outside_op_count(self) -> int:
        """Ops that no range holds."""
        return int(np.count_nonzero((self.path_of_op == NO_PATH) & self._working))

    @cached_property
    def outside_gpu_time_ns(self) -> int:
        """Union of the ops outside any range on each GPU, added up over GPUs."""
        if not self.paths:
            return self.all_gpu_time_ns
        if not self._working.all():
            return self._union_ns((self.path_of_op == NO_PATH) & self._working)
        return self._unions_ns[-1]

    @cached_property
    def all_gpu_time_ns(self) -> int:
        """Union of all ops on each GPU, added up over GPUs."""
        return self._union_ns(self._working)

    def _union_ns(self, chosen: npt.NDArray[np.bool_]) -> int:
        rows = slice(None) if chosen.all() else np.flatnonzero(chosen)
        ops = self.trace.ops
        gpus, starts, ends = (ops[name][rows] for name in ("gpu", "start_ns", "end_ns"))
        return group_unions_ns(np.zeros(len(starts), np.int8), gpus, starts, ends, 1)[0]

    def _own_counts(self) -> tuple[list[int], list[int]]:
        paths, basis = self.path_of_op, self.ranges.basis
        if not self._working.all():
            paths, basis = paths[self._working], basis[self._working]
        count = len(self.paths)
        is_by_time = basis == Basis.TIME
        by_time = code_counts(paths[is_by_time], count) if is_by_time.any() else np.zeros(count)
        return code_counts(paths, count).tolist(), by_time.astype(np.int64).tolist()

    @cached_property
    def _unions_ns(self) -> list[int]:
        """GPU time of each path, and last of what no path holds (barriers among it).

        Level by level: at one depth every op belongs to one path at most. All ops are dealt out
        each time, those of no path at that depth to a group of their own: picking the others out
        first would cost more memory and time.
        """
        ops, count = self.trace.ops, len(self.paths)
        ops.load("gpu", "start_ns", "end_ns")
        innermost = self.path_of_op
        if not self._working.all():
            innermost = np.where(self._working, innermost, NO_PATH)
        unions = [0] * (count + 1)
        for depth in range(max((path.depth for path in self.paths), default=-1) + 1):
            ancestors = self.tree.ancestors_at(depth)
            paths = looked_up(np.where(ancestors == NO_PATH, count, ancestors), innermost)
            lengths = group_unions_ns(paths, ops["gpu"], ops["start_ns"], ops["end_ns"], count + 1)
            for number, path in enumerate(self.paths):
                if path.depth == depth:
                    unions[number] = lengths[number]
            if depth == 0:
                unions[count] = lengths[count]
        return unions

    def _range_facts(self) -> tuple[list[int], list[int], list[int]]:
        """Occurrences, wall time and summed durations of each path's ranges of the host."""
        ranges, count = self.found.host, len(self.paths)
        paths = self.range_paths.of_host_range
        occurrences = np.bincount(paths, minlength=count).tolist() if len(paths) else [0] * count
        one_axis = np.zeros(len(paths), np.int64)
        wall_ns = group_unions_ns(paths, one_axis, ranges.starts, ranges.ends, count)
        sums_ns = [0] * count
        durations = (ranges.ends - ranges.starts).tolist()
        for path, duration_ns in zip(paths.tolist(), durations, strict=True):
            sums_ns[path] += duration_ns
        return occurrences, wall_ns, sums_ns


def marked_phases(
    trace: Trace, scope: PhaseScope = PhaseScope.ALL, *, merge_numbers: bool = True
) -> MarkedPhases:
    """The phases that the markers of `trace` make of its ops, kept apart by `scope`."""
    trace.ops.load(*OP_COLUMNS)
    found, ranges = marked_ops(trace)
    paths = range_paths(trace.strings, found, scope, merge_numbers=merge_numbers)
    # A last entry answers for -1, the ops outside any range.
    path_of_op = looked_up(np.append(paths.of_host_range, NO_PATH).astype(np.int32), ranges.host)
    if len(found.drawn):
        drawn = looked_up(np.append(paths.of_drawn_range, NO_PATH).astype(np.int32), ranges.drawn)
        path_of_op = np.where(drawn >= 0, drawn, path_of_op)
    return MarkedPhases(trace, found, ranges, paths, path_of_op, scope)
