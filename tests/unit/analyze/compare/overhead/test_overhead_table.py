"""Overhead tables from given runs: the arithmetic, without running anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from wavescope.analyze.compare.overhead import OverheadCheck, overhead_result
from wavescope.analyze.compare.overhead.costs import mode_costs
from wavescope.analyze.compare.statistics.verdicts import Verdict
from wavescope.errors import UsageError
from wavescope.model.overhead_runs import ArmRun, MetricKind, OverheadRuns, TraceFacts

TOKENS = MetricKind(r"([\d.]+) tok/s", "tok/s", higher_is_better=True)
WALL = MetricKind("wall", "ns", higher_is_better=False)
FACTS = TraceFacts(op_count=211, kernel_count=108, seen=1000, timed=800, size_bytes=4096)


def measured(
    metric: MetricKind = TOKENS, label: str = "now", **arms: Sequence[float]
) -> OverheadRuns:
    runs = [
        ArmRun(arm, number, value, 1000, 900, None if arm == "baseline" else FACTS)
        for arm, values in arms.items()
        for number, value in enumerate(values, 1)
    ]
    return OverheadRuns(label, "./bench", metric, tuple(runs), "0.1.0", "2026-01-01T00:00:00")


def test_the_table_of_seed_001() -> None:
    """97.3 tok/s alone and 96.9 recorded are an overhead of -0.4 %."""
    runs = measured(baseline=[97.3, 97.3, 97.3], lite=[96.9, 96.9, 96.9])

    (row,) = overhead_result(runs).table("overhead").records()

    assert row["mode"] == "lite"
    assert row["baseline"] == pytest.approx(97.3)
    assert row["traced"] == pytest.approx(96.9)
    assert row["overhead_percent"] == pytest.approx(-0.411, abs=1e-3)
    assert row["cost_percent"] == pytest.approx(0.413, abs=1e-3)
    assert row["verdict"] == "free"
    assert row["rounds"] == 3


def test_time_that_grows_is_a_positive_overhead() -> None:
    runs = measured(WALL, baseline=[100, 102, 98], full=[110, 112, 108])

    (row,) = overhead_result(runs).table("overhead").records()

    assert row["overhead_percent"] == row["cost_percent"] == pytest.approx(10, abs=0.1)
    assert row["baseline_ns"] == pytest.approx(100, abs=0.1)
    assert row["verdict"] == "costs"


def test_the_interval_of_a_rate_keeps_its_ends_in_order() -> None:
    runs = measured(baseline=[100, 101, 99, 100], lite=[98, 99.5, 96.5, 98.5])

    (row,) = overhead_result(runs).table("overhead").records()

    low, overhead, high = (row[f"{name}_percent"] for name in ("low", "overhead", "high"))
    assert isinstance(low, float)
    assert isinstance(overhead, float)
    assert isinstance(high, float)
    assert low < overhead < high < 0


def test_only_runs_of_one_round_are_compared() -> None:
    """The machine became twice as fast between rounds; recording always costs 5 %."""
    runs = measured(baseline=[100, 200, 50], lite=[95, 190, 47.5])

    (cost,) = mode_costs(runs)

    assert cost.effect.change_percent == pytest.approx(100 / 0.95 - 100)
    assert cost.effect.low_percent == pytest.approx(cost.effect.high_percent)
    assert cost.verdict is Verdict.REGRESSION


def test_a_round_that_lacks_an_arm_is_left_out() -> None:
    runs = measured(baseline=[100, 100, 100], lite=[100, 100])

    assert mode_costs(runs)[0].effect.base_run_count == 2
    with pytest.raises(UsageError, match="no round"):
        overhead_result(measured(baseline=[100]))


def test_modes_from_the_lightest_to_the_heaviest() -> None:
    runs = measured(hip=[1.0], full=[1.0], baseline=[1.0], lite=[1.0], standard=[1.0])

    assert overhead_result(runs).table("overhead").column("mode") == [
        "lite",
        "standard",
        "full",
        "hip",
    ]


def test_noise_makes_it_unclear_and_says_how_many_rounds_it_takes() -> None:
    runs = measured(baseline=[100, 100, 100], lite=[97, 103, 100], full=[99, 101, 100])

    result = overhead_result(runs)

    assert result.table("overhead").column("verdict") == ["unclear", "unclear"]
    (finding,) = result.findings
    assert finding.id == "overhead-unclear"
    assert finding.suggestion.startswith("--rounds ")


def test_several_modes_are_several_tests() -> None:
    """A cost with p = 0.03 is real alone, and not as one of four."""
    noisy = [98.0, 97.0, 99.2, 97.5]
    alone = measured(baseline=[100] * 4, lite=noisy)
    quiet = [100.0, 100.01, 99.99, 100.0]
    among = measured(baseline=[100] * 4, lite=noisy, standard=quiet, full=quiet, hip=quiet)
    p_value = mode_costs(alone)[0].effect.p_value
    assert p_value is not None
    check = OverheadCheck(significance=2 * p_value)

    assert mode_costs(alone, check)[0].verdict is Verdict.REGRESSION
    assert mode_costs(among, check)[0].verdict is Verdict.INCONCLUSIVE


def test_what_each_mode_records() -> None:
    runs = measured(baseline=[100, 100], lite=[100, 100])

    (row,) = overhead_result(runs).table("modes").records()

    assert row == {
        "mode": "lite",
        "op_count": 211,
        "kernel_count": 108,
        "seen": 1000,
        "timed": 800,
        "coverage_percent": 80.0,
        "size_bytes": 4096,
        "overhead_percent": 0.0,
    }


def test_a_mode_that_recorded_nothing_is_no_success() -> None:
    runs = (
        ArmRun("baseline", 1, 100.0, 1, 1),
        ArmRun("lite", 1, 100.0, 1, 1, TraceFacts()),
    )

    result = overhead_result(OverheadRuns("now", "./bench", TOKENS, runs))

    assert "nothing-recorded" in [finding.id for finding in result.findings]
    assert result.table("modes").column("coverage_percent") == [None]


def test_versions_and_modes_beside_one_another() -> None:
    old = measured(label="v1", baseline=[100, 101, 99], lite=[99.9, 100.9, 98.9])
    now = measured(baseline=[100, 101, 99], lite=[95, 96, 94], full=[90, 91, 89])

    table = overhead_result(now, [old]).table("versions")

    rows = list(
        zip(
            *(table.column(name) for name in ("version", "mode", "change_percent", "verdict")),
            strict=True,
        )
    )
    assert rows == [
        ("v1", "lite", pytest.approx(5.2, abs=0.1), "regression"),
        ("now", "lite", None, None),
        ("now", "full", None, None),
    ]


def test_measurements_of_one_label_are_told_apart() -> None:
    runs = measured(baseline=[100, 101], lite=[99, 100]).runs
    same = [
        OverheadRuns("v1", "./bench", TOKENS, runs, recorded_at=at)
        for at in ("2026-01-01", "2026-01-02", "2026-01-02", "")
    ]
    now = OverheadRuns("now", "./bench", TOKENS, runs)

    found = overhead_result(now, same).table("versions").column("version")

    assert found == ["v1 (2026-01-01)", "v1 (2026-01-02) #1", "v1 (2026-01-02) #2", "v1", "now"]


def test_measurements_of_other_metrics_or_programs() -> None:
    old = measured(WALL, label="v1", baseline=[100], lite=[100])
    other = OverheadRuns("v1", "./other", TOKENS, measured(baseline=[1.0], lite=[1.0]).runs)
    now = measured(baseline=[100], lite=[100])

    with pytest.raises(UsageError, match="measured wall"):
        overhead_result(now, [old])
    assert "other-program" in [finding.id for finding in overhead_result(now, [other]).findings]


def test_a_rate_that_rises_is_a_speed_up() -> None:
    runs = measured(baseline=[100, 101, 99], lite=[136, 137.4, 134.6])

    result = overhead_result(runs)
    (row,) = result.table("overhead").records()

    assert row["cost_percent"] == pytest.approx(-26.5, abs=0.1)
    assert row["verdict"] == "faster"
    titles = {column.name: column.title for column in result.table("overhead").columns}
    assert titles["overhead_percent"] == "tok/s %"
    assert "Overhead" not in titles["overhead_percent"]


def test_a_mode_that_recorded_nothing_gets_no_verdict() -> None:
    runs = tuple(
        run
        for number in (1, 2, 3)
        for run in (
            ArmRun("baseline", number, 100.0 + number, 1, 1),
            ArmRun("lite", number, 50.0 + number, 1, 1, TraceFacts()),
            ArmRun("full", number, 100.01 + number, 1, 1, TraceFacts(op_count=5)),
        )
    )
    old = OverheadRuns("v1", "./bench", TOKENS, runs)

    result = overhead_result(OverheadRuns("now", "./bench", TOKENS, runs), [old])

    assert result.table("overhead").column("verdict") == ["nothing recorded", "free"]
    assert "recording-costs" not in [finding.id for finding in result.findings]
    assert result.table("versions").column("verdict") == [None, "pass", None, None]


def a_case(model: str, ranks: int, concurrency: int, label: str, factor: float) -> OverheadRuns:
    runs = measured(
        label=label, baseline=[100, 101, 99], lite=[factor * value for value in (100, 101, 99)]
    )
    case = (("model", model), ("tp", str(ranks)), ("conc", str(concurrency)))
    return replace(runs, case=case)


def test_rows_by_model_ranks_and_concurrency() -> None:
    first, *others = (a_case("R1", 8, conc, "v2", 0.95) for conc in (1, 64))
    old = [a_case("R1", 8, conc, "v1", 1.0) for conc in (1, 64)]

    result = overhead_result(first, old, other_cases=others)

    table = result.table("overhead")
    assert [column.title for column in table.columns][:4] == ["Model", "TP", "Conc", "Mode"]
    assert [row[:4] for row in table.rows] == [
        ("R1", "8", "1", "lite"),
        ("R1", "8", "64", "lite"),
    ]
    versions = result.table("versions")
    shown = ("version", "case_conc", "verdict")
    assert list(zip(*(versions.column(name) for name in shown), strict=True)) == [
        ("v1", "1", "regression"),
        ("v1", "64", "regression"),
        ("v2", "1", None),
        ("v2", "64", None),
    ]
    assert not [finding for finding in result.findings if finding.id == "other-program"]
