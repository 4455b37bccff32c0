"""What bounds kernels, and what cannot be true."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.counters_builder import WorkloadMaker, a_workload
from wavescope.analyze.counters.bound_findings import bound_findings
from wavescope.analyze.counters.catalogue import catalogue_for
from wavescope.analyze.counters.measured import Measured
from wavescope.analyze.counters.metric_values import MetricValues
from wavescope.analyze.counters.planning.profile import needed_counters
from wavescope.analyze.counters.sanity_findings import sanity_findings
from wavescope.formats.counters import read_workload
from wavescope.model.result import Finding, Severity

QUIET = {
    "GRBM_GUI_ACTIVE": 100_000,
    "SQ_ACTIVE_INST_VALU": 0,
    "SQ_VALU_MFMA_BUSY_CYCLES": 0,
    "SQ_LDS_IDX_ACTIVE": 0,
    "TCP_TOTAL_CACHE_ACCESSES_sum": 0,
    "TCC_REQ_sum": 0,
    "TCC_EA0_RDREQ_sum": 0,
    "TCC_EA0_RDREQ_32B_sum": 0,
    "TCC_EA0_WRREQ_sum": 0,
    "TCC_EA0_WRREQ_64B_sum": 0,
    "SQ_WAIT_ANY": 0,
    "SQ_WAVE_CYCLES": 1_000,
}
"""A kernel that does nothing for 100 us at 1 GHz, on 100 compute units."""


def values_of(maker: WorkloadMaker) -> MetricValues:
    return values_in(maker.write())


def values_in(folder: Path) -> MetricValues:
    table = read_workload(folder)
    from wavescope.analyze.counters import NormalUnit

    return MetricValues(Measured(table, catalogue_for(table.chip)), NormalUnit.PER_KERNEL)


@pytest.mark.parametrize(
    ("counters", "duration_ns", "id_"),
    [
        ({"SQ_VALU_MFMA_BUSY_CYCLES": 36_000_000}, 100_000, "compute"),
        ({"SQ_ACTIVE_INST_VALU": 7_000_000}, 100_000, "compute"),
        ({"SQ_LDS_IDX_ACTIVE": 8_000_000}, 100_000, "lds"),
        ({"TCP_TOTAL_CACHE_ACCESSES_sum": 7_000_000}, 100_000, "l1"),
        ({"TCC_REQ_sum": 300_000}, 100_000, "l2"),
        ({"TCC_EA0_RDREQ_sum": 400_000}, 100_000, "hbm"),
        ({"SQ_WAIT_ANY": 800}, 100_000, "latency"),
        ({}, 5_000, "launch"),
    ],
)
def test_what_a_kernel_is_bound_by(
    tmp_path: Path, counters: dict[str, int], duration_ns: int, id_: str
) -> None:
    maker = a_workload(tmp_path).with_dispatch("k", duration_ns, **(QUIET | counters))

    (finding,) = bound_findings(values_of(maker))

    assert finding.id == f"counters.bound.{id_}"
    assert finding.where == "k"
    assert finding.suggestion
    assert finding.numbers["mean_ns"] == duration_ns


def test_hbm_is_compared_with_its_measured_peak(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch(
        "k", 100_000, **(QUIET | {"TCC_EA0_RDREQ_sum": 200_000})
    )
    assert bound_findings(values_of(maker))[0].id == "counters.bound.latency"
    (tmp_path / "roofline.csv").write_text("device,HBMBw\n0,200\n")

    found = bound_findings(values_of(maker))[0]

    assert found.id == "counters.bound.hbm"
    assert found.numbers["HBM_percent"] == pytest.approx(64.0)
    published = found.numbers["HBM_of_published_percent"]
    assert isinstance(published, float)
    assert f"of their published peaks: HBM {published:.1f} %" in found.evidence
    assert "Of the peak measured on this machine: HBM 64.0 %" in found.evidence


def test_near_the_threshold_both_are_said(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch(
        "k", 100_000, **(QUIET | {"SQ_LDS_IDX_ACTIVE": 5_800_000, "SQ_WAIT_ANY": 800})
    )

    (found,) = bound_findings(values_of(maker))

    assert found.title == "bound by LDS or by latency: LDS is at 58 % of its published peak"
    assert found.numbers["or"] == "counters.bound.latency"
    assert found.suggestion.startswith("remove bank conflicts")
    assert "for latency: have more work in flight" in found.suggestion


@pytest.mark.parametrize(
    ("active", "id_", "has_both"),
    [
        (5_400_000, "latency", False),
        (5_500_000, "lds", True),
        (6_400_000, "lds", True),
        (6_500_000, "lds", False),
    ],
)
def test_where_the_threshold_is_near(tmp_path: Path, active: int, id_: str, has_both: bool) -> None:
    counters = QUIET | {"SQ_LDS_IDX_ACTIVE": active, "SQ_WAIT_ANY": 800}
    maker = a_workload(tmp_path).with_dispatch("k", 100_000, **counters)

    (found,) = bound_findings(values_of(maker))

    assert found.id == f"counters.bound.{id_}"
    assert (" or by " in found.title) is has_both


def test_nothing_is_concluded_while_a_unit_was_not_measured(tmp_path: Path) -> None:
    counters = {name: count for name, count in QUIET.items() if not name.startswith("TCC_")}
    maker = a_workload(tmp_path).with_dispatch("k", 5_000, **counters)

    (finding,) = bound_findings(values_of(maker))

    assert finding.id == "counters.bound.unknown"
    assert finding.evidence.endswith("; not known: L2, HBM")


def test_units_that_a_chip_lacks_are_not_missed(tmp_path: Path) -> None:
    counters = {name: count for name, count in QUIET.items() if "MFMA" not in name}
    maker = (
        a_workload(tmp_path).with_system(gpu_arch="gfx908").with_dispatch("k", 5_000, **counters)
    )

    (finding,) = bound_findings(values_of(maker))

    assert finding.id == "counters.bound.launch"


def test_only_kernels_that_matter_are_spoken_of(tmp_path: Path) -> None:
    maker = a_workload(tmp_path)
    for name, duration_ns in (("a", 500_000), ("b", 400_000), ("c", 50_000), ("d", 50_000)):
        maker.with_dispatch(name, duration_ns, **QUIET)

    assert [finding.where for finding in bound_findings(values_of(maker))] == ["a", "b"]


def by_id(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.id.removeprefix("counters."): finding for finding in findings}


def test_shares_above_a_hundred_percent_are_flagged(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch(
        "k", 100_000, **(QUIET | {"SQ_ACTIVE_INST_VALU": 20_000_000})
    )

    found = by_id(sanity_findings(values_of(maker)))["impossible"]

    assert found.severity is Severity.PROBLEM
    assert found.evidence == "valu_utilization 200.0 %"


def test_passes_that_did_different_work_are_flagged(tmp_path: Path) -> None:
    main = a_workload(tmp_path).with_dispatch("k", 10, SQ_WAVES=100)
    a_workload(tmp_path).with_dispatch("k", 20, SQ_WAVES=90, SQ_ACCUM_PREV_HIRES=1).write(
        "SQ_LEVEL_WAVES.csv"
    )
    a_workload(tmp_path).with_dispatch("k", 10, SQ_ACCUM_PREV_HIRES=1).write("SQ_IFETCH_LEVEL.csv")

    found = by_id(sanity_findings(values_of(main)))

    assert found["passes_disagree"].evidence == "SQ_WAVES in the pass of SQ_LEVEL_WAVES"
    assert "100 % longer" in found["passes_differ"].evidence


def test_dispatches_without_times_in_any_pass_do_not_differ(tmp_path: Path) -> None:
    main = a_workload(tmp_path).with_dispatch("k", 10, SQ_WAVES=100)
    a_workload(tmp_path).with_dispatch("k", 10, SQ_ACCUM_PREV_HIRES=1).write("SQ_IFETCH_LEVEL.csv")
    a_workload(tmp_path).with_dispatch("k", 10, SQ_ACCUM_PREV_HIRES=1).write("SQ_LEVEL_WAVES.csv")
    main.write()
    for path in tmp_path.glob("*.csv"):
        path.write_text(path.read_text().replace("End_Timestamp", "Ended"))

    assert "passes_differ" not in by_id(sanity_findings(values_in(tmp_path)))


def test_levels_that_were_not_summed_up_are_flagged(tmp_path: Path) -> None:
    main = a_workload(tmp_path).with_dispatch("k", 10, SQ_WAVES=100)
    a_workload(tmp_path).with_dispatch("k", 10, SQ_WAVES=100).write("SQ_LEVEL_WAVES.csv")

    found = by_id(sanity_findings(values_of(main)))

    assert found["no_accumulator"].evidence == "no accumulated value in the pass of SQ_LEVEL_WAVES"
    assert "passes_disagree" not in found


def test_only_counters_of_the_shown_blocks_are_said_to_be_missing(tmp_path: Path) -> None:
    values = values_of(a_workload(tmp_path).with_dispatch("k", 100_000, **QUIET))

    found = by_id(sanity_findings(values, frozenset({"13.3"})))["missing"]

    assert found.title == "a metric lacks a counter"
    assert found.evidence == "not collected: SQC_TC_INST_REQ"


def test_a_counter_that_the_chip_lacks_is_not_asked_for(tmp_path: Path) -> None:
    values = values_of(a_workload(tmp_path).with_dispatch("k", 100_000, **QUIET))
    metric = values.measured.catalogue.metrics["channel_reads_128"]

    assert values.unavailable(metric) == "N/A: gfx90a has no TCC_BUBBLE"
    assert "missing" not in by_id(sanity_findings(values, frozenset({"18.12"})))
    assert needed_counters(values.measured.catalogue, metric) == ()


def test_zero_durations_channels_and_missing_counters(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch("k", 0, **{f"TCC_HIT__{at}": 1 for at in range(9)})

    found = by_id(sanity_findings(values_of(maker)))

    assert found["no_duration"].severity is Severity.PROBLEM
    assert "says 4 channels on gfx90a, the counters are of 9" in found["other_chip"].evidence
    assert "metrics lack a counter" in found["missing"].title


def test_a_sound_workload_has_nothing_to_say_but_what_is_missing(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch("k", 100_000, **QUIET)

    assert set(by_id(sanity_findings(values_of(maker)))) == {"missing"}
