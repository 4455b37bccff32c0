"""The occupancy model: workgroups per compute unit as each resource allows them, and the next step.

Whole workgroups are placed, so that a resource that would allow 12 more waves allows no workgroup
of 16. docs/occupancy.md defines every number.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from wavescope.analyze.occupancy import resources as take
from wavescope.analyze.occupancy.resources import ComputeUnit, KernelResources
from wavescope.model.chips.chip_table import Accumulators, Chip


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
    is_known: bool = True
    """False where nobody says how much is used; it then limits nothing here."""


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
    def waves_words(self) -> str:
        """Waves per SIMD in words: '1.5 waves'."""
        return waves_words(self.waves_per_simd)

    @property
    def unknown(self) -> tuple[Limiter, ...]:
        """Resources that may limit, too: nobody says how much of them is used."""
        return tuple(limit.limiter for limit in self.limits if not limit.is_known)

    @property
    def next_step(self) -> NextStep:
        """What one more wave per SIMD needs; for large workgroups that is one more workgroup."""
        return _next_step(self)

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
        resources.lds_bytes or 0,
        allocated,
        chip.lds_granule_bytes,
        unit.lds_bytes,
        min(fitting, unit.wave_slots),
        is_beyond_slots=not allocated or fitting > unit.wave_slots,
        is_known=resources.lds_bytes is not None,
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


_UNIT_OF = {
    Limiter.VGPR: "VGPRs",
    Limiter.AGPR: "AGPRs",
    Limiter.VGPR_AND_AGPR: "VGPRs or AGPRs",
    Limiter.SGPR: "SGPRs",
    Limiter.LDS: "bytes of LDS",
}


class Change(NamedTuple):
    """One resource that stands in the way: at most `allowed` of it would do."""

    limiter: Limiter
    used: int
    allowed: int

    @property
    def excess(self) -> int:
        """How much must be freed."""
        return self.used - self.allowed

    def words(self) -> str:
        """Such as 'free 24 VGPRs or AGPRs (280 -> 256)'."""
        return f"free {self.excess:,} {_UNIT_OF[self.limiter]} ({self.used:,} -> {self.allowed:,})"


class NextStep(NamedTuple):
    """The next level of occupancy: what it takes, or why there is none."""

    workgroups: int
    waves_per_simd: float
    changes: tuple[Change, ...]
    obstacle: str = ""

    @property
    def waves_words(self) -> str:
        """Waves per SIMD in words."""
        return waves_words(self.waves_per_simd)

    def words(self) -> str:
        """Such as 'free 24 VGPRs or AGPRs (280 -> 256) -> 2 waves per SIMD'."""
        if self.obstacle:
            return self.obstacle
        what = " and ".join(change.words() for change in self.changes)
        return f"{what} -> {self.waves_words} per SIMD"


class Level(NamedTuple):
    """The most of each resource that a kernel may use at a number of waves per SIMD."""

    waves_per_simd: float
    vgprs: int
    sgprs: int | None
    lds_bytes: int


def _next_step(occupancy: Occupancy) -> NextStep:
    target = int(occupancy.waves_per_simd) + 1
    simds, waves = occupancy.unit.simds, occupancy.waves_per_workgroup
    workgroups = -(-target * simds // waves)
    if workgroups * waves > occupancy.unit.wave_slots:
        most = occupancy.chip.waves_per_simd
        reached = occupancy.waves_words
        obstacle = f"nothing: the {most} wave slots of a SIMD hold {reached} of such workgroups"
        return NextStep(workgroups, workgroups * waves / simds, (), obstacle)
    if waves > 1 and workgroups > occupancy.unit.barriers:
        obstacle = (
            f"larger workgroups: {workgroups} of {waves} waves need a barrier each, "
            f"a {occupancy.unit.name} has {occupancy.unit.barriers}"
        )
        return NextStep(workgroups, workgroups * waves / simds, (), obstacle)
    changes = tuple(
        Change(limit.limiter, limit.used, allowed)
        for limit in occupancy.limits
        if limit.counts and limit.limiter in _UNIT_OF and limit.workgroups < workgroups
        for allowed in [_allowed_at(occupancy, limit, workgroups)]
    )
    fitting = _reached(occupancy, changes)
    return NextStep(fitting, fitting * waves / simds, changes)


def _reached(occupancy: Occupancy, changes: tuple[Change, ...]) -> int:
    """Workgroups that fit after the changes: granules may allow more than was asked for."""
    allowed = {change.limiter: change.allowed for change in changes}
    return min(
        _fitting(occupancy, limit, allowed[limit.limiter])
        if limit.limiter in allowed
        else limit.workgroups
        for limit in occupancy.limits
        if limit.counts
    )


def _fitting(occupancy: Occupancy, limit: Limit, allocated: int) -> int:
    per_unit = limit.available // max(allocated, 1)
    if limit.limiter is Limiter.LDS:
        return per_unit
    return per_unit * occupancy.unit.simds // occupancy.waves_per_workgroup


def _allowed_at(occupancy: Occupancy, limit: Limit, workgroups: int) -> int:
    """The most of a resource with which `workgroups` fit, in whole granules."""
    if limit.limiter is Limiter.LDS:
        share = limit.available // workgroups
    else:
        waves = workgroups * occupancy.waves_per_workgroup
        share = limit.available // -(-waves // occupancy.unit.simds)
    return share // limit.granule * limit.granule


def levels(occupancy: Occupancy) -> list[Level]:
    """The budgets of every occupancy that whole workgroups reach, a wave per SIMD apart."""
    chip, unit, waves = occupancy.chip, occupancy.unit, occupancy.waves_per_workgroup
    barriers = unit.barriers if waves > 1 else unit.wave_slots
    file = take.register_file(chip, occupancy.resources)
    found: list[Level] = []
    for target in range(1, chip.waves_per_simd + 1):
        workgroups = -(-target * unit.simds // waves)
        reached = workgroups * waves / unit.simds
        is_new = not found or reached > found[-1].waves_per_simd
        if not is_new or reached > chip.waves_per_simd or workgroups > barriers:
            continue
        busiest = -(-workgroups * waves // unit.simds)
        lds = unit.lds_bytes // workgroups // chip.lds_granule_bytes * chip.lds_granule_bytes
        found.append(
            Level(
                reached,
                min(file.pool // busiest // file.granule * file.granule, _most_vgprs(chip)),
                _sgprs_at(chip, busiest),
                min(lds, chip.lds_limit_bytes),
            )
        )
    return found


def waves_words(waves_per_simd: float) -> str:
    """'1 wave', '2 waves', '1.5 waves'."""
    return f"{waves_per_simd:g} wave{'' if waves_per_simd == 1 else 's'}"


def _most_vgprs(chip: Chip) -> int:
    return chip.addressable_vgprs * (2 if chip.accumulators is Accumulators.UNIFIED else 1)


def _sgprs_at(chip: Chip, waves: int) -> int | None:
    if not chip.sgprs_per_simd:
        return None
    share = chip.sgprs_per_simd // waves // chip.sgpr_granule * chip.sgpr_granule
    return min(share, chip.addressable_sgprs)
