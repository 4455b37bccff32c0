"""Memory traffic of real counter files against values that AMD's own profiler computed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wavescope
from wavescope.analyze.counters import NormalUnit
from wavescope.analyze.counters.bound_findings import bound_findings
from wavescope.analyze.counters.catalogue import catalogue_for
from wavescope.analyze.counters.measured import Measured
from wavescope.analyze.counters.metric_values import MetricValues
from wavescope.analyze.traffic import (
    TRAFFIC_COUNTERS,
    TrafficOptions,
    kernel_traffic,
)
from wavescope.analyze.traffic.kernels import each_dispatch
from wavescope.formats.counters import read_workload
from wavescope.formats.counters.counter_files import read_counter_file
from wavescope.model.chips.chip_table import chip_named

COPIED_BYTES = 8 << 20
"""vcopy copies 1,048,576 doubles."""


@pytest.mark.parametrize(
    ("workload", "read_metric", "write_metric"),
    [
        ("MI100-no_roof", None, None),
        ("MI200-no_roof", "2.1.22", "2.1.23"),
        ("MI300X_A1-no_roof", "2.1.23", "2.1.24"),
    ],
)
def test_bandwidth_equals_that_of_the_reference(
    shared_data: Path, workload: str, read_metric: str | None, write_metric: str | None
) -> None:
    soc, name = workload.split("-")
    folder = shared_data / "compute-workloads"
    counters = read_counter_file(
        folder / soc / name / "pmc_perf.csv", TRAFFIC_COUNTERS.__contains__
    )
    chip = chip_named(counters.chip)
    runs = list(each_dispatch(counters, TrafficOptions(chip)))

    for run in runs:
        assert run.read is not None
        assert run.read.caveat == ""
        assert run.read.size_bytes == pytest.approx(COPIED_BYTES, rel=0.005)
    if read_metric and write_metric:
        metrics = json.loads((folder / "expected" / f"{workload}-per_kernel.json").read_text())
        expected = {key: row["values"].get("Avg") for key, row in metrics["metrics"].items()}
        reads = [run.read_gb_per_s or 0.0 for run in runs]
        writes = [run.write_gb_per_s or 0.0 for run in runs]
        assert sum(reads) / len(reads) == pytest.approx(expected[read_metric], rel=1e-9)
        assert sum(writes) / len(writes) == pytest.approx(expected[write_metric], rel=1e-9)


def test_gfx950_without_its_own_counter_is_a_lower_bound(shared_data: Path) -> None:
    path = shared_data / "compute-workloads" / "MI350" / "vcopy" / "pmc_perf.csv"
    counters = read_counter_file(path, TRAFFIC_COUNTERS.__contains__)

    (found,) = kernel_traffic([counters], TrafficOptions(chip_named(counters.chip)))

    assert found.read is not None
    assert found.read.size_bytes == pytest.approx(COPIED_BYTES / 2, rel=0.005)
    assert "TCC_EA0_RDREQ_128B_sum was not collected" in found.read.caveat


def test_times_that_a_spreadsheet_has_spoiled_give_no_bandwidth(shared_data: Path) -> None:
    path = shared_data / "compute-workloads" / "MI300X_A1" / "vcopy" / "pmc_perf.csv"
    counters = read_counter_file(path, TRAFFIC_COUNTERS.__contains__)

    (found,) = kernel_traffic([counters], TrafficOptions(chip_named("gfx942")))

    assert found.read_gb_per_s is None


def test_the_long_form_of_rocpd_gives_what_the_wide_form_gives(shared_data: Path) -> None:
    path = shared_data / "compute-workloads" / "MI300X_A1_rocpd" / "vcopy" / "pmc_perf.csv"
    counters = read_counter_file(path, TRAFFIC_COUNTERS.__contains__)

    (found,) = kernel_traffic([counters], TrafficOptions(chip_named(counters.chip)))

    assert found.read is not None
    assert found.read.size_bytes == pytest.approx(COPIED_BYTES, rel=0.005)


def test_rdna_counters_of_llama_cpp(shared_data: Path) -> None:
    folder = shared_data / "rocprofv3" / "gfx1151"
    counters = read_counter_file(
        folder / "decode_fetch_counter_collection.csv", TRAFFIC_COUNTERS.__contains__
    )

    slowest = kernel_traffic([counters], TrafficOptions(chip_named("gfx1151")))[0]

    assert slowest.kernel.startswith("void mul_mat_vec")
    assert slowest.read_gb_per_s is not None
    assert 0 < slowest.read_gb_per_s < 256


WORKLOADS = [
    *((soc, name) for soc in ("MI100", "MI200") for name in ("vcopy", "no_roof", "kernel")),
    ("MI300X_A1", "no_roof"),
    ("MI300X_A1", "kernel"),
]


@pytest.mark.parametrize(("soc", "name"), WORKLOADS)
def test_analyze_and_traffic_agree_on_what_bounds_a_kernel(
    shared_data: Path, soc: str, name: str
) -> None:
    folder = shared_data / "compute-workloads" / soc / name
    table = read_workload(folder)
    values = MetricValues(Measured(table, catalogue_for(table.chip)), NormalUnit.PER_KERNEL)

    (bound,) = bound_findings(values)
    found = wavescope.traffic(folder)
    (traffic,) = found.table("kernels").records()

    assert ("measured on this machine" in found.findings[0].evidence) == bool(table.measured_peaks)
    assert (bound.id == "counters.bound.hbm") == (traffic["verdict"] == "clean")
    published = bound.numbers.get("HBM_of_published_percent", bound.numbers["HBM_percent"])
    assert traffic["peak_percent"] == pytest.approx(published, rel=0.02)
