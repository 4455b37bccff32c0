"""Occupancy as a result: every limit, the budgets of each level, what one more wave takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wavescope.analyze.occupancy.limits import Level, Limit, Limiter, NextStep, Occupancy, levels
from wavescope.analyze.occupancy.resources import wave_size
from wavescope.model.chips.chip_table import Chip, RegisterFile
from wavescope.model.result import (
    ColumnOf,
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    table_of,
)


def occupancy_result(occupancy: Occupancy) -> Result:
    """The tables `limits` and `levels`, and a finding with the next step."""
    step = occupancy.next_step
    chip, resources = occupancy.chip, occupancy.resources
    return Result(
        "Occupancy",
        [_limits_table(occupancy, step), _levels_table(occupancy)],
        [_finding(occupancy, step)],
        {
            "chip": f"{chip.name} ({', '.join(product.name for product in chip.products)})",
            "wave_size": wave_size(chip, resources),
            "workgroup": f"{resources.workgroup_size} work-items, "
            f"{occupancy.waves_per_workgroup} waves, on one {occupancy.unit.name} "
            f"of {occupancy.unit.simds} SIMDs",
            "waves_per_simd": occupancy.waves_per_simd,
            "waves_per_simd_at_most": chip.waves_per_simd,
            "workgroups_per_unit": occupancy.workgroups,
            "occupancy_percent": 100 * occupancy.waves / occupancy.unit.wave_slots,
            "limited_by": _limited_by(occupancy),
            "one_more_wave": step.words(),
            "unknown": ", ".join(limiter.value for limiter in occupancy.unknown) or None,
        },
    )


def chips_table(chips: Sequence[Chip]) -> ResultTable:
    """One row per chip and wave size."""
    sizes = [_ChipWaves(chip, size) for chip in chips for size in chip.registers]
    return table_of("chips", "Chips", _CHIP_COLUMNS, sizes)


class _ChipWaves(NamedTuple):
    """A chip with waves of one size."""

    chip: Chip
    wave_size: int

    @property
    def registers(self) -> RegisterFile:
        return self.chip.registers[self.wave_size]


_CHIP_COLUMNS: tuple[ColumnOf[_ChipWaves], ...] = (
    ResultColumn("chip", "Chip", Unit.NAME).of(lambda each: each.chip.name),
    ResultColumn("product", "Product", Unit.NAME, "the first of the boards with this chip").of(
        lambda each: each.chip.product.name
    ),
    ResultColumn("wave_size", "Wave", Unit.COUNT, "lanes of a wave").of(
        lambda each: each.wave_size
    ),
    ResultColumn("vgpr_pool", "VGPRs/SIMD", Unit.COUNT, "per lane").of(
        lambda each: each.registers.pool
    ),
    ResultColumn("vgpr_granule", "Granule", Unit.COUNT).of(lambda each: each.registers.granule),
    ResultColumn("accumulators", "AGPRs", Unit.NAME, "none, a separate file, or one for both").of(
        lambda each: each.chip.accumulators.value
    ),
    ResultColumn("waves_per_simd", "Waves/SIMD", Unit.COUNT).of(
        lambda each: each.chip.waves_per_simd
    ),
    ResultColumn("simds_per_cu", "SIMDs/CU", Unit.COUNT).of(lambda each: each.chip.simds_per_cu),
    ResultColumn("sgprs_per_simd", "SGPRs/SIMD", Unit.COUNT, "none: no limit").of(
        lambda each: each.chip.sgprs_per_simd or None
    ),
    ResultColumn("lds_bytes_per_cu", "LDS/CU", Unit.COUNT, "bytes").of(
        lambda each: each.chip.lds_bytes_per_cu
    ),
    ResultColumn("lds_granule_bytes", "LDS granule", Unit.COUNT, "bytes").of(
        lambda each: each.chip.lds_granule_bytes
    ),
    ResultColumn("barriers_per_cu", "Barriers/CU", Unit.COUNT).of(
        lambda each: each.chip.barriers_per_cu
    ),
    ResultColumn("cus", "CUs", Unit.COUNT).of(lambda each: each.chip.product.cus),
    ResultColumn("clock_mhz", "Clock MHz", Unit.COUNT).of(lambda each: each.chip.product.clock_mhz),
    ResultColumn("memory_gb_per_s", "Memory GB/s", Unit.GB_PER_S, "published peak").of(
        lambda each: each.chip.product.memory_gb_per_s
    ),
)


def _limits_table(occupancy: Occupancy, step: NextStep) -> ResultTable:
    changes = {change.limiter: change.words() for change in step.changes}
    bound_by = occupancy.bound_by

    def verdict(limit: Limit) -> str:
        if not limit.is_known:
            return "unknown"
        if not limit.counts:
            return "part of the sum"
        return "limits" if limit.limiter in bound_by else ""

    columns: list[ColumnOf[Limit]] = [
        ResultColumn("resource", "Resource", meaning="what is shared by the waves").of(
            lambda limit: limit.limiter.value
        ),
        ResultColumn("used", "Used", Unit.COUNT, "by a wave (registers), else by a workgroup").of(
            lambda limit: limit.used if limit.is_known else None
        ),
        ResultColumn("allocated", "Allocated", Unit.COUNT, "rounded up to the granule").of(
            lambda limit: limit.allocated if limit.is_known else None
        ),
        ResultColumn("granule", "Granule", Unit.COUNT, "the step in which it is given out").of(
            lambda limit: limit.granule
        ),
        ResultColumn(
            "available", "Available", Unit.COUNT, "per SIMD (registers), else per CU or WGP"
        ).of(lambda limit: limit.available),
        ResultColumn(
            "workgroups", "Workgroups", Unit.COUNT, "per CU or WGP, if only this counted"
        ).of(lambda limit: limit.workgroups if limit.is_known else None),
        ResultColumn("waves_per_simd", "Waves/SIMD", Unit.NONE, "if only this counted").of(
            lambda limit: occupancy.waves_per_simd_of(limit) if limit.is_known else None
        ),
        ResultColumn("limits", "Limits", meaning="whether nothing else allows fewer").of(verdict),
        ResultColumn("for_next_step", "For more waves", meaning="what the next level takes").of(
            lambda limit: changes.get(limit.limiter, "")
        ),
    ]
    return table_of("limits", "What each resource allows", columns, occupancy.limits)


_LEVEL_COLUMNS: tuple[ColumnOf[Level], ...] = (
    ResultColumn("waves_per_simd", "Waves/SIMD").of(lambda level: level.waves_per_simd),
    ResultColumn("vgprs", "VGPRs at most", Unit.COUNT, "with AGPRs where one file holds both").of(
        lambda level: level.vgprs
    ),
    ResultColumn("sgprs", "SGPRs at most", Unit.COUNT).of(lambda level: level.sgprs),
    ResultColumn("lds_bytes", "LDS bytes at most", Unit.COUNT, "per workgroup").of(
        lambda level: level.lds_bytes
    ),
)


def _levels_table(occupancy: Occupancy) -> ResultTable:
    title = f"Budgets with workgroups of {occupancy.resources.workgroup_size} work-items"
    return table_of("levels", title, _LEVEL_COLUMNS, levels(occupancy))


def _limited_by(occupancy: Occupancy) -> str:
    names = [limiter.value for limiter in occupancy.bound_by]
    slots = {limiter.value for limiter in (Limiter.WAVE_SLOTS, Limiter.WORKGROUP_SLOTS)}
    if slots & set(names):
        others = ", ".join(name for name in names if name not in slots)
        what = f"{others} and the wave slots" if others else "the wave slots alone"
        return f"{what}: occupancy is full"
    return ", ".join(names)


def _finding(occupancy: Occupancy, step: NextStep) -> Finding:
    chip = occupancy.chip
    if not occupancy.workgroups:
        return Finding(
            "occupancy-does-not-fit",
            Severity.PROBLEM,
            f"no workgroup of this kernel fits on a {occupancy.unit.name} of {chip.name}",
            f"limited by {_limited_by(occupancy)}",
            step.words(),
        )
    reached = occupancy.waves_words
    unknown = ", ".join(limiter.value for limiter in occupancy.unknown)
    caution = f" ({unknown} is unknown and may allow fewer)" if unknown else ""
    limits = _limited_by(occupancy) + caution
    severity = Severity.WARNING if occupancy.waves_per_simd < 2 else Severity.INFO
    return Finding(
        "occupancy",
        severity,
        f"{reached} per SIMD of {chip.waves_per_simd}, limited by {limits}",
        f"{occupancy.unit.name} of {occupancy.unit.simds} SIMDs: {occupancy.workgroups} "
        f"workgroup(s) of {occupancy.waves_per_workgroup} wave(s)",
        f"for more waves: {step.words()}",
        numbers={
            "waves_per_simd": occupancy.waves_per_simd,
            "next_waves_per_simd": None if step.obstacle else step.waves_per_simd,
        }
        | {f"free_{change.limiter.name.lower()}": change.excess for change in step.changes},
    )
