"""Rooflines: intensities and ceilings by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.counters_builder import WorkloadMaker, a_workload
from wavescope.analyze.counters import NormalUnit
from wavescope.analyze.counters.catalogue import CHIPS, catalogue_for
from wavescope.analyze.counters.measured import Measured
from wavescope.analyze.counters.metric_values import MetricValues
from wavescope.analyze.counters.roofline import (
    MemoryLevel,
    PointKind,
    RooflineOptions,
    roofline,
    roofline_result,
    roofline_tables,
)
from wavescope.formats.counters import read_workload

NO_WORK = {
    f"SQ_INSTS_VALU_{kind}_{type_}": 0
    for kind in ("ADD", "MUL", "TRANS", "FMA")
    for type_ in ("F16", "F32", "F64")
} | {f"SQ_INSTS_VALU_MFMA_MOPS_{type_}": 0 for type_ in ("F8", "F16", "BF16", "F32", "F64")}
MEMORY = {
    "TCC_EA0_RDREQ_sum": 100,
    "TCC_EA0_RDREQ_32B_sum": 20,
    "TCC_BUBBLE_sum": 30,
    "TCC_EA0_WRREQ_sum": 10,
    "TCC_EA0_WRREQ_64B_sum": 4,
    "TCP_TCC_READ_REQ_sum": 50,
    "TCP_TCC_WRITE_REQ_sum": 30,
    "TCP_TCC_ATOMIC_WITH_RET_REQ_sum": 0,
    "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum": 0,
    "TCP_TOTAL_CACHE_ACCESSES_sum": 200,
    "SQ_LDS_IDX_ACTIVE": 60,
    "SQ_LDS_BANK_CONFLICT": 10,
}


def values_of(maker: WorkloadMaker) -> MetricValues:
    table = read_workload(maker.write())
    return MetricValues(Measured(table, catalogue_for(table.chip)), NormalUnit.PER_KERNEL)


@pytest.mark.parametrize(
    ("chip", "hbm_bytes", "line"),
    [
        ("gfx90a", 32 * 20 + 64 * 80 + 64 * 4 + 32 * 6, 64),
        ("gfx942", 128 * 30 + 32 * 20 + 64 * 50 + 64 * 4 + 32 * 6, 128),
    ],
)
def test_intensities(tmp_path: Path, chip: str, hbm_bytes: int, line: int) -> None:
    work = NO_WORK | {"SQ_INSTS_VALU_FMA_F32": 7, "SQ_INSTS_VALU_MFMA_MOPS_F16": 3}
    maker = a_workload(tmp_path).with_system(gpu_arch=chip)
    maker.with_dispatch("k", 1_000, **(work | MEMORY))

    (point,) = roofline(values_of(maker)).points

    operations = 64 * 14 + 512 * 3
    assert point.operations == operations
    assert point.performance == pytest.approx(operations / 1_000)
    assert point.bytes == pytest.approx(
        {
            MemoryLevel.HBM: hbm_bytes,
            MemoryLevel.L2: line * 80,
            MemoryLevel.VL1D: line * 200,
            MemoryLevel.LDS: 50 * 4 * 32,
        }
    )
    assert point.intensity[MemoryLevel.HBM] == pytest.approx(operations / hbm_bytes)


def test_kernels_are_means_of_their_dispatches(tmp_path: Path) -> None:
    maker = a_workload(tmp_path)
    for adds in (10, 30):
        maker.with_dispatch("k", 1_000, **(NO_WORK | MEMORY | {"SQ_INSTS_VALU_ADD_F32": adds}))
    maker.with_dispatch("other", 100, **(NO_WORK | MEMORY))
    values = values_of(maker)

    kernels = roofline(values).points
    dispatches = roofline(values, RooflineOptions(kind=PointKind.DISPATCHES, most_points=2)).points

    assert [(point.name, point.calls, point.operations) for point in kernels] == [
        ("k", 2, 64 * 20),
        ("other", 1, 0),
    ]
    assert [point.name for point in dispatches] == ["0: k", "1: k"]


def test_ceilings_are_measured_or_computed(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch("k", 1_000, **(NO_WORK | MEMORY))
    maker.write()
    (tmp_path / "roofline.csv").write_text("device,HBMBw,MFMAF16Flops\n0,250,90000\n")

    found = {c.name: (c.value, c.measured) for c in roofline(values_of(maker)).ceilings}

    assert found["HBM"] == (250, True)
    assert found["L2"] == (4 * 128, False)
    assert found["MFMA FP16"] == (90_000, True)
    assert found["MFMA BF16"] == (pytest.approx(1e9 * 100 * 1024 / 1e9), False)
    assert "VALU I8" not in found


def test_a_measured_column_without_a_name_is_no_ceiling(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch("k", 1_000, **(NO_WORK | MEMORY))
    maker.write()
    (tmp_path / "roofline.csv").write_text("device,HBMBw,\n0,250,90000\n")
    values = values_of(maker)

    assert "VALU BF16" not in {c.name for c in roofline(values).ceilings}
    assert roofline_tables(values)[0].name == "4.1"


def test_equal_rates_are_one_line(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch("k", 1_000, **(NO_WORK | MEMORY))

    names = [line.name for line in roofline(values_of(maker)).rate_lines()]

    assert "VALU FP32, VALU FP64" in names


def test_the_measured_peaks_are_those_of_the_gpu_that_ran(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch("k", 10, gpu=1)
    maker.write()
    (tmp_path / "roofline.csv").write_text("device,HBMBw\n0,100\n1,200\n")
    table = read_workload(tmp_path)

    assert table.measured_peaks["HBMBw"] == 200
    table.gpu_ids[:] = 51_545
    assert table.measured_peaks["HBMBw"] == 100


def test_the_nearest_roof_is_memory(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch("k", 1_000, **(NO_WORK | MEMORY))
    result = roofline(values_of(maker))

    (point,) = result.points
    roofs = {each.level: each.value for each in result.ceilings if each.level is not None}
    shares = {level: point.bytes[level] / point.time_ns / roofs[level] for level in roofs}
    assert max(shares, key=shares.__getitem__) is MemoryLevel.HBM
    assert shares[MemoryLevel.HBM] == pytest.approx(6.208 / 320)


def test_what_cannot_be_placed_says_why(tmp_path: Path) -> None:
    result = roofline(values_of(a_workload(tmp_path).with_dispatch("k", 1_000)))

    assert result.points == ()
    assert result.notes[0].startswith("kernels cannot be placed: N/A: needs SQ_INSTS_VALU_ADD_F16")
    assert result.not_drawn == result.notes[0]
    maker = a_workload(tmp_path).with_system(gpu_arch="gfx908").with_dispatch("k", 10)
    assert "does not count floating-point" in roofline(values_of(maker)).notes[0]


def test_kernels_without_a_place_in_the_plot_say_why(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch("moves", 1_000, **(NO_WORK | MEMORY))
    moving = values_of(maker)
    result = roofline(moving)

    assert result.not_drawn == "no point is drawn: 1 kernel without floating-point operations"
    assert str(roofline_result(moving, result).facts["notes"]).startswith(result.not_drawn)
    working = NO_WORK | MEMORY | {"SQ_INSTS_VALU_MFMA_MOPS_F16": 2_000}
    maker = maker.with_dispatch("works", 1_000, **working).with_dispatch("timeless", 0, **working)
    told = roofline(values_of(maker), RooflineOptions(kind=PointKind.DISPATCHES)).not_drawn
    assert told == (
        "2 of 3 are not drawn: 1 dispatch without a duration, "
        "1 dispatch without floating-point operations"
    )


def test_tables_of_the_roofline(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch(
        "k", 1_000, **(NO_WORK | MEMORY | {"SQ_INSTS_VALU_MFMA_MOPS_F16": 2_000})
    )

    rates, points = roofline_tables(values_of(maker))

    record = next(row for row in rates.records() if row["metric"] == "MFMA FP16")
    assert (record["value"], record["peak"]) == (pytest.approx(1024), pytest.approx(102_400))
    assert record["percent_of_peak"] == pytest.approx(1)
    assert points.column("performance") == [pytest.approx(1024)]


def test_types_of_chips() -> None:
    types = {chip: catalogue_for(chip).data_types for chip in CHIPS}

    assert "FP8" not in types["gfx90a"]
    assert "FP8" in types["gfx942"]
    assert "FP4" in types["gfx950"]
    assert types["gfx906"] == types["gfx908"] == types["gfx90a"]
    assert types["gfx940"] == types["gfx941"] == types["gfx942"]


def test_a_chip_without_matrix_units_has_no_computed_peak_of_them(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_system(gpu_arch="gfx906").with_dispatch("k", 10)

    names = [each.name for each in roofline(values_of(maker)).ceilings]

    assert "VALU FP32" in names
    assert not [name for name in names if name.startswith("MFMA")]


def test_operations_that_older_collectors_do_not_count_are_left_out_and_said(
    tmp_path: Path,
) -> None:
    work = NO_WORK | MEMORY | {"SQ_INSTS_VALU_MFMA_MOPS_F16": 3, "SQ_INSTS_VALU_FMA_F32": 7}
    del work["SQ_INSTS_VALU_MFMA_MOPS_F8"]
    maker = a_workload(tmp_path).with_system(gpu_arch="gfx942").with_dispatch("k", 1_000, **work)

    plotted = roofline(values_of(maker))
    points = roofline_tables(values_of(maker))[1].records()

    assert plotted.points[0].operations == 64 * 2 * 7 + 512 * 3
    told = "without matrix operations on FP8 (N/A: needs SQ_INSTS_VALU_MFMA_MOPS_F8)"
    assert told in plotted.notes
    assert [point["note"] for point in points] == [told]


def test_other_counters_of_operations_are_needed(tmp_path: Path) -> None:
    work = NO_WORK | MEMORY
    del work["SQ_INSTS_VALU_MFMA_MOPS_F16"]
    maker = a_workload(tmp_path).with_system(gpu_arch="gfx942").with_dispatch("k", 1_000, **work)

    assert roofline(values_of(maker)).points == ()
