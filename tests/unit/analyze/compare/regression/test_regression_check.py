"""Repeated runs of two versions: the verdict and the tables that give its reasons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.compare.regression import may_be_renamed
from wavescope.analyze.compare.regression.check import check_regression
from wavescope.analyze.compare.regression.run_values import (
    CheckOptions,
    Gate,
    Metric,
    Per,
    RunOptions,
    RunValues,
    run_values,
)
from wavescope.analyze.compare.renames import Rename
from wavescope.analyze.compare.statistics.effects import TestOptions
from wavescope.analyze.compare.statistics.verdicts import Verdict
from wavescope.errors import UnreadableInputError, UsageError


def recorded(seed: int, *, gemm: float = 1.0, steps: int = 12, noise: float = 0.002) -> RunValues:
    """A run of some steps, each of three kernels; gemm takes 60 % of the time."""
    rng = np.random.default_rng(seed)
    speed = 1 + noise * rng.standard_normal()
    maker = a_trace()
    for step in range(steps):
        at = 1_000_000 * step
        maker.with_marker(f"step {step}", at, at + 900_000)
        for name, mean_ns in (("gemm", 60_000 * gemm), ("norm", 30_000), ("add", 10_000)):
            end = at + round(mean_ns * speed * (1 + 0.01 * rng.standard_normal()))
            maker.with_kernel(name, at, end)
            at = end
    return run_values(maker.build(), RunOptions())


def arm(first_seed: int, count: int, **values: float) -> list[RunValues]:
    return [recorded(first_seed + index, **values) for index in range(count)]  # type: ignore[arg-type]


def test_equal_versions_pass() -> None:
    verdict, result = check_regression(arm(0, 5), arm(50, 5))

    assert verdict is Verdict.PASS
    assert result.facts["verdict"] == "pass"
    assert str(result.facts["headline"]).startswith("no slow-down of 1 % or more (")
    assert result.table("kernels").column("name") == ["gemm", "norm", "add"]
    assert "regression" not in result.table("kernels").column("verdict")


def test_a_slower_kernel_is_named() -> None:
    verdict, result = check_regression(arm(0, 5), arm(50, 5, gemm=1.05))

    assert verdict is Verdict.REGRESSION
    assert result.facts["change_percent"] == pytest.approx(3.0, abs=0.5)
    assert (
        dict(
            zip(
                *(result.table("kernels").column(name) for name in ("name", "verdict")), strict=True
            )
        )["gemm"]
        == "regression"
    )
    assert [finding.where for finding in result.findings] == ["gemm"]
    assert str(result.facts["headline"]).startswith(
        "the new version takes 2.9 % longer; kernels that really changed: gemm +"
    )
    low, high = result.facts["low_percent"], result.facts["high_percent"]
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert 0 < low < 3 < high


def test_what_changed_is_listed_first() -> None:
    base, new = arm(0, 5), arm(50, 5)
    for run in new:
        run.kernels["norm"] *= 0.8
        run.kernels["add"] *= 1.3

    _, result = check_regression(base, new)

    assert result.table("kernels").column("name") == ["add", "norm", "gemm"]


def test_a_faster_version_is_an_improvement() -> None:
    assert check_regression(arm(0, 4), arm(50, 4, gemm=0.9))[0] is Verdict.IMPROVEMENT


def test_noise_that_hides_it_is_inconclusive_and_says_how_many_runs_it_takes() -> None:
    verdict, result = check_regression(arm(0, 3, noise=0.05), arm(50, 3, noise=0.05))

    assert verdict is Verdict.INCONCLUSIVE
    (finding,) = result.findings
    assert finding.id == "noise-too-large"
    assert f"record {result.facts['runs_needed']} runs" in finding.suggestion


def test_one_run_of_each_is_inconclusive() -> None:
    verdict, result = check_regression(arm(0, 1), arm(50, 1, gemm=2.0))

    assert verdict is Verdict.INCONCLUSIVE
    assert result.facts["low_percent"] is None
    assert "one run of each" in result.findings[0].evidence


def test_two_runs_of_each_say_what_they_rest_on() -> None:
    _, result = check_regression(arm(0, 2), arm(50, 2))

    assert "few-runs" in [finding.id for finding in result.findings]


def test_copies_of_one_run_are_noticed() -> None:
    _, result = check_regression([recorded(1)] * 3, [recorded(2)] * 3)

    assert "identical-runs" in [finding.id for finding in result.findings]


def test_runs_recorded_in_different_modes_are_told() -> None:
    lite, full = (
        run_values(
            a_trace().with_kernel("gemm", 0, 10).with_coverage(100, timed).build(), RunOptions()
        )
        for timed in (30, 100)
    )

    _, result = check_regression([full], [lite])

    assert "coverage-differs" in [finding.id for finding in result.findings]


def test_a_kernel_alone_fails_the_check_only_when_asked() -> None:
    base, new = arm(0, 6), arm(50, 6)
    for run in new:
        run.kernels["add"] *= 1.5

    by_total, _ = check_regression(base, new)
    by_kernel, result = check_regression(base, new, CheckOptions(gate=Gate.KERNELS))

    assert by_total is Verdict.PASS
    assert by_kernel is Verdict.REGRESSION
    assert result.facts["gate"] == "kernels"


def with_prefill(seed: int, prefill: float = 1.0) -> RunValues:
    """Ten steps of 100 us, and 500 us before them."""
    rng = np.random.default_rng(seed)
    maker = a_trace().with_kernel("prefill", 0, round(500_000 * prefill * rng.normal(1, 0.001)))
    for step in range(10):
        at = 1_000_000 * (step + 1)
        maker.with_marker(f"step {step}", at, at + 900_000)
        maker.with_kernel("gemm", at, at + round(100_000 * rng.normal(1, 0.001)))
    return run_values(maker.build(), RunOptions())


def test_what_lies_outside_the_steps_counts_unless_steps_are_asked_for() -> None:
    base, new = [with_prefill(n) for n in range(3)], [with_prefill(10 + n, 1.1) for n in range(3)]

    verdicts = {per: check_regression(base, new, CheckOptions(per=per)) for per in Per}

    assert {per: verdict for per, (verdict, _) in verdicts.items()} == {
        Per.AUTO: Verdict.REGRESSION,
        Per.RUN: Verdict.REGRESSION,
        Per.STEP: Verdict.PASS,
    }
    per_step = verdicts[Per.STEP][1]
    assert [finding.id for finding in per_step.findings] == ["outside-steps"]
    assert per_step.facts["outside_percent"] == pytest.approx(100 * 550 / 1550, abs=1)
    assert per_step.table("kernels").column("name") == ["gemm"]
    whole = verdicts[Per.AUTO][1]
    assert whole.facts["steps"] == "none: each run is one value"
    assert whole.table("kernels").column("name") == ["prefill", "gemm"]
    assert whole.table("runs").column("step_count") == [1] * 6


def test_steps_where_there_are_none() -> None:
    run = run_values(a_trace().with_kernel("gemm", 0, 10).build(), RunOptions())

    with pytest.raises(UsageError, match="no steps were found"):
        check_regression([run], [run], CheckOptions(per=Per.STEP))
    assert check_regression([run], [run])[1].facts["base_run_count"] == 1


def test_false_alarms_of_any_kernel_are_as_rare_as_stated() -> None:
    """600 pairs of arms, twelve kernels each: one of them alone is enough for an alarm."""
    rng = np.random.default_rng(1)
    options = CheckOptions(gate=Gate.KERNELS)

    def run() -> RunValues:
        values = {f"k{n}": np.array([1e6 * (1 + 0.02 * rng.standard_normal())]) for n in range(12)}
        return RunValues(
            "run.db", sum(values.values()), values, dict.fromkeys(values, 10**6), "steps"
        )  # type: ignore[arg-type]

    alarms = 0
    for _ in range(600):
        verdict, _ = check_regression([run() for _ in range(4)], [run() for _ in range(4)], options)
        alarms += verdict is Verdict.REGRESSION
    assert alarms <= 0.05 * 600


def test_kernels_of_no_weight_are_not_tested() -> None:
    options = CheckOptions(min_share_percent=20)

    _, result = check_regression(arm(0, 3), arm(50, 3), options)

    assert result.table("kernels").column("name") == ["gemm", "norm"]


def renamed_runs(runs: list[RunValues]) -> list[RunValues]:
    def name(old: str) -> str:
        return "gemm_v2" if old == "gemm" else old

    return [
        RunValues(
            run.path,
            run.total,
            {name(key): value for key, value in run.kernels.items()},
            {name(key): value for key, value in run.kernel_ns.items()},
            run.step_source,
            run.whole,
        )
        for run in runs
    ]


def test_a_renamed_kernel_is_compared_under_its_new_name() -> None:
    base, new = arm(0, 4), renamed_runs(arm(50, 4, gemm=1.1))

    assert may_be_renamed(base, new)
    _, apart = check_regression(base, new)
    _, together = check_regression(base, new, renamed=[Rename(("gemm",), ("gemm_v2",), 1.0, "")])

    assert sorted(
        zip(*(apart.table("one_sided").column(name) for name in ("name", "status")), strict=True)
    ) == [("gemm", "gone"), ("gemm_v2", "new")]
    assert apart.table("kernels").column("name") == ["norm", "add"]
    assert together.table("one_sided").rows == []
    records = {row["name"]: row for row in together.table("kernels").records()}
    assert records["gemm_v2"]["change_percent"] == pytest.approx(10, abs=1)
    assert records["gemm_v2"]["verdict"] == "regression"


def test_equal_names_need_no_matching() -> None:
    assert not may_be_renamed(arm(0, 1), arm(50, 1))


def two_steps() -> TraceMaker:
    return (
        a_trace()
        .with_marker("step 1", 0, 100)
        .with_marker("step 2", 100, 300)
        .with_kernel("warm", 0, 50)
        .with_kernel("gemm", 100, 130)
        .with_kernel("gemm", 120, 150, queue=1)
        .with_kernel("gemm", 400, 500)
    )


@pytest.mark.parametrize(
    ("metric", "expected"),
    [(Metric.GPU_TIME, [50, 60]), (Metric.BUSY, [50, 50]), (Metric.WALL, [100, 200])],
)
def test_the_values_of_each_step(metric: Metric, expected: list[int]) -> None:
    run = run_values(two_steps().build(), RunOptions(metric=metric))

    assert run.total.tolist() == expected
    assert run.kernels["gemm"].tolist() == [0, 60]
    assert run.kernel_ns == {"gemm": 160, "warm": 50}
    assert run.step_source == "markers matching steps"


def test_warm_up_steps_are_left_out() -> None:
    run = run_values(two_steps().build(), RunOptions(skip_steps=1))

    assert run.total.tolist() == [60]
    with pytest.raises(UsageError, match="2 steps"):
        run_values(two_steps().build(), RunOptions(skip_steps=2))


def test_steps_as_the_user_names_them() -> None:
    trace = a_trace().with_marker("my batch", 0, 100).with_kernel("gemm", 10, 30).build()

    assert run_values(trace, RunOptions(step="batch")).total.tolist() == [20]
    with pytest.raises(UsageError, match="no marker"):
        run_values(trace, RunOptions(step="request"))


def test_a_run_without_steps_is_one_value() -> None:
    trace = a_trace().with_kernel("gemm", 0, 30).with_kernel("add", 40, 45).build()

    for metric, expected in ((Metric.GPU_TIME, 35), (Metric.BUSY, 35), (Metric.WALL, 45)):
        run = run_values(trace, RunOptions(metric=metric))
        assert run.total.tolist() == [expected]
        assert run.step_source == ""


def test_repeating_kernels_make_steps() -> None:
    maker = a_trace()
    for step in range(20):
        for place, name in enumerate(
            ("embedding_kernel", "gemm", "attn", "gemm", "topk", "argmax_sample")
        ):
            at = 1_000 * step + 100 * place
            maker.with_kernel(name, at, at + 50)

    run = run_values(maker.build(), RunOptions())

    assert run.step_source == "repeating kernels"
    assert set(run.total[1:-1].tolist()) == {300.0}


def test_ops_beside_the_steps_belong_to_the_step_that_began_last() -> None:
    maker = a_trace()
    for step in range(20):
        for place in range(6):
            at = 1_000 * step + 100 * place
            name = ("embedding_kernel", "gemm", "attn", "gemm", "topk", "argmax_sample")[place]
            maker.with_kernel(name, at, at + 50)
        maker.with_copy(1_000 * step + 700, 1_000 * step + 707, queue=5)

    run = run_values(maker.build(), RunOptions())

    assert set(run.total[1:-1].tolist()) == {307.0}
    assert set(run.kernels["CopyHostToDevice"][1:-1].tolist()) == {7.0}


def test_many_steps_are_averaged_in_groups_by_kernel() -> None:
    maker = a_trace()
    for step in range(5_000):
        maker.with_marker(f"step {step}", 100 * step, 100 * step + 90)
        maker.with_kernel("gemm", 100 * step, 100 * step + 10 + step % 2)

    run = run_values(maker.build(), RunOptions())

    assert len(run.total) == 5_000
    assert len(run.kernels["gemm"]) == 4_096
    assert run.kernels["gemm"].mean() == pytest.approx(10.5, abs=0.01)


def test_a_trace_without_ops_cannot_be_a_run() -> None:
    with pytest.raises(UnreadableInputError, match="no GPU op"):
        run_values(a_trace().build(), RunOptions())


def test_the_times_of_recording_give_the_order() -> None:
    def at(run: RunValues, time: int) -> RunValues:
        return replace(run, recorded_at_ns=time)

    base = [at(run, 10 * number) for number, run in enumerate(arm(0, 3))]
    turns = [at(run, 10 * number + 5) for number, run in enumerate(arm(50, 3))]
    later = [at(run, 10 * number + 50) for number, run in enumerate(arm(50, 3))]

    facts = [check_regression(base, new)[1].facts for new in (turns, later, arm(50, 3))]

    assert [(each["order"], each["order_source"]) for each in facts] == [
        ("interleaved", "times of recording"),
        ("base first", "times of recording"),
        ("base first", "assumed"),
    ]
    places = check_regression(base, turns)[1].table("runs").column("place")
    assert places == [1, 3, 5, 2, 4, 6]


def test_a_change_that_drift_explains_is_refused_and_says_why() -> None:
    """Each run is 0.25 % slower than the one before: 1.25 % between the versions, and nothing else."""
    rng = np.random.default_rng(8)

    def drifting(number: int) -> RunValues:
        value = 1e6 * (1 + 0.0025 * number + 0.0005 * rng.standard_normal())
        return RunValues("run.db", np.array([value]), {}, {}, "steps")

    base, new = [drifting(n) for n in range(5)], [drifting(n) for n in range(5, 10)]

    verdict, result = check_regression(base, new)
    trusting = CheckOptions(test=TestOptions(drift_percent=0.0))

    assert verdict is not Verdict.REGRESSION
    found = {finding.id: finding for finding in result.findings}
    assert {"order-of-runs", "trend-of-runs"} & found.keys()
    assert any("base, new, base, new" in finding.suggestion for finding in found.values())
    assert check_regression(base, new, trusting)[0] is Verdict.REGRESSION


def test_warm_up_steps_are_left_out_and_told() -> None:
    def warming(seed: int) -> RunValues:
        run = recorded(seed, steps=40)
        for values in (run.total, *run.kernels.values()):
            values[:3] *= 3
        return run

    base, new = [warming(n) for n in range(3)], [warming(50 + n) for n in range(3)]

    _, result = check_regression(base, new)
    _, with_all = check_regression(base, new, CheckOptions(runs=RunOptions(skip_steps=0)))

    assert result.facts["warm_up_steps"] == 3
    assert result.table("runs").column("step_count") == [37] * 6
    assert "warm-up-steps" in [finding.id for finding in result.findings]
    assert with_all.table("runs").column("step_count") == [40] * 6
    assert result.table("kernels").column("base_ns")[0] == pytest.approx(60_000, rel=0.02)


def test_single_slow_steps_lead_to_the_median_and_are_told() -> None:
    def stumbling(seed: int, often: int) -> RunValues:
        run = recorded(seed, steps=100)
        run.total[7 :: 100 // often] *= 5
        return run

    alike = [[stumbling(n + first, 1) for n in range(3)] for first in (0, 50)]
    more = [stumbling(50 + n, 4) for n in range(3)]

    _, result = check_regression(*alike)
    _, worse = check_regression(alike[0], more)

    found = {finding.id: finding for finding in result.findings}
    assert result.facts["statistic"] == "median"
    assert found["slow-steps"].title == "single steps take 5.0 times as long as usual"
    assert {finding.id: finding.title for finding in worse.findings}["slow-steps"] == (
        "the versions do not have equally many slow steps"
    )


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"recorded_at": "2026-01-01T00:00:00+00:00"}, 1_767_225_600 * 10**9),
        ({"recorded_at": "2026-01-01T00:00:00"}, 1_767_225_600 * 10**9),
        ({"chrome.baseTimeNanoseconds": "1767225600000000000"}, 1_767_225_600 * 10**9 + 10),
        ({"recorded_at": "yesterday"}, None),
        ({"chrome.baseTimeNanoseconds": "-5"}, None),
        ({}, None),
    ],
)
def test_when_a_trace_was_recorded(metadata: dict[str, str], expected: int | None) -> None:
    maker = a_trace().with_kernel("gemm", 10, 20)
    for tag, value in metadata.items():
        maker.with_metadata(tag, value)

    assert run_values(maker.build(), RunOptions()).recorded_at_ns == expected
