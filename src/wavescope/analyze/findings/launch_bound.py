"""Phases whose ops are so short that launching them takes longer than running them."""

from __future__ import annotations

from operator import add
from typing import NamedTuple

import numpy as np

from wavescope.analyze.findings.context import FindingContext, nearest_rank_median
from wavescope.analyze.idle.first_launches import launch_calls
from wavescope.analyze.quick_findings.evidence_sql import gaps_sql
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import code_counts, looked_up
from wavescope.arrays.groups import group_sums
from wavescope.arrays.intervals import Times
from wavescope.model.result import Finding, Severity
from wavescope.units import counted, duration_text

ID = "launch-bound"
_OWN_STEPS = 2
"""Where no launch is recorded, shorter gaps than so many of the GPU's own steps are its own."""
_EXPLAINED = 0.8
"""A phase is not told when one nested in it has this share of its gaps."""


_NOT_RECORDED = np.iinfo(np.int64).max
"""The end of a launch that is not recorded: it may have cost any gap."""


class _PhaseGaps(NamedTuple):
    """A phase, its ops, and the gaps before them that launches may explain."""

    path: int
    op_count: int
    busy_ns: int
    gap_count: int
    gap_ns: int
    stall_ns: int
    """Gaps before its ops that are no cost of a launch: too long, or the GPU's own steps."""

    @property
    def whole_ns(self) -> int:
        return self.busy_ns + self.gap_ns + self.stall_ns

    @property
    def gap_percent(self) -> float:
        return 100 * self.gap_ns / self.whole_ns if self.whole_ns else 0.0


class _PhaseOps(NamedTuple):
    """The ops of a phase: their median, the GPU of most, and when the first and last began."""

    median_ns: int
    gpu: int
    first_ns: int
    last_ns: int


def launch_bound(context: FindingContext) -> list[Finding]:
    """A finding for each phase (without markers: for the whole trace) bound by launches.

    None where a filter hides ops of the phases: their time lines are then not known.
    """
    if context.hides_ops:
        return []
    phases = _phase_gaps(context)
    whole_ns = sum(each.whole_ns for each in phases if _is_outermost(context, each.path))
    ops_of = {
        each.path: _ops_of(context, each) for each in phases if _qualifies(context, each, whole_ns)
    }
    limit_ns = context.thresholds.launch_op_ns
    qualifying = {
        each.path: each
        for each in phases
        if each.path in ops_of and ops_of[each.path].median_ns <= limit_ns
    }
    parents: dict[int, list[_PhaseGaps]] = {}
    for each in qualifying.values():
        if each.path < len(context.phases.tree.paths):
            parents.setdefault(context.phases.tree.paths[each.path].parent, []).append(each)
    return [
        _finding(context, each, ops_of[each.path])
        for each in qualifying.values()
        if not any(child.gap_ns >= _EXPLAINED * each.gap_ns for child in parents.get(each.path, []))
    ]


def _is_outermost(context: FindingContext, path: int) -> bool:
    paths = context.phases.tree.paths
    return path == len(paths) or paths[path].parent < 0


def _qualifies(context: FindingContext, each: _PhaseGaps, whole_ns: int) -> bool:
    limits = context.thresholds
    return (
        each.op_count >= limits.launch_op_count
        and each.busy_ns <= limits.launch_op_ns * each.op_count
        and 100 * each.gap_count >= limits.launch_gapped_percent * each.op_count
        and each.gap_percent >= limits.launch_idle_percent
        and 100 * each.whole_ns >= limits.launch_phase_percent * whole_ns
    )


def _phase_gaps(context: FindingContext) -> list[_PhaseGaps]:
    """Every path with all that is nested in it; last, the ops outside any."""
    phases = context.phases
    count = len(phases.tree.paths)
    # -1, outside any range, becomes the last path.
    path_of_op = np.where(phases.path_of_op < 0, np.int32(count), phases.path_of_op)
    durations, working = context.durations_ns, context.working
    if not working.all():
        durations = durations[working]
    own_paths = path_of_op if working.all() else path_of_op[working]
    own = (
        code_counts(own_paths, count + 1).tolist(),
        group_sums(own_paths, durations, count + 1),
        *_gap_sums(context, path_of_op, count + 1),
    )
    columns = (phases.tree.with_nested(column) for column in own)
    return [_PhaseGaps(number, *row) for number, row in enumerate(zip(*columns, strict=True))]


