"""What one launch of a benchmark kernel does, counted; and the file it is written to."""

from __future__ import annotations

import csv

import pytest

from wavescope.collect.ceilings import ceilings_text, chosen_ceilings
from wavescope.collect.ceilings.measurements import CEILINGS, MeasuredCeiling, work_of_launch
from wavescope.errors import UsageError

THREADS = 16_384 * 256


@pytest.mark.parametrize(
    ("kernel", "vendor", "work"),
    [
        ("read_memory", "AMD", 3 * (64 << 20)),
        ("read_second_level", "AMD", THREADS * 3 * 16 * 16),
        ("read_shared", "NVIDIA", THREADS * 3 * 16 * 16),
        ("arithmetic_fp32", "AMD", THREADS * 3 * 128 * 2),
        ("arithmetic_fp16", "AMD", THREADS * 3 * 128 * 4),
        ("matrix_fp16_32x32x8", "AMD", THREADS // 64 * 3 * 128 * 2 * 32 * 32 * 8),
        ("matrix_fp16_16x8x16", "NVIDIA", THREADS // 32 * 3 * 128 * 2 * 16 * 8 * 16),
        ("matrix_fp4_32x32x64", "AMD", THREADS // 64 * 3 * 128 * 2 * 32 * 32 * 64),
    ],
)
def test_work_is_counted_as_the_kernel_does_it(kernel: str, vendor: str, work: int) -> None:
    assert work_of_launch(kernel, 3, 64 << 20, vendor) == work


def test_ceilings_are_chosen_by_name() -> None:
    assert [each.column for each in chosen_ceilings(["l2", "MFMA-F64"])] == ["L2Bw", "MFMAF64Flops"]
    assert chosen_ceilings([]) == CEILINGS
    with pytest.raises(UsageError, match="there is no ceiling 'HBM3'"):
        chosen_ceilings(["HBM3"])


def test_the_file_has_mean_and_spread_per_gpu_and_gaps_where_one_lacks_a_unit() -> None:
    by_name = {ceiling.name: ceiling for ceiling in CEILINGS}
    memory = MeasuredCeiling(by_name["HBM"], "read_memory", 1000.0, 10.0, 30)
    matrix = MeasuredCeiling(by_name["MFMA-I8"], "matrix_int8_32x32x8", 5000.0, 1.5, 30)

    lines = list(csv.DictReader(ceilings_text({1: [memory], 0: [memory, matrix]}).splitlines()))

    assert lines == [
        {
            "device": "0", "HBMBw": "1000", "HBMBwLow": "990", "hbmBwHigh": "1010",
            "MFMAI8Ops": "5000", "MFMAFI8OpsLow": "4998.5", "MFMAI8OpsHigh": "5001.5",
        },
        {
            "device": "1", "HBMBw": "1000", "HBMBwLow": "990", "hbmBwHigh": "1010",
            "MFMAI8Ops": "", "MFMAFI8OpsLow": "", "MFMAI8OpsHigh": "",
        },
    ]  # fmt: skip
