"""Occupancy as a result: every limit, the budgets of each level, what one more wave takes."""

from __future__ import annotations

from wavescope.analyze.occupancy.limits import (
    Limiter,
    NextStep,
    Occupancy,
    levels,
)
from wavescope.analyze.occupancy.resources import wave_size
from wavescope.model.chips import Chip
from wavescope.model.result import Finding, Result, ResultColumn, ResultTable, Severity, Unit

_LIMIT_COLUMNS = (
    ResultColumn("resource", "Resource", meaning="what is shared by the waves"),
    ResultColumn("used", "Used", Unit.COUNT, "by a wave (registers), else by a workgroup"),
    ResultColumn("allocated", "Allocated", Unit.COUNT, "rounded up to the granule"),
    ResultColumn("granule", "Granule", Unit.COUNT, "the step in which it is given out"),
    ResultColumn("available", "Available", Unit.COUNT, "per SIMD (registers), else per CU or WGP"),
    ResultColumn("workgroups", "Workgroups", Unit.COUNT, "per CU or WGP, if only this counted"),
    ResultColumn("waves_per_simd", "Waves/SIMD", Unit.NONE, "if only this counted"),
    ResultColumn("limits", "Limits", meaning="whether nothing else allows fewer"),
    ResultColumn("for_next_step", "For more waves", meaning="what the next level takes"),
)
_LEVEL_COLUMNS = (
    ResultColumn("waves_per_simd", "Waves/SIMD"),
    ResultColumn("vgprs", "VGPRs at most", Unit.COUNT, "with AGPRs where one file holds both"),
    ResultColumn("sgprs", "SGPRs at most", Unit.COUNT),
    ResultColumn("lds_bytes", "LDS bytes at most", Unit.COUNT, "per workgroup"),
)
_CHIP_COLUMNS = (
    ResultColumn("chip", "Chip", Unit.NAME),
    ResultColumn("product", "Product", Unit.NAME, "the first of the boards with this chip"),
    ResultColumn("wave_size", "Wave", Unit.COUNT, "lanes of a wave"),
    ResultColumn("vgpr_pool", "VGPRs/SIMD", Unit.COUNT, "per lane"),
    ResultColumn("vgpr_granule", "Granule", Unit.COUNT),
    ResultColumn("accumulators", "AGPRs", Unit.NAME, "none, a separate file, or one for both"),
    ResultColumn("waves_per_simd", "Waves/SIMD", Unit.COUNT),
    ResultColumn("simds_per_cu", "SIMDs/CU", Unit.COUNT),
    ResultColumn("sgprs_per_simd", "SGPRs/SIMD", Unit.COUNT, "none: no limit"),
    ResultColumn("lds_bytes_per_cu", "LDS/CU", Unit.COUNT, "bytes"),
    ResultColumn("lds_granule_bytes", "LDS granule", Unit.COUNT, "bytes"),
    ResultColumn("barriers_per_cu", "Barriers/CU", Unit.COUNT),
    ResultColumn("cus", "CUs", Unit.COUNT),
    ResultColumn("clock_mhz", "Clock MHz", Unit.COUNT),
    ResultColumn("memory_gb_per_s", "Memory GB/s", Unit.GB_PER_S, "published peak"),
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
        },
    )


def chips_table(chips: list[Chip]) -> ResultTable:
    """One row per chip and wave size."""
    rows = [
        (
            chip.name,
            chip.product.name,
            size,
            file.pool,
            file.granule,
            chip.accumulators.value,
            chip.waves_per_simd,
            chip.simds_per_cu,
            chip.sgprs_per_simd or None,
            chip.lds_bytes_per_cu,
            chip.lds_granule_bytes,
            chip.barriers_per_cu,
            chip.product.cus,
            chip.product.clock_mhz,
            chip.product.memory_gb_per_s,
        )
        for chip in chips
        for size, file in chip.registers.items()
    ]
    return ResultTable("chips", "Chips", _CHIP_COLUMNS, list(rows))


def _limits_table(occupancy: Occupancy, step: NextStep) -> ResultTable:
    changes = {change.limiter: change.words() for change in step.changes}
    bound_by = occupancy.bound_by
    table = ResultTable("limits", "What each resource allows", _LIMIT_COLUMNS)
    for limit in occupancy.limits:
        is_limit = limit.counts and limit.limiter in bound_by
        table.rows.append(
            (
                limit.limiter.value,
                limit.used,
                limit.allocated,
                limit.granule,
                limit.available,
                limit.workgroups,
                occupancy.waves_per_simd_of(limit),
                "limits" if is_limit else "" if limit.counts else "part of the sum",
                changes.get(limit.limiter, ""),
            )
        )
    return table


def _levels_table(occupancy: Occupancy) -> ResultTable:
    rows = [tuple(level) for level in levels(occupancy)]
    title = f"Budgets with workgroups of {occupancy.resources.workgroup_size} work-items"
    return ResultTable("levels", title, _LEVEL_COLUMNS, list(rows))


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
    severity = Severity.WARNING if occupancy.waves_per_simd < 2 else Severity.INFO
    return Finding(
        "occupancy",
        severity,
        f"{reached} per SIMD of {chip.waves_per_simd}, limited by {_limited_by(occupancy)}",
        f"{occupancy.unit.name} of {occupancy.unit.simds} SIMDs: {occupancy.workgroups} "
        f"workgroup(s) of {occupancy.waves_per_workgroup} wave(s)",
        f"for more waves: {step.words()}",
        numbers={
            "waves_per_simd": occupancy.waves_per_simd,
            "next_waves_per_simd": None if step.obstacle else step.waves_per_simd,
        }
        | {f"free_{change.limiter.name.lower()}": change.excess for change in step.changes},
    )
