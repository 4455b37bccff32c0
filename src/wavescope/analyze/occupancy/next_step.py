"""What must change for one more wave per SIMD, resource by resource."""

from __future__ import annotations

from typing import NamedTuple

from wavescope.analyze.occupancy import resources as take
from wavescope.analyze.occupancy.limits import Limit, Limiter, Occupancy
from wavescope.model.chips.chip import Accumulators, Chip

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

    def words(self) -> str:
        """Such as 'free 24 VGPRs or AGPRs (280 -> 256) -> 2 waves per SIMD'."""
        if self.obstacle:
            return self.obstacle
        what = " and ".join(change.words() for change in self.changes)
        return f"{what} -> {waves_text(self.waves_per_simd)} per SIMD"


class Level(NamedTuple):
    """The most of each resource that a kernel may use at a number of waves per SIMD."""

    waves_per_simd: float
    vgprs: int
    sgprs: int | None
    lds_bytes: int


def next_step(occupancy: Occupancy) -> NextStep:
    """What one more wave per SIMD needs; for large workgroups that is one more workgroup."""
    target = int(occupancy.waves_per_simd) + 1
    simds, waves = occupancy.unit.simds, occupancy.waves_per_workgroup
    workgroups = -(-target * simds // waves)
    if workgroups * waves > occupancy.unit.wave_slots:
        most = occupancy.chip.waves_per_simd
        reached = waves_text(occupancy.waves_per_simd)
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


def waves_text(waves_per_simd: float) -> str:
    """'1 wave', '2 waves', '1.5 waves'."""
    return f"{waves_per_simd:g} wave{'' if waves_per_simd == 1 else 's'}"


def _most_vgprs(chip: Chip) -> int:
    return chip.addressable_vgprs * (2 if chip.accumulators is Accumulators.UNIFIED else 1)


def _sgprs_at(chip: Chip, waves: int) -> int | None:
    if not chip.sgprs_per_simd:
        return None
    share = chip.sgprs_per_simd // waves // chip.sgpr_granule * chip.sgpr_granule
    return min(share, chip.addressable_sgprs)
