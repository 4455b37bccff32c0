"""Panels of made-up workloads: values by hand, aggregation, normal units, what is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.counters_builder import WorkloadMaker, a_workload
from wavescope.analyze.counters import Aggregation, NormalUnit
from wavescope.analyze.counters.catalogue import catalogue_for
from wavescope.analyze.counters.choice import chosen_blocks, chosen_rows
from wavescope.analyze.counters.measured import Measured
from wavescope.analyze.counters.metric_values import MetricValues
from wavescope.analyze.counters.panels import MetricRow, filled_tables
from wavescope.errors import UsageError
from wavescope.formats.counters import read_workload


def values_of(
    maker: WorkloadMaker,
    unit: NormalUnit = NormalUnit.PER_KERNEL,
    aggregation: Aggregation = Aggregation.RATIO_OF_SUMS,
) -> MetricValues:
    table = read_workload(maker.write())
    return MetricValues(Measured(table, catalogue_for(table.chip), aggregation), unit)


def rows_of(values: MetricValues, *blocks: str) -> dict[str, MetricRow]:
    catalogue = values.measured.catalogue
    tables = filled_tables(catalogue.panels, values, chosen_blocks(catalogue, blocks))
    return {row.id: row for table in tables for row in table.rows}


def two_dispatches(folder: Path) -> WorkloadMaker:
    """One short dispatch that always hits, one of ten times the requests that never does."""
    return (
        a_workload(folder)
        .with_dispatch(
            "k",
            1_000,
            TCC_HIT_sum=10,
            TCC_MISS_sum=0,
            TCC_REQ_sum=10,
            SQ_WAVES=2,
            GRBM_GUI_ACTIVE=100,
        )
        .with_dispatch(
            "k",
            9_000,
            TCC_HIT_sum=0,
            TCC_MISS_sum=90,
            TCC_REQ_sum=90,
            SQ_WAVES=6,
            GRBM_GUI_ACTIVE=900,
        )
    )


@pytest.mark.parametrize(
    ("aggregation", "hit_rate"),
    [(Aggregation.RATIO_OF_SUMS, 10.0), (Aggregation.MEAN_OF_RATIOS, 50.0)],
)
def test_a_ratio_is_one_of_sums_or_the_mean_of_all(
    tmp_path: Path, aggregation: Aggregation, hit_rate: float
) -> None:
    values = values_of(two_dispatches(tmp_path), aggregation=aggregation)

    assert rows_of(values, "17.3.7")["17.3.7"].values == {"avg": hit_rate, "min": 0.0, "max": 100.0}


@pytest.mark.parametrize(
    ("unit", "ratio_of_sums", "mean_of_ratios", "spelled"),
    [
        (NormalUnit.PER_KERNEL, 50.0, 50.0, "req per kernel"),
        (NormalUnit.PER_WAVE, 100 / 8, (5 + 15) / 2, "req per wave"),
        (NormalUnit.PER_CYCLE, 100 / 1000, 0.1, "req per cycle"),
        (NormalUnit.PER_SECOND, 100 / 10e-6, 10 / 1e-6, "req per second"),
    ],
)
def test_amounts_are_divided_by_the_normal_unit(
    tmp_path: Path, unit: NormalUnit, ratio_of_sums: float, mean_of_ratios: float, spelled: str
) -> None:
    for aggregation, wanted in (
        (Aggregation.RATIO_OF_SUMS, ratio_of_sums),
        (Aggregation.MEAN_OF_RATIOS, mean_of_ratios),
    ):
        row = rows_of(values_of(two_dispatches(tmp_path), unit, aggregation), "17.3.1")["17.3.1"]

        assert row.values["avg"] == pytest.approx(wanted)
        assert row.unit == spelled


def test_bandwidths_are_gigabytes_and_peaks_come_from_clocks(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch("k", 1_000, TCC_REQ_sum=500, GRBM_GUI_ACTIVE=1)

    row = rows_of(values_of(maker), "2.1")["2.1.21"]

    # 500 lines of 128 bytes in 1,000 ns; 1 GHz, 4 channels, 128 bytes a cycle.
    assert row.unit == "GB/s"
    assert row.values == pytest.approx({"avg": 64.0, "peak": 512.0, "percent_of_peak": 12.5})


def test_matrix_and_lds_formulas_by_hand(tmp_path: Path) -> None:
    counters = {
        f"SQ_INSTS_VALU_{kind}_{type_}": 0
        for kind in ("ADD", "MUL", "TRANS", "FMA")
        for type_ in ("F16", "F32", "F64")
    }
    counters |= {f"SQ_INSTS_VALU_MFMA_MOPS_{type_}": 0 for type_ in ("F16", "BF16", "F32", "F64")}
    counters |= {
        "SQ_INSTS_VALU_FMA_F32": 10,
        "SQ_INSTS_VALU_ADD_F64": 5,
        "SQ_INSTS_VALU_MFMA_MOPS_F16": 100,
        "SQ_LDS_IDX_ACTIVE": 300,
        "SQ_LDS_BANK_CONFLICT": 100,
        "SQ_VALU_MFMA_BUSY_CYCLES": 4_000,
        "SQ_INSTS_MFMA": 500,
        "GRBM_GUI_ACTIVE": 100,
    }
    rows = rows_of(values_of(a_workload(tmp_path).with_dispatch("k", 1_000, **counters)))

    assert rows["2.1.0"].values["avg"] == pytest.approx(64 * (20 + 5) / 1000)
    assert rows["2.1.3"].values["avg"] == pytest.approx(512 * 100 / 1000)
    assert rows["11.3.0"].values["avg"] == 64 * 25 + 512 * 100
    assert rows["2.1.10"].values["avg"] == pytest.approx(100 * 4_000 / (100 * 100 * 4))
    assert rows["11.2.8"].values["avg"] == 8
    assert rows["12.2.1"].values["avg"] == pytest.approx(200 * 4 * 32 / 1000)
    assert rows["12.1.3"].values["avg"] == pytest.approx(3.125 * 100 / 200)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    rows = rows_of(values_of(two_dispatches(tmp_path)))

    assert rows["2.1.22"].note == "N/A: needs TCC_EA0_RDREQ_32B_sum, TCC_EA0_RDREQ_sum"
    assert rows["2.1.15"].note == "N/A: needs SQ_LEVEL_WAVES"
    assert rows["2.1.24"].values["avg"] is None
    assert rows["18.12.0"].note == "N/A: gfx90a has no TCC_BUBBLE"


def test_a_division_by_zero_says_what_is_zero(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch("k", 10, SQ_LDS_IDX_ACTIVE=5, SQ_LDS_BANK_CONFLICT=5)

    row = rows_of(values_of(maker), "12.2.3")["12.2.3"]

    assert row.values == {"avg": None, "min": None, "max": None}
    assert row.note == "N/A: SQ_LDS_IDX_ACTIVE - SQ_LDS_BANK_CONFLICT is 0"


def test_impossible_values_are_marked(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch(
        "k", 10, GRBM_GUI_ACTIVE=10, SQ_BUSY_CU_CYCLES=5_000, TCC_REQ_sum=10_000
    )

    rows = rows_of(values_of(maker))

    doubt = "doubtful: beyond what is physically possible"
    assert (rows["2.2.0"].values["avg"], rows["2.2.0"].note) == (500, doubt)
    assert (rows["6.1.4"].note, rows["2.1.21"].note, rows["17.1.1"].note) == (doubt,) * 3


def test_a_level_pass_keeps_its_own_counters(tmp_path: Path) -> None:
    main = a_workload(tmp_path).with_dispatch("k", 10, GRBM_GUI_ACTIVE=50, SQ_IFETCH=1)
    main.write()
    a_workload(tmp_path).with_dispatch(
        "k", 10, GRBM_GUI_ACTIVE=70, SQ_IFETCH=4, SQ_ACCUM_PREV_HIRES=200
    ).write("SQ_IFETCH_LEVEL.csv")

    rows = rows_of(values_of(main), "2.1.30")

    assert rows["2.1.30"].values["avg"] == 50  # 200 / 4 of its own pass, not / 1


def test_dispatches_without_a_counter_are_left_out_of_a_ratio(tmp_path: Path) -> None:
    maker = (
        a_workload(tmp_path)
        .with_dispatch("k", 10, TCC_HIT_sum=1, TCC_MISS_sum=1)
        .with_dispatch("k", 10, TCC_HIT_sum=100, TCC_MISS_sum="")
    )

    assert rows_of(values_of(maker), "17.3.7")["17.3.7"].values["avg"] == 50


def test_counters_collected_in_turns_are_averaged_apart(tmp_path: Path) -> None:
    maker = (
        a_workload(tmp_path)
        .with_dispatch("k", 10, TCC_HIT_sum=30, TCC_MISS_sum="")
        .with_dispatch("k", 10, TCC_HIT_sum="", TCC_MISS_sum=10)
    )

    row = rows_of(values_of(maker), "17.3.7")["17.3.7"]

    assert row.values == {"avg": 75.0, "min": None, "max": None}


def test_channels_of_all_dies(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch(
        "k",
        10,
        **{f"TCC_HIT__{at}": at for at in range(4)},
        **{f"TCC_MISS__{at}": 1 for at in range(4)},
    )

    rows = rows_of(values_of(maker), "18")

    assert [rows[f"18.2.{at}"].values["median"] for at in range(4)] == pytest.approx(
        [0, 50, 200 / 3, 75]
    )
    assert rows["18.1.0"].values["avg"] == pytest.approx(100 * 6 / 10)


def test_the_oldest_chip_reads_older_names(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_system(gpu_arch="gfx906", hbm_bw="1024")
    maker.with_dispatch("k", 1_000, TCC_EA_RDREQ_sum=10, TCC_EA_RDREQ_32B_sum=4, TCC_REQ_sum=100)

    rows = rows_of(values_of(maker))

    assert rows["2.1.22"].values["avg"] == pytest.approx((4 * 32 + 6 * 64) / 1_000)
    assert rows["2.1.21"].values["avg"] == pytest.approx(100 * 64 / 1_000)
    assert rows["2.1.0"].note == "N/A: gfx906 does not count it"


def test_values_of_each_kernel(tmp_path: Path) -> None:
    maker = (
        a_workload(tmp_path)
        .with_dispatch("a", 10, TCC_HIT_sum=1, TCC_MISS_sum=1)
        .with_dispatch("b", 10, TCC_HIT_sum=3, TCC_MISS_sum=1)
        .with_dispatch("a", 10, TCC_HIT_sum=0, TCC_MISS_sum=2)
    )
    values = values_of(maker)

    found = values.of_kernels(values.measured.catalogue.metrics["l2_hit_rate"])

    assert found.tolist() == [25, 75]


@pytest.mark.parametrize(
    ("blocks", "ids"),
    [
        (("17.3.7",), {"17.3.7"}),
        (("l2_hit_rate",), {"2.1.20", "17.3.7"}),
        (("13.3", "13.1.1"), {"13.3.0", "13.1.1"}),
        (("18.2.3",), {"18.2.3"}),
    ],
)
def test_blocks(tmp_path: Path, blocks: tuple[str, ...], ids: set[str]) -> None:
    assert set(rows_of(values_of(two_dispatches(tmp_path)), *blocks)) == ids


@pytest.mark.parametrize(
    ("block", "hint"),
    [
        ("99", "wavescope metrics --arch gfx90a"),
        ("l2_hit_rat", "l2_hit_rate"),
        ("2.1.31", "2.1.30"),
    ],
)
def test_unknown_blocks_are_an_error_with_suggestions(block: str, hint: str) -> None:
    with pytest.raises(UsageError, match="there is no panel") as caught:
        chosen_blocks(catalogue_for("gfx90a"), [block])
    assert hint in caught.value.hint


def test_aliases_of_panels() -> None:
    catalogue = catalogue_for("gfx942")

    for alias, id_ in (("sol", "2"), ("L2", "17"), ("topstats", "0"), ("pc_sampling", "21")):
        assert chosen_blocks(catalogue, [alias]) == {id_}


@pytest.mark.parametrize(
    ("filters", "chosen"),
    [
        ({}, [0, 1, 2, 3]),
        ({"kernels": ["0"]}, [1, 3]),
        ({"kernels": ["short"]}, [0, 2]),
        ({"kernels": ["lo*<int>"]}, [1, 3]),
        ({"dispatches": ["1:2"]}, [1, 2]),
        ({"dispatches": ["0", ">2"]}, [0, 3]),
        ({"dispatches": ["> 1"], "kernels": ["long"]}, [3]),
        ({"gpus": ["7"]}, [3]),
    ],
)
def test_filters(tmp_path: Path, filters: dict[str, list[str]], chosen: list[int]) -> None:
    table = read_workload(
        a_workload(tmp_path)
        .with_dispatch("short", 10)
        .with_dispatch("long<int>", 100)
        .with_dispatch("short", 10)
        .with_dispatch("long<int>", 100, gpu=7)
        .write()
    )

    assert np.flatnonzero(chosen_rows(table, **filters)).tolist() == chosen


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"kernels": ["absent"]}, "no kernel is 'absent'"),
        ({"dispatches": ["x"]}, "'x' is no dispatch"),
        ({"dispatches": ["50"]}, "no dispatch of .* is left"),
        ({"gpus": ["3"]}, "no dispatch ran on GPU '3'"),
    ],
)
def test_impossible_filters(tmp_path: Path, filters: dict[str, list[str]], message: str) -> None:
    table = read_workload(a_workload(tmp_path).with_dispatch("k", 10).write())

    with pytest.raises(UsageError, match=message):
        chosen_rows(table, **filters)
