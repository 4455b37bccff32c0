"""A GPU (or rank) that computes slower than the others."""

from __future__ import annotations

import statistics
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.quick_findings import evidence_sql
from wavescope.arrays.coded_columns import code_counts, distinct, paired
from wavescope.arrays.groups import group_sums
from wavescope.model.columns import UNKNOWN
from wavescope.model.result import Finding, Severity
from wavescope.names.kernel_names import short_name
from wavescope.units import duration_text

ID = "slow-gpu"
_EQUAL_CALLS = 0.02
_SHOWN = 3
_MOST_CELLS = 1 << 22
_GRID = ("grid_x", "grid_y", "grid_z")
_NEXT_STEP_OF_SPEED = (
    "compare clocks, power and temperature of the GPUs, and what else runs on that one; the others "
    "wait for it in every collective"
)
_NEXT_STEP_OF_WORK = (
    "its kernels are launched with larger grids: balance tokens, experts or layers between the "
    "ranks; the others wait for it in every collective"
)


class _Work(NamedTuple):
    """Calls and time of each kernel on each GPU: one row for each GPU."""

    gpus: list[int]
    calls: npt.NDArray[np.int64]
    total_ns: npt.NDArray[np.float64]


def slow_gpu(context: FindingContext) -> list[Finding]:
    """A finding for the slowest GPU if it is slower than the others by more than the threshold."""
    work = _work(context)
    if work is None:
        return []
    most, least = work.calls.max(axis=0), work.calls.min(axis=0)
    common = (least > 0) & (most - least <= _EQUAL_CALLS * most)
    common_ns = work.total_ns[:, common].sum(axis=1)
    whole_ns = int(work.total_ns.sum())
    limits = context.thresholds
    if not whole_ns or 100 * int(common_ns.sum()) < limits.straggler_common_percent * whole_ns:
        return []
    slowest = int(np.argmax(common_ns))
    others_ns = statistics.median(np.delete(common_ns, slowest).tolist())
    excess = 100 * (int(common_ns[slowest]) - others_ns) / others_ns if others_ns else 0.0
    if excess < limits.straggler_percent:
        return []
    return [_finding(context, work, common, slowest, others_ns)]


def _work(context: FindingContext) -> _Work | None:
    """The compute kernels by GPU; None for a single GPU or too many names."""
    trace = context.trace
    gpus, gpu_of_op = distinct(trace.ops["gpu"])
    label_count = len(context.labels.texts)
    cells = len(gpus) * label_count
    if len(gpus) < 2 or cells > _MOST_CELLS:
        return None
    chosen = context.compute_kernels
    pairs = paired(gpu_of_op, context.label_of_op, label_count, cells)
    durations = context.durations_ns
    if not chosen.all():
        pairs, durations = pairs[chosen], durations[chosen]
    if not len(pairs):
        return None
    shape = (len(gpus), label_count)
    calls = code_counts(pairs, cells).reshape(shape)
    totals = np.array(group_sums(pairs, durations, cells), np.float64).reshape(shape)
    return _Work(gpus, calls, totals)


def _finding(
    context: FindingContext,
    work: _Work,
    common: npt.NDArray[np.bool_],
    slowest: int,
    others_ns: float,
) -> Finding:
    gpu, own_ns = work.gpus[slowest], int(work.total_ns[slowest, common].sum())
    excess = 100 * (own_ns - others_ns) / others_ns
    others = np.delete(np.arange(len(work.gpus)), slowest)
    lost = work.total_ns[slowest] - np.median(work.total_ns[others], axis=0)
    lost = np.where(common, lost, 0)
    worst = [int(label) for label in np.argsort(-lost)[:_SHOWN] if lost[label] > 0]
    texts = context.labels.texts
    examples = [
        f"{short_name(texts[label])} {duration_text(_mean_ns(work, [slowest], label))} "
        f"against {duration_text(_mean_ns(work, others, label))}"
        for label in worst
    ]
    communication = {each.gpu: each.communication_ns for each in context.utilizations}
    waiting = statistics.median(communication.get(work.gpus[index], 0) for index in others)
    rank = _rank_of(context, gpu)
    place = f"GPU {gpu}" + (f" (rank {rank})" if rank is not None else "")
    more_work = _more_work_percent(context, worst, gpu)
    has_more_work = more_work is not None and 2 * more_work >= excess
    return Finding(
        ID,
        Severity.WARNING,
        f"{place} needs {excess:.1f} % longer than the others, for {more_work:.1f} % more work"
        if has_more_work
        else f"{place} computes {excess:.1f} % slower than the others",
        f"{duration_text(own_ns)} for kernels that all {len(work.gpus)} GPUs ran equally often, "
        f"against a median of {duration_text(others_ns)}: {'; '.join(examples)}; its collectives "
        f"took {duration_text(communication.get(gpu, 0))}, the others' {duration_text(waiting)}",
        _NEXT_STEP_OF_WORK if has_more_work else _NEXT_STEP_OF_SPEED,
        f"gpu {gpu}",
        gain_percent=100 * (own_ns - others_ns) / own_ns,
        gain_basis="the slowest GPU as fast as the median of the others",
        sql=evidence_sql.by_gpu_sql([texts[label] for label in worst]),
        numbers={
            "gpu": gpu,
            "rank": rank,
            "common_kernels_ns": own_ns,
            "others_median_ns": int(others_ns),
            "excess_percent": excess,
            "more_work_percent": more_work,
            "communication_ns": communication.get(gpu, 0),
            "others_communication_ns": waiting,
        },
    )


def _mean_ns(work: _Work, gpus: list[int] | npt.NDArray[np.int64], label: int) -> float:
    calls = int(work.calls[gpus, label].sum())
    return int(work.total_ns[gpus, label].sum()) / calls if calls else 0.0


def _more_work_percent(context: FindingContext, labels: list[int], gpu: int) -> float | None:
    """By how much the launch sizes of some kernels on one GPU exceed the others' median.

    None where launch sizes are not recorded.
    """
    ops = context.trace.ops
    rows = np.flatnonzero(np.isin(context.label_of_op, labels))
    ops.load(*_GRID)
    sizes = np.ones(len(rows), np.float64)
    for name in _GRID:
        sizes *= np.maximum(ops[name][rows], 0)
    gpus = ops["gpu"][rows]
    sums = {number: float(sizes[gpus == number].sum()) for number in np.unique(gpus).tolist()}
    own = sums.pop(gpu, 0.0)
    others = statistics.median(sums.values()) if sums else 0.0
    return 100 * (own - others) / others if others else None


def _rank_of(context: FindingContext, gpu: int) -> int | None:
    trace = context.trace
    if not len(trace.processes):
        return None
    row = int(np.argmax(trace.ops["gpu"] == gpu))
    ranks = dict(zip(trace.processes["id"].tolist(), trace.processes["rank"].tolist(), strict=True))
    rank = ranks.get(int(trace.ops["process"][row]), UNKNOWN)
    return None if rank == UNKNOWN else rank
