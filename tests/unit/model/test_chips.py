"""The table of chips: every chip of the list, inheritance, names, matrix cycles."""

from __future__ import annotations

import pytest

from wavescope.errors import UsageError
from wavescope.model.chips.chip_table import (
    Accumulators,
    RegisterFile,
    chip_named,
    chips,
    find_chip,
)
from wavescope.model.chips.matrix_table import matrix_cycles

PROMISED = (
    "gfx906 gfx908 gfx90a gfx940 gfx941 gfx942 gfx950 gfx1030 gfx1100 gfx1151 gfx1200 gfx1201"
)


def test_all_promised_chips_are_there_and_make_sense() -> None:
    assert list(chips()) == PROMISED.split()
    for chip in chips().values():
        assert chip.lds_bytes_per_cu % chip.lds_granule_bytes == 0
        assert all(file.pool % file.granule == 0 for file in chip.registers.values())
        assert all(product.memory_gb_per_s > 0 and product.cus > 0 for product in chip.products)


@pytest.mark.parametrize(
    ("name", "wave", "file", "accumulators", "lds"),
    [
        ("gfx906", 64, (256, 4), Accumulators.NONE, (65_536, 512)),
        ("gfx908", 64, (256, 4), Accumulators.SEPARATE, (65_536, 512)),
        ("gfx90a", 64, (512, 8), Accumulators.UNIFIED, (65_536, 512)),
        ("gfx942", 64, (512, 8), Accumulators.UNIFIED, (65_536, 512)),
        ("gfx950", 64, (512, 8), Accumulators.UNIFIED, (163_840, 1_280)),
        ("gfx1030", 32, (1_024, 16), Accumulators.NONE, (65_536, 512)),
        ("gfx1030", 64, (512, 8), Accumulators.NONE, (65_536, 512)),
        ("gfx1151", 32, (1_536, 24), Accumulators.NONE, (65_536, 512)),
        ("gfx1201", 64, (768, 12), Accumulators.NONE, (65_536, 512)),
    ],
)
def test_what_chips_have(
    name: str,
    wave: int,
    file: tuple[int, int],
    accumulators: Accumulators,
    lds: tuple[int, int],
) -> None:
    chip = chip_named(name)

    assert chip.registers[wave] == RegisterFile(*file)
    assert chip.accumulators is accumulators
    assert (chip.lds_bytes_per_cu, chip.lds_granule_bytes) == lds


def test_a_chip_inherits_what_it_does_not_state() -> None:
    assert chip_named("gfx950").waves_per_simd == 8
    assert chip_named("gfx950").sgprs_per_simd == 800
    assert chip_named("gfx90a").large_read_counter == ""
    assert chip_named("gfx941").large_read_counter == "TCC_BUBBLE"
    assert chip_named("gfx950").memory_read_granules == (32, 64, 128)
    assert chip_named("gfx1151").wave_size == 32


def test_names_with_features_and_capitals_are_understood() -> None:
    assert chip_named(" GFX90A:sramecc+:xnack- ").name == "gfx90a"
    assert find_chip("gfx9") is None
    assert find_chip("../gfx942") is None


def test_an_unknown_chip_is_refused_with_the_list() -> None:
    with pytest.raises(UsageError, match="gfx999") as error:
        chip_named("gfx999")

    assert "gfx942" in error.value.hint


def test_products_are_found_by_the_words_of_their_makers() -> None:
    chip = chip_named("gfx942")

    found = chip.product_named("AMD Instinct MI325X VF")
    assert found is not None
    assert found.memory_gb_per_s == 6000.0
    assert chip.product_named("H100") is None
    assert chip.product_named("") is None


@pytest.mark.parametrize(
    ("chip", "text", "cycles"),
    [
        ("gfx942", "v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", 16),
        ("gfx942", "v_mfma_f32_32x32x8_bf16 a[0:15], v[0:1], v[2:3], 0", 32),
        ("gfx942", "v_mfma_f32_16x16x32_fp8_fp8 v[0:3], v[4:5], v[6:7], v[0:3]", 16),
        ("gfx90a", "v_mfma_f32_32x32x8bf16_1k a[0:15], v[0:1], v[2:3], 0", 64),
        ("gfx90a", "v_mfma_f64_16x16x4f64 a[0:7], v[0:1], v[2:3], 0", 32),
        ("gfx950", "v_mfma_f64_16x16x4_f64 a[0:7], v[0:1], v[2:3], 0", 64),
        ("gfx950", "v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], 0", 16),
        ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], 0, v1, v2", 32),
        (
            "gfx950",
            "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[8:11], 0 cbsz:4 blgp:4",
            16,
        ),
        ("gfx950", "v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[4:7], v[8:11], 0 cbsz:4 blgp:1", 64),
        ("gfx1100", "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", 32),
        ("gfx942", "v_mfma_f32_4x4x4_16b_f16 a[0:3], v[0:1], v[2:3], 0", 8),
        ("gfx942", "v_mfma_f32_32x32x8_bf16_1k a[0:15], v[0:1], v[2:3], 0", 32),
        ("gfx950", "v_mfma_f32_16x16x8_xf32 a[0:3], v[0:1], v[2:3], 0", None),
        ("gfx906", "v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], 0", None),
        ("gfx942", "", None),
    ],
)
def test_matrix_cycles(chip: str, text: str, cycles: int | None) -> None:
    assert matrix_cycles(chip, text) == cycles
