"""The compute kernels of a rank that took most time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_labels import named_ops
from wavescope.analyze.ranks.digest.launch_sizes import LaunchSizes
from wavescope.analyze.ranks.digest.rank_digest import UNKNOWN, KernelTotal
from wavescope.analyze.ranks.digest.rank_ops import RankOps
from wavescope.arrays.coded_columns import index_type
from wavescope.arrays.groups import group_statistics, group_sums

_LARGEST = (1 << 63) - 1
"""What 64 bits hold; the sum of hostile times may be more."""


def kernel_totals(ops: RankOps, sizes: LaunchSizes, kernel_count: int) -> tuple[KernelTotal, ...]:
    """At most `kernel_count` kernels, the one with most time first."""
    named = ops.trace.derived(named_ops)
    count = len(named.names)
    if not ops.is_compute_kernel.any() or not kernel_count:
        return ()
    # All other ops are one more group: picking kernels out of each column would cost more.
    kind = index_type(count + 1)
    own = ops.of_working(named.of_op).astype(kind, copy=False)
    names: npt.NDArray[np.integer] = np.where(ops.is_compute_kernel, own, kind(count))
    lengths = ops.of_working(ops.trace.op_length_ns)
    statistics = group_statistics(names, lengths, count + 1)
    work_items = group_sums(names, sizes.work_items, count + 1)
    if sizes.is_known.all():
        known = np.ones(count + 1, np.bool_)
    else:
        known = np.bincount(names, sizes.is_known, count + 1) > 0
    found = [
        KernelTotal(
            named.names[number],
            named.meanings[number].category,
            runs,
            min(total, _LARGEST),
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
        if number < count
    ]
    found.sort(key=lambda kernel: (-kernel.total_ns, kernel.name))
    return tuple(found[:kernel_count])
