"""Waves per SIMD on every chip, what limits them, and what one more takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.analyze.occupancy import KernelResources, Occupancy, occupancy_of, occupancy_result
from wavescope.analyze.occupancy.limits import Limiter, levels
from wavescope.analyze.occupancy.resources import allocated_vgprs
from wavescope.errors import UsageError
from wavescope.model.chips.chip_table import chip_named, chips


def an_occupancy(chip: str, vgprs: int, **more: int) -> Occupancy:
    return occupancy_of(chip_named(chip), KernelResources(vgprs, **more))


def workgroups_by(occupancy: Occupancy) -> dict[Limiter, int]:
    return {limit.limiter: limit.workgroups for limit in occupancy.limits}


def test_the_worked_example_of_the_paged_attention_kernel() -> None:
    found = an_occupancy("gfx942", 144, agprs=136, sgprs=112, lds_bytes=12_800)

    assert found.waves_per_simd == 1
    assert found.bound_by == (Limiter.VGPR_AND_AGPR,)
    assert workgroups_by(found)[Limiter.LDS] == 5
    assert workgroups_by(found)[Limiter.SGPR] == 7
    assert found.next_step.words() == ("free 24 VGPRs or AGPRs (280 -> 256) -> 2 waves per SIMD")


@pytest.mark.parametrize(
    ("chip", "vgprs", "more", "waves_per_simd", "limiter"),
    [
        ("gfx906", 64, {}, 4, Limiter.VGPR),
        ("gfx906", 24, {"sgprs": 96}, 8, Limiter.SGPR),
        ("gfx908", 128, {"agprs": 64}, 2, Limiter.VGPR),
        ("gfx908", 64, {"agprs": 128}, 2, Limiter.AGPR),
        ("gfx90a", 128, {"agprs": 128}, 2, Limiter.VGPR_AND_AGPR),
        ("gfx942", 256, {}, 2, Limiter.VGPR),
        ("gfx942", 257, {}, 1, Limiter.VGPR),
        ("gfx942", 32, {"lds_bytes": 32_768}, 2, Limiter.LDS),
        ("gfx942", 32, {"lds_bytes": 32_769}, 1, Limiter.LDS),
        ("gfx950", 248, {"lds_bytes": 81_920}, 2, Limiter.VGPR),
        ("gfx950", 64, {"lds_bytes": 36_000}, 4, Limiter.LDS),
        ("gfx942", 32, {"workgroup_size": 128}, 8, Limiter.WAVE_SLOTS),
        ("gfx1030", 128, {"workgroup_size": 64}, 8, Limiter.VGPR),
        ("gfx1100", 96, {"workgroup_size": 256}, 16, Limiter.VGPR),
        ("gfx1100", 97, {"workgroup_size": 64, "wave_size": 64}, 7, Limiter.VGPR),
        ("gfx1201", 24, {"workgroup_size": 64}, 16, Limiter.BARRIERS),
        ("gfx1151", 24, {"workgroup_size": 256, "lds_bytes": 65_536}, 4, Limiter.LDS),
    ],
)
def test_waves_per_simd(
    chip: str, vgprs: int, more: dict[str, int], waves_per_simd: float, limiter: Limiter
) -> None:
    found = an_occupancy(chip, vgprs, **more)

    assert found.waves_per_simd == waves_per_simd
    assert limiter in found.bound_by


@pytest.mark.parametrize(
    ("vgprs", "more", "limiters"),
    [
        (4, {"workgroup_size": 256}, (Limiter.WAVE_SLOTS,)),
        (64, {"workgroup_size": 256}, (Limiter.VGPR, Limiter.WAVE_SLOTS)),
        (4, {"workgroup_size": 64}, (Limiter.WAVE_SLOTS, Limiter.WORKGROUP_SLOTS)),
        (4, {"workgroup_size": 256, "lds_bytes": 8192}, (Limiter.LDS, Limiter.WAVE_SLOTS)),
    ],
)
def test_what_would_allow_more_than_the_slots_does_not_limit(
    vgprs: int, more: dict[str, int], limiters: tuple[Limiter, ...]
) -> None:
    found = an_occupancy("gfx942", vgprs, **more)

    assert found.waves_per_simd == 8
    assert found.bound_by == limiters


def test_whole_workgroups_are_placed() -> None:
    assert an_occupancy("gfx942", 168, workgroup_size=512).waves_per_simd == 2
    assert an_occupancy("gfx942", 168, workgroup_size=256).waves_per_simd == 3


def test_a_workgroup_that_does_not_fit_is_a_problem() -> None:
    found = an_occupancy("gfx942", 168, workgroup_size=1024)

    assert found.workgroups == 0
    assert occupancy_result(found).findings[0].id == "occupancy-does-not-fit"
    assert found.next_step.words() == "free 40 VGPRs (168 -> 128) -> 4 waves per SIMD"


def test_a_pair_of_compute_units_has_twice_the_lds_and_barriers() -> None:
    pair = an_occupancy("gfx1100", 32, lds_bytes=40_000, workgroup_size=256)
    alone = occupancy_of(
        chip_named("gfx1100"),
        KernelResources(32, lds_bytes=40_000, workgroup_size=256, cu_mode=True),
    )

    assert (pair.unit.name, pair.unit.lds_bytes, pair.workgroups) == ("WGP", 131_072, 3)
    assert (alone.unit.name, alone.unit.lds_bytes, alone.workgroups) == ("CU", 65_536, 1)
    assert (pair.waves_per_simd, alone.waves_per_simd) == (6, 4)


def test_the_first_part_of_a_unified_file_is_rounded_to_four() -> None:
    chip = chip_named("gfx942")

    assert allocated_vgprs(chip, KernelResources(126, agprs=130)) == 264
    assert an_occupancy("gfx942", 126, agprs=130).next_step.words().startswith("free 2 ")


def test_scalar_registers_limit_nothing_on_rdna() -> None:
    assert Limiter.SGPR not in workgroups_by(an_occupancy("gfx1100", 64, sgprs=128))


def test_what_more_than_one_resource_keeps_back_is_said_for_each() -> None:
    step = an_occupancy("gfx942", 256, lds_bytes=32_768).next_step

    assert step.words() == (
        "free 88 VGPRs (256 -> 168) and free 11,264 bytes of LDS (32,768 -> 21,504) "
        "-> 3 waves per SIMD"
    )


def test_full_slots_leave_nothing_to_gain() -> None:
    step = an_occupancy("gfx942", 32, lds_bytes=1024).next_step

    assert step.obstacle.startswith("nothing: the 8 wave slots")


def test_barriers_ask_for_larger_workgroups() -> None:
    narrow = occupancy_of(chip_named("gfx906"), KernelResources(16, workgroup_size=128))
    assert narrow.bound_by == (Limiter.BARRIERS,)
    assert narrow.next_step.words().startswith("larger workgroups: 18 of 2 waves")


def test_levels_are_those_that_whole_workgroups_reach() -> None:
    found = levels(an_occupancy("gfx942", 64, workgroup_size=1024))

    assert [(level.waves_per_simd, level.vgprs, level.lds_bytes) for level in found] == [
        (4, 128, 65_536),
        (8, 64, 32_768),
    ]


@pytest.mark.parametrize(
    "asked",
    [
        {"vgprs": 600},
        {"vgprs": 10, "agprs": 300},
        {"vgprs": 10, "lds_bytes": 65_537},
        {"vgprs": 10, "workgroup_size": 0},
        {"vgprs": 10, "workgroup_size": 2048},
        {"vgprs": 10, "wave_size": 32},
        {"vgprs": -1},
    ],
)
def test_impossible_kernels_are_refused(asked: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        occupancy_of(chip_named("gfx942"), KernelResources(**asked))


def test_accumulators_where_there_are_none_are_refused() -> None:
    with pytest.raises(UsageError, match="no accumulation registers"):
        an_occupancy("gfx1100", 10, agprs=4)


@given(
    st.sampled_from(sorted(chips())),
    st.integers(0, 256),
    st.integers(0, 65_536),
    st.integers(1, 1024),
    st.integers(0, 102),
)
def test_the_next_step_is_enough_and_nothing_less_is(
    name: str, vgprs: int, lds_bytes: int, workgroup_size: int, sgprs: int
) -> None:
    chip = chip_named(name)
    kernel = KernelResources(vgprs, 0, sgprs, lds_bytes, workgroup_size)
    found = occupancy_of(chip, kernel)
    step = found.next_step
    if step.obstacle:
        return
    field_of = {Limiter.VGPR: "vgprs", Limiter.LDS: "lds_bytes", Limiter.SGPR: "sgprs"}
    values = {field_of[change.limiter]: change.allowed for change in step.changes}
    changed = KernelResources(**{**kernel.__dict__, **values})

    assert step.changes
    assert occupancy_of(chip, changed).workgroups == step.workgroups
    for limiter, field in field_of.items():
        if field in values:
            spoiled = KernelResources(**{**changed.__dict__, field: values[field] + 1})
            after = workgroups_by(occupancy_of(chip, spoiled))[limiter]
            assert after < step.workgroups


def test_the_result_names_limits_levels_and_the_next_step() -> None:
    result = occupancy_result(an_occupancy("gfx942", 144, agprs=136, lds_bytes=16_384, sgprs=96))

    limits = {row["resource"]: row for row in result.table("limits").records()}
    assert [*limits] == [
        "VGPR", "AGPR", "VGPR + AGPR", "SGPR", "LDS", "wave slots", "workgroup slots", "barriers",
    ]  # fmt: skip
    assert limits["VGPR + AGPR"]["limits"] == "limits"
    assert limits["LDS"]["waves_per_simd"] == 4
    assert result.facts["waves_per_simd"] == 1
    assert result.findings[0].numbers["free_vgpr_and_agpr"] == 24