def _gap_sums(context: FindingContext, path_of_op: Array, count: int) -> tuple[list[int], ...]:
    """For each path the gaps that launches may explain, their sum, and that of longer ones."""
    totals: tuple[list[int], ...] = tuple([0] * count for _ in range(3))
    launched_until = _launched_until_ns(context)
    for gaps in context.gaps:
        paths, lengths = path_of_op[gaps.after], gaps.lengths_ns
        told = lengths <= context.thresholds.launch_gap_ns
        is_long = lengths >= _OWN_STEPS * context.thresholds.back_to_back_ns
        if launched_until is not None:
            gap_starts = context.trace.ops["start_ns"][gaps.after] - lengths.astype(np.int64)
            until = launched_until[gaps.after]
            told &= (until > gap_starts) & (is_long | (until != _NOT_RECORDED))
        else:
            told &= is_long
        sums = (
            code_counts(paths[told], count).tolist(),
            group_sums(paths[told], lengths[told], count),
            group_sums(paths[~told], lengths[~told], count),
        )
        for total, own in zip(totals, sums, strict=True):
            total[:] = map(add, total, own)
    return totals


def _launched_until_ns(context: FindingContext) -> Times | None:
    """For each op when its launch was over; None where no launches are recorded.

    A gap that began after that is the GPU's step from op to op and no cost of a launch. So is one
    before an op that follows another of the same launch, a node of a graph; an op without a
    recorded launch may have cost one.
    """
    links, trace = context.links, context.trace
    if links is None:
        return None
    never = np.iinfo(np.int64).min
    until = np.full(len(trace.ops), _NOT_RECORDED, np.int64)
    first_ns = trace.derived(launch_calls).first_start_ns[links.call_rows]
    is_later = trace.ops["start_ns"][links.op_rows] > first_ns
    until[links.op_rows] = np.where(is_later, never, trace.calls["end_ns"][links.call_rows])
    return until


def _ops_of(context: FindingContext, each: _PhaseGaps) -> _PhaseOps:
    phases, ops = context.phases, context.trace.ops
    if each.path == len(phases.tree.paths):
        inside = phases.path_of_op < 0
    else:
        ancestors = phases.tree.ancestors_at(phases.tree.paths[each.path].depth)
        inside = looked_up(ancestors, phases.path_of_op) == each.path
    rows = np.flatnonzero(inside & context.working)
    gpus, counts = np.unique(ops["gpu"][rows], return_counts=True)
    return _PhaseOps(
        nearest_rank_median(context.durations_ns[rows]),
        int(gpus[np.argmax(counts)]),
        int(ops["start_ns"][rows].min()),
        int(ops["start_ns"][rows].max()),
    )


def _finding(context: FindingContext, each: _PhaseGaps, ops: _PhaseOps) -> Finding:
    phases = context.phases
    is_phase = each.path < len(phases.tree.paths)
    name = phases.tree.text(each.path) if is_phase else ""
    subject = f"Phase {name}" if is_phase else "The trace"
    if not is_phase and phases.tree.paths:
        subject = f"Work {phases.outside_label.strip('()')}"
    mean_gap_ns = each.gap_ns / each.gap_count if each.gap_count else 0
    step_ns = int(context.thresholds.back_to_back_ns)
    left_ns = each.gap_ns - each.gap_count * step_ns
    return Finding(
        ID,
        Severity.WARNING,
        f"{subject} is bound by launches: {each.gap_percent:.0f} % of its GPU time line is gaps "
        f"before short ops",
        f"{counted(each.op_count, 'op')}, median {duration_text(ops.median_ns)}; "
        f"{counted(each.gap_count, 'gap')} "
        f"before them of {duration_text(mean_gap_ns)} on average, together "
        f"{duration_text(each.gap_ns)} beside {duration_text(each.busy_ns)} of work",
        "launch them as one graph (hipGraph, CUDA graph, torch.compile with reduce-overhead), or "
        "fuse them; a larger batch hides launches too",
        f"phase {name}" if is_phase else "trace",
        gain_percent=100 * left_ns / each.whole_ns,
        gain_basis=f"{duration_text(step_ns)} left of each of these gaps, as within a graph; the "
        "same ops as long as now",
        sql=gaps_sql(
            ops.gpu,
            least_ns=int(context.thresholds.back_to_back_ns) - 1,
            most_ns=int(context.thresholds.launch_gap_ns) + 1,
            window=(ops.first_ns, ops.last_ns),
        ),
        numbers={
            "phase": name or None,
            "ops": each.op_count,
            "median_ns": ops.median_ns,
            "gap_count": each.gap_count,
            "gaps_ns": each.gap_ns,
            "work_ns": each.busy_ns,
            "longer_gaps_ns": each.stall_ns,
            "gap_percent": each.gap_percent,
        },
    )
