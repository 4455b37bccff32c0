"""How busy GPUs were in slices, and what that says of the whole run: percentages and intervals.

docs/definitions.md publishes both. Slices begin with a launch, so that GPUs are busier in them than
in a run that also launches nothing for a while: of the run launches tell, which were all counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavescope.analyze.ops.gpu_timelines import GpuTimeline
from wavescope.analyze.ops.recorded import FEWEST_SLICES, Recorded
from wavescope.analyze.ops.slice_estimates import (
    Estimate,
    kernels_of_slices,
    reach_of,
    reach_or_none,
)


def busy_estimate(timelines: Sequence[GpuTimeline], found: Recorded) -> Estimate | None:
    """The busy percentage of GPUs over all of their slices; None without any.

    Slices of the same time on several GPUs are one cluster: what made one of them busy or idle
    then may have been the same for all.
    """
    residuals: dict[int, float] = {}
    busy_ns, slice_ns = 0, 0
    parts = [(_busy_by_slice(each), each) for each in timelines if each.sampled is not None]
    for by_slice, timeline in parts:
        assert timeline.sampled is not None
        busy_ns += int(by_slice.sum())
        slice_ns += timeline.sampled.slices.total_ns
    if not slice_ns:
        return None
    share = busy_ns / slice_ns
    for by_slice, timeline in parts:
        assert timeline.sampled is not None
        slices = timeline.sampled.slices
        away = (by_slice - share * slices.lengths_ns) / slice_ns
        clusters = found.clusters_at(slices.starts)
        for cluster, value in zip(clusters.tolist(), away.tolist(), strict=True):
            residuals[cluster] = residuals.get(cluster, 0.0) + value
    value = min(100 * share, 100.0)
    count = len(residuals)
    if count < FEWEST_SLICES:
        return Estimate(value, None, None)
    run_ns = (found.run_ns or 0) * len(parts) / len(found.sampled_processes)
    unseen = max(0.0, 1 - slice_ns / run_ns) if run_ns else 1.0
    variance = unseen * count / (count - 1) * sum(each**2 for each in residuals.values())
    margin = 100 * reach_of([count]) * variance**0.5
    return Estimate(value, max(100 * share - margin, 0.0), min(100 * share + margin, 100.0))


def run_busy_estimate(timelines: Sequence[GpuTimeline], found: Recorded) -> Estimate | None:
    """The busy percentage of GPUs over the whole run, from launches that were counted.

    The busy time of the run is (kernels counted / kernels in slices) times that of the slices. None
    where kernels were not counted, or several processes share a GPU.
    """
    ops, kernels = found.trace.whole.ops, kernels_of_slices(found)
    total, run_ns, variance, slice_counts = 0.0, 0, 0.0, []
    for process, population in found.populations.items():
        pieces = np.flatnonzero(found.processes == process)
        mine = [
            timeline
            for timeline in timelines
            if np.unique(ops["process"][ops["gpu"] == timeline.gpu]).tolist() == [process]
        ]
        seen, count = float(kernels[pieces].sum()), len(pieces)
        if population.kernel_count is None or not population.run_ns or not mine or not seen:
            return None
        busy = np.sum([_busy_by_slice(timeline) for timeline in mine], axis=0)
        scale = max(population.kernel_count / seen, 1.0)
        away = busy - kernels[pieces] * (float(busy.sum()) / seen)
        total += scale * float(busy.sum())
        run_ns += population.run_ns * len(mine)
        spread = float((away**2).sum()) * count / max(count - 1, 1)
        variance += scale**2 * (1 - 1 / scale) * spread
        slice_counts.append(count)
    if not run_ns:
        return None
    value = 100 * total / run_ns
    reach = reach_or_none(slice_counts)
    if reach is None:
        return Estimate(min(value, 100.0), None, None)
    margin = 100 * reach * variance**0.5 / run_ns
    return Estimate(min(value, 100.0), max(value - margin, 0.0), min(value + margin, 100.0))


def _busy_by_slice(timeline: GpuTimeline) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Busy time of the ops that began in each slice."""
    assert timeline.sampled is not None
    slices, busy = timeline.sampled.slices, timeline.busy
    sums = np.zeros(len(slices), np.int64)
    place = np.searchsorted(slices.starts, busy.starts, side="right") - 1
    np.add.at(sums, place, busy.ends - busy.starts)
    return sums
