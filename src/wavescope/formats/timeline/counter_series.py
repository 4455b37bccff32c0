"""Values over time made of steps up and down: how many ops are queued, how busy a GPU is.

Up to a number of steps a series is kept exactly. Beyond it, and always for shares of time, it is
the mean over equal time bins, computed in integers: what a step adds to its own bin (an area) and
to all later ones (a height).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.formats.timeline.encoder_library import address, encoder_library

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]

BIN_COUNT = 4096
EXACT_STEPS = 1 << 20


@dataclass(frozen=True)
class Span:
    """The time from the first start to the last end of a trace."""

    first_ns: int
    last_ns: int

    @property
    def duration_ns(self) -> int:
        return self.last_ns - self.first_ns


@dataclass(frozen=True)
class Samples:
    """From each time on, the series has the value beside it."""

    times_ns: Int64s
    values: npt.NDArray[np.int64] | npt.NDArray[np.float64]


class BinnedSeries:
    """Means of several series over time bins of 2**n ns that cover `span`."""

    def __init__(self, series_count: int, span: Span) -> None:
        self._span = span
        self._width_bits = max(0, (span.duration_ns // BIN_COUNT).bit_length())
        self._origin_ns = span.first_ns
        self._bins = (span.duration_ns >> self._width_bits) + 1
        self._series_count = series_count
        self._height = np.zeros((series_count, self._bins), np.int64)
        self._area = np.zeros((series_count, self._bins), np.int64)

    def add(self, series: Int32s, times_ns: Int64s, steps: Int64s) -> None:
        """Let each row's series step up or down at its time."""
        library = encoder_library()
        if library is None:
            self._add_in_python(series, times_ns, steps)
            return
        library.wavescope_bins_add(
            len(series),
            address(series),
            address(times_ns),
            address(steps),
            self._origin_ns,
            self._width_bits,
            self._series_count,
            self._bins,
            address(self._height),
            address(self._area),
        )

    def samples(self, series: int, scale: float = 1.0) -> Samples:
        """The mean of `series` in each bin times `scale`; a last sample says zero at the end."""
        width = 1 << self._width_bits
        height, area = self._height[series], self._area[series]
        before = np.concatenate((np.zeros(1, np.int64), np.cumsum(height)[:-1]))
        filled = before * width + area
        starts = self._origin_ns + np.arange(self._bins, dtype=np.int64) * width
        covered = np.full(self._bins, width, np.int64)
        last_covered = self._span.last_ns - int(starts[-1])
        # The last bin is averaged over the part of it that lies within the trace; what is open at
        # the very end was counted to the end of the bin.
        filled[-1] -= (before[-1] + height[-1]) * (width - last_covered)
        covered[-1] = last_covered
        used = covered > 0
        means = np.round(np.maximum(filled[used] / covered[used], 0.0) * scale, 3)
        times = np.append(starts[used], self._span.last_ns)
        return _changes(times, np.append(means, 0.0))

    def _add_in_python(self, series: Int32s, times_ns: Int64s, steps: Int64s) -> None:
        # Unsigned: the difference of two int64 times may need all 64 bits.
        since_origin = times_ns.view(np.uint64) - np.int64(self._origin_ns).view(np.uint64)
        bins = since_origin >> np.uint64(self._width_bits)
        known = (series >= 0) & (series < self._series_count) & (bins < np.uint64(self._bins))
        since_origin, steps = since_origin[known], steps[known]
        width = 1 << self._width_bits
        at = series[known].astype(np.int64) * self._bins + bins[known].astype(np.int64)
        until_bin_end = width - (since_origin & np.uint64(width - 1)).astype(np.int64)
        np.add.at(self._height.reshape(-1), at, steps)
        np.add.at(self._area.reshape(-1), at, steps * until_bin_end)


class StepSeries:
    """Several series of counts, exact as long as there are at most EXACT_STEPS steps in all."""

    def __init__(self, series_count: int, span: Span) -> None:
        self._series_count = series_count
        self._span = span
        self._held: list[tuple[Int32s, Int64s, Int64s]] = []
        self._held_count = 0
        self._binned: BinnedSeries | None = None

    @property
    def is_exact(self) -> bool:
        """Whether every step is kept; otherwise samples are means over time bins."""
        return self._binned is None

    def add(self, series: Int32s, times_ns: Int64s, step: int) -> None:
        """Let each row's series step at its time; series -1 is none."""
        if np.any(series < 0):
            series, times_ns = series[series >= 0], times_ns[series >= 0]
        steps = np.full(len(series), step, np.int64)
        if self._binned is not None:
            self._binned.add(series, times_ns, steps)
            return
        self._held.append((series, times_ns, steps))
        self._held_count += len(series)
        if self._held_count > EXACT_STEPS:
            self._binned = BinnedSeries(self._series_count, self._span)
            for rows in self._held:
                self._binned.add(*rows)
            self._held = []

    def all_samples(self) -> Iterator[tuple[int, Samples]]:
        """Every series that has steps, with its samples."""
        if self._binned is not None:
            for series in range(self._series_count):
                samples = self._binned.samples(series)
                if np.any(samples.values):
                    yield series, samples
            return
        if not self._held_count:
            return
        series_of, times, steps = (
            np.concatenate([rows[column] for rows in self._held]) for column in range(3)
        )
        order = np.lexsort((times, series_of))
        series_of, times, steps = series_of[order], times[order], steps[order]
        firsts = np.flatnonzero(np.diff(series_of, prepend=series_of[0] - 1))
        for first, stop in zip(firsts, np.append(firsts[1:], len(series_of)), strict=True):
            levels = np.maximum(np.cumsum(steps[first:stop]), 0)
            mine = times[first:stop]
            last_of_time = np.flatnonzero(np.append(mine[1:] != mine[:-1], True))
            yield int(series_of[first]), _changes(mine[last_of_time], levels[last_of_time])


def _changes(times_ns: Int64s, values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> Samples:
    """Only the samples at which the value changes."""
    changed = np.append(True, values[1:] != values[:-1])
    return Samples(times_ns[changed], values[changed])


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
