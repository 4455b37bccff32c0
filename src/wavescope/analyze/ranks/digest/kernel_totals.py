"""The compute kernels of a rank that took most time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_labels import named_ops
from wavescope.analyze.ranks.digest.launch_sizes import LaunchSizes
from wavescope.analyze.ranks.digest.rank_digest import UNKNOWN, KernelTotal
from wavescope.analyze.ranks.digest.rank_ops import RankOps
from wavescope.arrays.groups import group_statistics, group_sums
from wavescope.model.op_kinds import OpKind


def kernel_totals(ops: RankOps, sizes: LaunchSizes, kernel_count: int) -> tuple[KernelTotal, ...]:
    """At most `kernel_count` kernels, the one with most time first."""
    rows = compute_kernels(ops)
    if not len(rows):
        return ()
    named = ops.trace.derived(named_ops)
    names = ops.of_working(named.of_op)[rows]
    lengths = ops.of_working(ops.trace.op_length_ns)[rows]
    count = len(named.names)
    statistics = group_statistics(names, lengths, count)
    work_items = group_sums(names, sizes.work_items[rows], count)
    known = np.bincount(names, sizes.is_known[rows], count)
    found = [
        KernelTotal(
            named.names[number],
            named.meanings[number].category,
            runs,
            total,
            median,
            shortest,
            work_items[number] if known[number] else UNKNOWN,
        )
        for number, runs, total, median, shortest in zip(
            statistics.groups.tolist(),
            statistics.counts.tolist(),
            statistics.totals,
            statistics.percentiles(50).tolist(),
            statistics.minima.tolist(),
            strict=True,
        )
    ]
    found.sort(key=lambda kernel: (-kernel.total_ns, kernel.name))
    return tuple(found[:kernel_count])


def compute_kernels(ops: RankOps) -> npt.NDArray[np.intp]:
    """The kernels among a rank's ops that are no collectives."""
    return np.flatnonzero(ops.is_compute & (ops.kinds == OpKind.KERNEL))
