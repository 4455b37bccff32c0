"""Matrix instructions of a chip: cycles that fit published peaks, waits as AMD states them."""

from __future__ import annotations

import pytest

import wavescope
from wavescope.errors import UsageError
from wavescope.model.chips.chip_table import chip_named
from wavescope.model.chips.matrix_table import ResultWaits, matrix_instructions, result_waits


def rows_of(chip: str) -> dict[str, dict[str, object]]:
    records = wavescope.matrix_instructions(chip).table("instructions").records()
    return {f"{row['instruction']} {row['operands'] or ''}".strip(): dict(row) for row in records}


@pytest.mark.parametrize(
    ("chip", "instruction", "tflops"),
    [
        ("gfx908", "v_mfma_f32_32x32x8f16", 184.6),
        ("gfx908", "v_mfma_f32_32x32x4bf16", 92.3),
        ("gfx908", "v_mfma_f32_16x16x4f32", 46.1),
        ("gfx90a", "v_mfma_f32_32x32x8bf16_1k", 181.0),
        ("gfx90a", "v_mfma_f64_16x16x4f64", 45.3),
        ("gfx90a", "v_mfma_i32_16x16x16i8", 181.0),
        ("gfx942", "v_mfma_f32_16x16x16_f16", 1307.4),
        ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", 2614.9),
        ("gfx942", "v_mfma_f32_16x16x8_xf32", 653.7),
        ("gfx942", "v_mfma_f32_32x32x2_f32", 163.4),
        ("gfx942", "v_mfma_f64_16x16x4_f64", 163.4),
        ("gfx942", "v_smfmac_f32_32x32x16_f16", 2614.9),
        ("gfx950", "v_mfma_f32_32x32x16_bf16", 2306.9),
        ("gfx950", "v_mfma_f64_16x16x4_f64", 72.1),
        ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4 FP8 or BF8 in A or B", 4613.7),
        ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4 FP6 and FP4 only", 9227.5),
    ],
)
def test_cycles_give_the_published_peaks(chip: str, instruction: str, tflops: float) -> None:
    """Of MI100, MI210, MI300X and MI350X."""
    assert rows_of(chip)[instruction]["peak_tflop_per_s"] == pytest.approx(tflops, rel=0.001)


@pytest.mark.parametrize(
    ("chip", "unit", "passes", "waits"),
    [
        ("gfx908", "xdl", 8, ResultWaits(0, 2, 4, 10, None)),
        ("gfx90a", "xdl", 16, ResultWaits(0, 16, 19, 19, 19)),
        ("gfx90a", "dgemm", 8, ResultWaits(0, 9, 11, 11, 18)),
        ("gfx942", "xdl", 2, ResultWaits(2, 3, 5, 5, 5)),
        ("gfx942", "xdl", 4, ResultWaits(0, 5, 7, 7, 7)),
        ("gfx942", "sgemm", 16, ResultWaits(0, 16, 18, 18, 18)),
        ("gfx950", "xdl", 2, ResultWaits(2, 4, 5, 5, 5)),
        ("gfx950", "xdl", 4, ResultWaits(0, 6, 8, 8, 8)),
        ("gfx950", "xdl", 8, ResultWaits(0, 10, 12, 12, 12)),
        ("gfx950", "xdl", 16, ResultWaits(0, 18, 20, 20, 20)),
        ("gfx950", "dgemm", 16, ResultWaits(0, 17, 19, 19, None)),
        ("gfx1100", "wmma", 8, ResultWaits()),
    ],
)
def test_waits_for_results(chip: str, unit: str, passes: int, waits: ResultWaits) -> None:
    assert result_waits(chip, unit, 4 * passes) == waits


@pytest.mark.parametrize("chip", ["gfx908", "gfx90a", "gfx942", "gfx950"])
def test_every_instruction_has_its_waits(chip: str) -> None:
    rows = rows_of(chip)

    assert len(rows) >= len(matrix_instructions(chip_named(chip).name)) > 15
    assert all(row["same_c"] is not None and row["ab"] is not None for row in rows.values())
    assert all(row["cycles"] == 4 * int(str(row["passes"])) for row in rows.values())


def test_what_must_lie_before_a_matrix_instruction() -> None:
    before = wavescope.matrix_instructions("gfx942").table("operand_waits").records()

    assert [row["waits"] for row in before] == [2, 4, 5]


def test_a_chip_without_matrix_instructions() -> None:
    with pytest.raises(UsageError, match="gfx1030 has no matrix instructions") as error:
        wavescope.matrix_instructions("gfx1030")

    assert "gfx942" in error.value.hint
