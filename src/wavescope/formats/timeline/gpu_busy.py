"""How busy each GPU is over time: the union of its ops, per time bin."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.formats.timeline.counter_series import BinnedSeries, Samples, Span

Int64s = npt.NDArray[np.int64]


class GpuBusy:
    """Takes ops in order of their start and keeps the share of each time bin that some op fills."""

    def __init__(self, gpu_count: int, span: Span) -> None:
        self._gpu_count = gpu_count
        self._bins = BinnedSeries(gpu_count, span)
        self._ends: dict[int, int] = {}

    def add(self, gpus: npt.NDArray[np.int32], start_ns: Int64s, end_ns: Int64s) -> None:
        """Ops of the GPUs numbered `gpus`; later calls bring later starts."""
        for gpu in np.flatnonzero(np.bincount(gpus, minlength=1)[: self._gpu_count]).tolist():
            mine = gpus == gpu
            self._add_to(gpu, start_ns[mine], end_ns[mine])

    def percent(self, gpu: int) -> Samples:
        """Percent of each time bin during which the GPU had work."""
        if gpu in self._ends:
            self._step(gpu, np.array([self._ends.pop(gpu)]), -1)
        return self._bins.samples(gpu, scale=100.0)

    def _add_to(self, gpu: int, starts: Int64s, ends: Int64s) -> None:
        reached = np.maximum.accumulate(ends)
        if gpu in self._ends:
            reached = np.maximum(reached, self._ends[gpu])
            before = np.concatenate(([self._ends[gpu]], reached[:-1]))
            opens = starts > before
        else:
            before = np.concatenate((starts[:1], reached[:-1]))
            opens = starts > before
            opens[0] = True
        self._step(gpu, starts[opens], 1)
        closed = before[opens] if gpu in self._ends else before[opens][1:]
        self._step(gpu, closed, -1)
        self._ends[gpu] = int(reached[-1])

    def _step(self, gpu: int, times_ns: Int64s, step: int) -> None:
        rows = len(times_ns)
        self._bins.add(
            np.full(rows, gpu, np.int32),
            np.ascontiguousarray(times_ns),
            np.full(rows, step, np.int64),
        )
