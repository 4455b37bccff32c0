"""When the waves of the traced kernel began and ended, on all compute units of its shader engines.

occupancy.json has a start and an end for every wave; where it is missing, the wave files tell of
the traced compute units alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wavescope.model.capture import (
    Capture,
    Flags,
    Integers,
    KernelFacts,
    Rows,
    WaveOccupancy,
    Waves,
)
from wavescope.names.kernel_names import kernel_key

EARLY_EXIT_PERCENT = 5.0
"""Of the longest life: a wave that lives less found nothing to do."""


@dataclass(frozen=True, eq=False)
class KernelWaves:
    """One element per wave; clocks of different shader engines are not compared."""

    begin: Integers
    end: Integers
    shader_engine: Rows
    cu: Rows

    def __len__(self) -> int:
        return len(self.begin)

    @cached_property
    def life(self) -> Integers:
        """Cycles from begin to end."""
        lives: Integers = self.end - self.begin
        return lives

    @cached_property
    def left_early(self) -> Flags:
        """Waves that lived only a small part of the longest life."""
        longest = int(self.life.max(initial=0))
        early: Flags = 100 * self.life < EARLY_EXIT_PERCENT * longest
        return early

    def working(self) -> KernelWaves:
        """The waves that did not leave early."""
        kept = ~self.left_early
        return KernelWaves(
            self.begin[kept], self.end[kept], self.shader_engine[kept], self.cu[kept]
        )

    @cached_property
    def end_since_start(self) -> Integers:
        """The end of each wave, counted from the first begin on its shader engine."""
        first = np.full(int(self.shader_engine.max(initial=-1)) + 1, np.iinfo(np.int64).max)
        np.minimum.at(first, self.shader_engine, self.begin)
        since: Integers = self.end - first[self.shader_engine]
        return since

    def finish_times(self) -> Integers:
        """For each compute unit when its last wave ended, counted as `end_since_start`."""
        places = np.stack([self.shader_engine, self.cu], axis=1)
        units, unit = np.unique(places, axis=0, return_inverse=True)
        finish = np.zeros(len(units), np.int64)
        np.maximum.at(finish, unit.reshape(-1), self.end_since_start)
        return finish


def waves_of_launch(facts: KernelFacts, wave_size: int) -> int | None:
    """How many waves a launch has: those of its workgroups; None where its size is not known."""
    grid, group = facts.grid_size, facts.workgroup_size
    if not grid or not group:
        return None
    groups = 1
    for items, size in zip(grid, group, strict=True):
        groups *= -(-max(items, 1) // max(size, 1))
    return groups * -(-int(np.prod([max(size, 1) for size in group])) // wave_size)


def kernel_waves(capture: Capture) -> KernelWaves:
    """The whole waves of the traced kernel."""
    paired = _paired(_of_kernel(capture.occupancy, capture.kernel_name))
    return paired if len(paired) else _of_files(capture.waves)


def _of_files(waves: Waves) -> KernelWaves:
    whole = ~waves.is_partial & (waves.end >= waves.begin)
    return KernelWaves(
        waves.begin[whole], waves.end[whole], waves.shader_engine[whole], waves.cu[whole]
    )


def _of_kernel(occupancy: WaveOccupancy, kernel_name: str) -> WaveOccupancy:
    """The events of the traced kernel; of the kernel with most of them where no name fits."""
    if not len(occupancy):
        return occupancy
    wanted = kernel_key(kernel_name) if kernel_name else ""
    keys = [key for key, name in occupancy.kernel_names.items() if kernel_key(name) == wanted]
    if not keys:
        values, counts = np.unique(occupancy.kernel, return_counts=True)
        keys = [int(values[counts.argmax()])]
    kept = np.isin(occupancy.kernel, keys)
    if kept.all():
        return occupancy
    return WaveOccupancy(
        occupancy.time[kept],
        occupancy.shader_engine[kept],
        occupancy.cu[kept],
        occupancy.simd[kept],
        occupancy.slot[kept],
        occupancy.is_start[kept],
        occupancy.kernel[kept],
        occupancy.workgroup[kept],
        occupancy.kernel_names,
    )


def _paired(occupancy: WaveOccupancy) -> KernelWaves:
    """Each start with the end that follows it in its slot; what has no partner is left out."""
    slots = (occupancy.slot, occupancy.simd, occupancy.cu, occupancy.shader_engine)
    # An end comes before a start at the same time: the slot is free again.
    order = np.lexsort((occupancy.is_start, occupancy.time, *slots))
    same = np.ones(max(len(order) - 1, 0), np.bool_)
    for place in slots:
        same &= place[order][1:] == place[order][:-1]
    is_start = occupancy.is_start[order]
    firsts = np.flatnonzero(same & is_start[:-1] & ~is_start[1:])
    begins, ends = order[firsts], order[firsts + 1]
    return KernelWaves(
        occupancy.time[begins],
        occupancy.time[ends],
        occupancy.shader_engine[begins],
        occupancy.cu[begins],
    )
