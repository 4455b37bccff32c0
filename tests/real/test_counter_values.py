"""Every metric of real folders against the values that ROCm Compute Profiler computes from them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from wavescope.analyze.counters import Aggregation, NormalUnit
from wavescope.analyze.counters.catalogue import catalogue_for
from wavescope.analyze.counters.expression import ChannelCounter
from wavescope.analyze.counters.measured import Measured
from wavescope.analyze.counters.metric_values import MetricValues
from wavescope.analyze.counters.panels import MetricRow, filled_tables
from wavescope.formats.counters import read_workload
from wavescope.model.counters import CounterTable

RELATIVE = 1e-9
CASES = [
    *(f"MI100-no_roof-{unit.value}" for unit in NormalUnit),
    *(f"MI200-vcopy-{unit.value}" for unit in NormalUnit),
    *(f"MI200-no_roof-{unit.value}" for unit in NormalUnit),
    *(f"MI300X_A1-no_roof-{unit.value}" for unit in NormalUnit),
    *(f"MI300X_A1_rocpd-vcopy-{unit.value}" for unit in NormalUnit),
    *(
        f"{chip}-{name}-per_kernel"
        for chip in ("MI100", "MI200")
        for name in ("kernel", "dispatch_0")
    ),
    *(f"MI300X_A1-{name}-per_kernel" for name in ("kernel", "dispatch_0")),
    "MI100-vcopy-per_kernel",
    "MI100-vcopy-per_wave",
]
COLUMNS = {
    "Avg": "avg",
    "Min": "min",
    "Max": "max",
    "Peak": "peak",
    "Pct of Peak": "percent_of_peak",
    "Value": "value",
    "Std Dev": "std",
    "Q1": "q1",
    "Median": "median",
    "Q3": "q3",
}
DIFFERENT = {
    ("gfx90a", "2.1.21"): {"peak", "percent_of_peak"},
    ("gfx90a", "17.2.2"): {"avg", "min", "max"},
    ("gfx90a", "18.1.0"): {"avg", "std", "min", "max"},
    ("gfx942", "18.1.0"): {"avg", "std", "min", "max"},
}
"""What docs/metrics.md lists as deliberate: by chip and id, the columns that may differ."""


def rows_of(table: CounterTable, unit: NormalUnit) -> dict[str, MetricRow]:
    catalogue = catalogue_for(table.chip)
    values = MetricValues(Measured(table, catalogue, Aggregation.MEAN_OF_RATIOS), unit)
    return {row.id: row for found in filled_tables(catalogue.panels, values) for row in found.rows}


def expected_of(shared_data: Path, case: str) -> tuple[CounterTable, NormalUnit, dict[str, dict]]:  # type: ignore[type-arg]
    folder = shared_data / "compute-workloads"
    chip, workload, unit = case.rsplit("-", 2)
    document = json.loads((folder / "expected" / f"{case}.json").read_text())
    return read_workload(folder / chip / workload), NormalUnit(unit), document["metrics"]


@pytest.mark.parametrize("case", CASES)
def test_every_expected_value_is_reproduced(shared_data: Path, case: str) -> None:
    table, unit, expected = expected_of(shared_data, case)
    rows = rows_of(table, unit)

    compared = 0
    for id_, metric in expected.items():
        for column, value in metric["values"].items():
            name = COLUMNS.get(column, column)
            if name in DIFFERENT.get((table.chip, id_), ()):
                continue
            assert rows[id_].values[name] == pytest.approx(value, rel=RELATIVE, abs=0), (id_, name)
            compared += 1
    assert compared > 1_000


@pytest.mark.parametrize("case", CASES)
def test_values_that_it_leaves_empty_are_ours_alone_for_a_known_reason(
    shared_data: Path, case: str
) -> None:
    table, unit, expected = expected_of(shared_data, case)
    catalogue = catalogue_for(table.chip)

    rows = rows_of(table, unit)
    more = set()
    for id_, row in rows.items():
        told = {COLUMNS.get(name, name) for name in expected.get(id_, {"values": {}})["values"]}
        if any(value is not None and name not in told for name, value in row.values.items()):
            more.add(id_)
    needing = {
        id_
        for id_ in more
        if any(
            (need.family if isinstance(need, ChannelCounter) else need.name).startswith("TCC_EA0")
            for need in catalogue.needs(catalogue.metrics[rows[id_].key].value)
        )
    }
    others = {id_ for id_ in more - needing if not id_.startswith("2.2.")}
    assert others == set()
    if table.chip == "gfx942":
        assert needing == set()
    if table.chip == "gfx90a":
        assert {id_.rpartition(".")[0] if id_.startswith("18") else id_ for id_ in needing} <= {
            "17.2.4",
            "18.9",
            "18.10",
        }


def test_names_of_rows_are_the_same(shared_data: Path) -> None:
    for case in (
        "MI100-vcopy-per_kernel",
        "MI200-vcopy-per_kernel",
        "MI300X_A1-no_roof-per_kernel",
    ):
        table, unit, expected = expected_of(shared_data, case)
        rows = rows_of(table, unit)

        for id_, metric in expected.items():
            name = metric["name"]
            assert rows[id_].name == (
                f"channel {name}" if id_.startswith("18.") and id_ != "18.1.0" else name
            )


def test_the_hit_rate_of_all_channels_differs_by_the_channels_it_forgets(shared_data: Path) -> None:
    """On MI300 it adds up 16 of 128 channels, on MI200 channel 28 twice and 29 never."""
    for case, forgotten in (
        ("MI300X_A1-no_roof-per_kernel", range(16, 128)),
        ("MI200-vcopy-per_kernel", ()),
    ):
        table, _, expected = expected_of(shared_data, case)
        hits, misses = table.channels["TCC_HIT"].copy(), table.channels["TCC_MISS"].copy()
        hits[:, list(forgotten)] = 0
        misses[:, list(forgotten)] = 0
        if not forgotten:
            misses[:, 29] = misses[:, 28]

        rate = 100 * hits.sum(axis=1) / (hits.sum(axis=1) + misses.sum(axis=1))

        assert float(np.mean(rate)) == pytest.approx(
            expected["18.1.0"]["values"]["Avg"], rel=RELATIVE
        )


def test_the_l2_of_mi200_is_measured_faster_than_the_peak_it_states(shared_data: Path) -> None:
    table, unit, expected = expected_of(shared_data, "MI200-vcopy-per_kernel")

    assert expected["2.1.21"]["values"]["Peak"] == 3481.6
    assert table.ceilings[0]["L2Bw"] > 3481.6
    assert rows_of(table, unit)["2.1.21"].values["peak"] == pytest.approx(2 * 3481.6)


@pytest.mark.parametrize("folder", ["MI350/vcopy", "MI300X_A1/vcopy"])
def test_nothing_is_infinite_and_what_is_missing_says_why(shared_data: Path, folder: str) -> None:
    table = read_workload(shared_data / "compute-workloads" / folder)

    rows = rows_of(table, NormalUnit.PER_KERNEL)

    for row in rows.values():
        assert all(value is None or np.isfinite(value) for value in row.values.values()), row.id
        if any(value is None for value in row.values.values()):
            assert "N/A: " in row.note, row.id
    if folder.startswith("MI350"):
        assert rows["2.1.0"].note == "peak N/A: needs max_sclk"
        assert rows["2.1.24"].note.startswith("N/A: needs TCC_EA0_RDREQ_128B_sum")
