"""The occupancy model: workgroups per compute unit as each resource allows them.

Whole workgroups are placed, so that a resource that would allow 12 more waves allows no workgroup
of 16. docs/occupancy.md defines every number.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from wavescope.analyze.occupancy import resources as take
from wavescope.analyze.occupancy.resources import ComputeUnit, KernelResources
from wavescope.model.chips.chip import Accumulators, Chip


class Limiter(str, enum.Enum):
    """A resource that may limit how many workgroups run at once."""

    VGPR = "VGPR"
    AGPR = "AGPR"
    VGPR_AND_AGPR = "VGPR + AGPR"
    SGPR = "SGPR"
    LDS = "LDS"
    WAVE_SLOTS = "wave slots"
    WORKGROUP_SLOTS = "workgroup slots"
    BARRIERS = "barriers"


class Limit(NamedTuple):
    """What one resource allows; `counts` is False for parts of a limit that is listed whole."""

    limiter: Limiter
    used: int
    allocated: int
    granule: int
    available: int
    workgroups: int
    counts: bool = True
    is_beyond_slots: bool = False
    """Whether it would allow more than the slots do, which `workgroups` does not say."""


class Occupancy(NamedTuple):
    """What fits, for one kernel on one chip."""

    chip: Chip
    resources: KernelResources
    unit: ComputeUnit
    waves_per_workgroup: int
    limits: tuple[Limit, ...]
    workgroups: int

    @property
    def waves(self) -> int:
        """Waves per compute unit (or WGP)."""
        return self.workgroups * self.waves_per_workgroup

    @property
    def waves_per_simd(self) -> float:
        """Waves per SIMD, on average where they do not divide evenly."""
        return self.waves / self.unit.simds

    @property
    def bound_by(self) -> tuple[Limiter, ...]:
        """The resources that allow no more than what fits."""
        return tuple(
            limit.limiter
            for limit in self.limits
            if limit.counts and limit.workgroups == self.workgroups and not limit.is_beyond_slots
        )

    def waves_per_simd_of(self, limit: Limit) -> float:
        """Waves per SIMD as this one resource allows them, and the wave slots."""
        waves = limit.workgroups * self.waves_per_workgroup / self.unit.simds
        return min(waves, self.chip.waves_per_simd)


def occupancy_of(chip: Chip, resources: KernelResources) -> Occupancy:
    """What fits of a kernel on each compute unit of a chip, and every limit."""
    take.check_resources(chip, resources)
    unit = take.compute_unit(chip, resources)
    waves = take.waves_per_workgroup(chip, resources)
    limits = (
        *_register_limits(chip, resources, unit, waves),
        *_scalar_limits(chip, resources, unit, waves),
        _lds_limit(chip, resources, unit),
        Limit(Limiter.WAVE_SLOTS, waves, waves, 1, unit.wave_slots, unit.wave_slots // waves),
        Limit(Limiter.WORKGROUP_SLOTS, 1, 1, 1, unit.wave_slots, unit.wave_slots),
        _barrier_limit(unit, waves),
    )
    fitting = min(limit.workgroups for limit in limits if limit.counts)
    return Occupancy(chip, resources, unit, waves, limits, fitting)


def _register_limits(
    chip: Chip, resources: KernelResources, unit: ComputeUnit, waves: int
) -> list[Limit]:
    file = take.register_file(chip, resources)

    def limit(limiter: Limiter, used: int, allocated: int, *, counts: bool) -> Limit:
        fitting = file.pool // allocated
        workgroups = min(fitting, chip.waves_per_simd) * unit.simds // waves
        is_beyond = fitting > chip.waves_per_simd
        return Limit(
            limiter, used, allocated, file.granule, file.pool, workgroups, counts, is_beyond
        )

    def rounded(count: int) -> int:
        return max(-(-count // file.granule) * file.granule, file.granule)

    allocated = take.allocated_vgprs(chip, resources)
    if not resources.agprs:
        return [limit(Limiter.VGPR, resources.vgprs, allocated, counts=True)]
    parts = [(Limiter.VGPR, resources.vgprs), (Limiter.AGPR, resources.agprs)]
    if chip.accumulators is Accumulators.SEPARATE:
        return [limit(name, used, rounded(used), counts=True) for name, used in parts]
    return [
        *(limit(name, used, rounded(used), counts=False) for name, used in parts),
        limit(Limiter.VGPR_AND_AGPR, take.combined_vgprs(chip, resources), allocated, counts=True),
    ]


def _scalar_limits(
    chip: Chip, resources: KernelResources, unit: ComputeUnit, waves: int
) -> list[Limit]:
    allocated = take.allocated_sgprs(chip, resources)
    if not allocated:
        return []
    fitting = chip.sgprs_per_simd // allocated
    return [
        Limit(
            Limiter.SGPR,
            resources.sgprs,
            allocated,
            chip.sgpr_granule,
            chip.sgprs_per_simd,
            min(fitting, chip.waves_per_simd) * unit.simds // waves,
            is_beyond_slots=fitting > chip.waves_per_simd,
        )
    ]


def _lds_limit(chip: Chip, resources: KernelResources, unit: ComputeUnit) -> Limit:
    allocated = take.allocated_lds_bytes(chip, resources)
    fitting = unit.lds_bytes // allocated if allocated else unit.wave_slots
    return Limit(
        Limiter.LDS,
        resources.lds_bytes,
        allocated,
        chip.lds_granule_bytes,
        unit.lds_bytes,
        min(fitting, unit.wave_slots),
        is_beyond_slots=not allocated or fitting > unit.wave_slots,
    )


def _barrier_limit(unit: ComputeUnit, waves: int) -> Limit:
    """A workgroup of one wave needs no barrier."""
    needed = 1 if waves > 1 else 0
    fitting = unit.barriers if needed else unit.wave_slots
    return Limit(
        Limiter.BARRIERS,
        needed,
        needed,
        1,
        unit.barriers,
        fitting,
        is_beyond_slots=not needed,
    )
