"""Bytes by every formula, means over passes, and where the decision tree ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import a_trace
from tests.counters_builder import counted
from wavescope.analyze.traffic import (
    KernelTraffic,
    MemoryUse,
    TrafficOptions,
    Verdict,
    conclude,
    counters_of_trace,
    kernel_traffic,
    memory_use,
    traffic_result,
)
from wavescope.analyze.traffic.requests import (
    Formula,
    channel_transfer,
    hit_percent,
    read_transfer,
    write_transfer,
)
from wavescope.model.chips.chip_table import chip_named


def traffic_of(
    values: dict[str, float], duration_ns: int | None = 1_000, chip: str = "gfx942", **more: float
) -> KernelTraffic:
    options = TrafficOptions(chip_named(chip), more.get("peak"), more.get("ideal_gb"))
    return kernel_traffic([counted(("k", duration_ns, values))], options)[0]


@pytest.mark.parametrize(
    ("chip", "values", "size_bytes", "formula", "caveat"),
    [
        ("gfx90a", {"TCC_EA_RDREQ": 100, "TCC_EA_RDREQ_32B": 20}, 5_760, Formula.PLAIN, ""),
        ("gfx90a", {"TCC_EA0_RDREQ": 100, "TCC_EA0_RDREQ_32B": 20}, 5_760, Formula.PLAIN, ""),
        (
            "gfx942",
            {"TCC_EA0_RDREQ": 100, "TCC_EA0_RDREQ_32B": 20, "TCC_BUBBLE": 50},
            50 * 128 + 30 * 64 + 20 * 32,
            Formula.LARGE_APART,
            "",
        ),
        ("gfx942", {"TCC_EA0_RDREQ": 100, "TCC_EA0_RDREQ_32B": 0}, 6_400, Formula.PLAIN, "TCC_BUBBLE_sum was not"),
        ("gfx90a", {"TCC_EA_RDREQ": 100}, 6_400, Formula.PLAIN, "upper bound"),
        (
            "gfx950",
            {"TCC_EA0_RDREQ": 100, "TCC_EA0_RDREQ_32B": 4, "TCC_EA0_RDREQ_64B": 6, "TCC_EA0_RDREQ_128B": 90},
            90 * 128 + 6 * 64 + 4 * 32,
            Formula.BY_SIZE,
            "",
        ),
        (
            "gfx950",
            {"TCC_EA0_RDREQ": 100, "TCC_EA0_RDREQ_32B": 0, "TCC_BUBBLE": 0},
            6_400,
            Formula.PLAIN,
            "TCC_EA0_RDREQ_128B_sum was not",
        ),
        ("", {"TCC_EA0_RDREQ": 100, "TCC_EA0_RDREQ_32B": 0, "TCC_BUBBLE": 0}, 6_400, Formula.LARGE_APART, "gfx950"),
        (
            "gfx1100",
            {"GL2C_EA_RDREQ_32B": 1, "GL2C_EA_RDREQ_64B": 2, "GL2C_EA_RDREQ_96B": 3, "GL2C_EA_RDREQ_128B": 4},
            32 + 128 + 288 + 512,
            Formula.BY_SIZE,
            "",
        ),
        ("gfx1100", {"FETCH_SIZE": 2.5}, 2_560, Formula.DERIVED, ""),
        ("gfx950", {"FETCH_SIZE": 2.5}, 2_560, Formula.DERIVED, "twice"),
    ],
)  # fmt: skip
def test_bytes_read(
    chip: str, values: dict[str, float], size_bytes: float, formula: Formula, caveat: str
) -> None:
    found = read_transfer(values, chip_named(chip) if chip else None)

    assert found is not None
    assert (found.size_bytes, found.formula) == (size_bytes, formula)
    assert caveat in found.caveat
    assert bool(caveat) == bool(found.caveat)


def test_more_bubbles_than_reads_are_noise_of_passes() -> None:
    found = read_transfer(
        {"TCC_EA0_RDREQ": 100, "TCC_EA0_RDREQ_32B": 0, "TCC_BUBBLE": 101}, chip_named("gfx942")
    )

    assert found is not None
    assert found.size_bytes == 12_800


def test_the_channel_model_of_older_reports() -> None:
    found = channel_transfer({"TCC_EA0_RDREQ": 100, "TCC_EA0_RDREQ_32B": 20}, 2)

    assert found is not None
    assert (found.size_bytes, found.formula) == (11_520, Formula.CHANNELS)
    assert channel_transfer({"GL2C_EA_RDREQ": 3}, 2) is None


def test_bytes_written() -> None:
    found = write_transfer({"TCC_EA0_WRREQ": 10, "TCC_EA0_WRREQ_64B": 8})

    assert found is not None
    assert found.size_bytes == 8 * 64 + 2 * 32
    assert write_transfer({"TCC_EA0_WRREQ": 10}) is None


def test_hit_rates() -> None:
    assert hit_percent({"TCC_HIT": 30, "TCC_MISS": 70}) == 30
    assert hit_percent({"GL2C_HIT": 1, "GL2C_MISS": 1}) == 50
    assert hit_percent({"L2CACHEHIT": 12.5}) == 12.5
    assert hit_percent({"TCC_HIT": 0, "TCC_MISS": 0}) is None


def test_passes_with_different_counters_fit_together_by_means() -> None:
    counters = counted(
        ("k", 100, {"TCC_HIT": 10, "TCC_MISS": 30}),
        ("k", 100, {"TCC_HIT": 30, "TCC_MISS": 10}),
        ("k", 50, {"TCC_EA0_RDREQ": 10, "TCC_EA0_RDREQ_32B": 0, "TCC_BUBBLE": 0}),
    )

    (found,) = kernel_traffic([counters], TrafficOptions(chip_named("gfx942")))

    assert found.dispatches == 2
    assert found.hit_percent == 50
    assert found.duration_ns == 50, "of the dispatches whose reads were counted"
    assert found.read_gb_per_s == 640 / 50
    assert found.uneven_counts


def test_two_runs_are_not_counted_as_twice_the_bytes() -> None:
    run = ("k", 100, {"TCC_EA_RDREQ": 1_000.0, "TCC_EA_RDREQ_32B": 0.0})
    options = TrafficOptions(chip_named("gfx90a"), ideal_gb=64e-6)

    (found,) = kernel_traffic([counted(run, run)], options)

    assert found.over_fetch == 1


def test_bandwidth_and_its_share_of_the_peak() -> None:
    found = traffic_of(
        {"TCC_EA_RDREQ": 10_000, "TCC_EA_RDREQ_32B": 0, "TCC_EA_WRREQ": 1_000, "TCC_EA_WRREQ_64B": 1_000},
        duration_ns=1_000,
        chip="gfx90a",
    )  # fmt: skip

    assert found.read_gb_per_s == 640
    assert found.write_gb_per_s == 64
    assert found.peak_percent == pytest.approx(100 * 704 / 1638.4)


def clean(**changes: float) -> dict[str, float]:
    """The counters of a streaming kernel that reads 2,880 bytes per ns on gfx942."""
    base = {
        "TCC_HIT": 17, "TCC_MISS": 983, "TCC_EA0_RDREQ": 22_500,
        "TCC_EA0_RDREQ_32B": 0, "TCC_BUBBLE": 22_500,
    }  # fmt: skip
    return base | changes


def test_the_worked_example_of_the_paged_attention_kernel_is_clean() -> None:
    found = traffic_of(clean(), ideal_gb=2_880_000 / 1.04 / 1e9)

    conclusion = conclude(found)

    assert found.peak_percent == pytest.approx(54.09, abs=0.01)
    assert found.over_fetch == pytest.approx(1.04)
    assert conclusion.verdict is Verdict.CLEAN
    assert "nothing left to gain" in conclusion.words
    assert [answer.is_fault for answer in conclusion.answers] == [False] * 4
    assert "1.7 % of requests hit L2: pure streaming" in conclusion.answers[0].words


@pytest.mark.parametrize(
    ("changes", "duration_ns", "ideal_gb", "verdict"),
    [
        ({"TCC_EA0_RDREQ_32B": 10_000, "TCC_BUBBLE": 0}, 1_000, None, Verdict.WASTEFUL),
        ({}, 1_000, 1e-3, Verdict.WASTEFUL),
        ({}, 10_000, None, Verdict.BANDWIDTH_TO_SPARE),
        ({"TCC_HIT": 9_000}, 10_000, None, Verdict.L2_SERVED),
        ({"TCC_HIT": 9_000}, 1_000, None, Verdict.CLEAN),
        ({}, None, None, Verdict.UNDECIDED),
    ],
)
def test_where_the_tree_ends(
    changes: dict[str, float], duration_ns: int | None, ideal_gb: float | None, verdict: Verdict
) -> None:
    options = TrafficOptions(chip_named("gfx942"), ideal_gb=ideal_gb)
    (found,) = kernel_traffic([counted(("k", duration_ns, clean(**changes)))], options)

    assert conclude(found).verdict is verdict


def test_more_than_the_peak_is_explained_by_a_cache_behind_l2() -> None:
    answers = conclude(traffic_of(clean(), duration_ns=300)).answers

    assert "Infinity Cache" in answers[-1].words


def test_one_kernel_in_several_spellings_is_one() -> None:
    names = ("axpy(float*)", "axpy(float*) [clone .kd]", "axpy(float*) (.kd)", "_Z4axpyPf.kd")

    found = kernel_traffic([counted(*((name, 10, clean()) for name in names))], TrafficOptions())

    assert [(each.kernel, each.dispatches) for each in found] == [("axpy(float*)", 4)]


@pytest.mark.parametrize(
    ("published", "measured", "use"),
    [
        (44.9, None, MemoryUse.SPARE),
        (45.0, None, MemoryUse.NEAR),
        (64.9, None, MemoryUse.NEAR),
        (65.0, None, MemoryUse.FULL),
        (50.0, 54.9, MemoryUse.SPARE),
        (50.0, 62.0, MemoryUse.NEAR),
        (58.0, 65.0, MemoryUse.FULL),
    ],
)
def test_whether_memory_limits(published: float, measured: float | None, use: MemoryUse) -> None:
    assert memory_use(published, measured) is use


def test_near_the_threshold_clean_traffic_leaves_latency_open() -> None:
    near = traffic_of(clean(), duration_ns=1_000)._replace(peak_percent=58.0)
    full = near._replace(peak_percent=80.0)

    assert "either memory or latency limits it" in conclude(near).words
    assert "latency" not in conclude(full).words


def test_the_measured_peak_of_the_folder_is_said_apart() -> None:
    table = replace(counted(("k", 1_000, clean())), ceilings=({"device": 0.0, "HBMBw": 4_000.0},))

    (finding, *_) = traffic_result([table], TrafficOptions(chip_named("gfx942"))).findings

    assert "% of the peak" in finding.evidence
    assert "% of what was measured on this machine" in finding.evidence


def test_a_lower_bound_is_not_bandwidth_to_spare() -> None:
    """gfx950 without the counter of 128 B reads: the bytes may be twice as many."""
    counters = {"TCC_EA0_RDREQ": 1_000.0, "TCC_EA0_RDREQ_32B": 0.0}
    options = TrafficOptions(chip_named("gfx950"))
    (low,) = kernel_traffic([counted(("k", 100, counters))], options)

    assert low.read is not None
    assert low.read.is_lower_bound
    assert conclude(low._replace(peak_percent=20.0)).verdict is Verdict.BANDWIDTH_TO_SPARE
    assert conclude(low._replace(peak_percent=30.0)).verdict is Verdict.UNDECIDED


def test_kernels_are_ordered_by_their_time() -> None:
    counters = counted(("fast", 10, clean()), ("slow", 90, clean()), ("fast", 20, clean()))

    found = kernel_traffic([counters], TrafficOptions(chip_named("gfx942")))

    assert [(each.kernel, each.dispatches) for each in found] == [("slow", 1), ("fast", 2)]


def test_the_result_says_what_it_does_not_know() -> None:
    result = traffic_result([counted(("k", None, {"TCC_EA0_RDREQ": 5.0}))], TrafficOptions())

    assert {finding.id for finding in result.findings} == {
        "traffic-caveat",
        "traffic-no-peak",
        "traffic-no-times",
    }
    row = result.table("kernels").records()[0]
    assert row["read_gb_per_s"] is None
    assert row["peak_percent"] is None


def test_the_counters_of_a_trace_are_used_as_those_of_a_csv() -> None:
    trace = (
        a_trace()
        .with_kernel("gemm", 1_000, 2_000)
        .with_kernel("add", 4_000, 7_000)
        .with_counter(1, "TCC_HIT_sum", 3.0)
        .with_counter(1, "SQ_WAVES", 9.0)
        .with_counter(2, "TCC_HIT_sum", 4.0)
        .with_agent(0, chip="gfx942")
        .build()
    )

    found = counters_of_trace(trace, "t.db", lambda name: name == "TCC_HIT")

    assert found.kernels() == ["gemm", "add"]
    assert found.durations_ns.tolist() == [1_000, 3_000]
    assert {name: values.tolist() for name, values in found.columns.items()} == {
        "TCC_HIT_sum": [3.0, 4.0]
    }
    assert found.chip == "gfx942"
