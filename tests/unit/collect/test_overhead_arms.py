"""Running a program in turns: the order, what is read of its output, and what goes wrong."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.recorded import collector
from wavescope.collect import OverheadOptions
from wavescope.collect.overhead import measured_arms
from wavescope.collect.overhead.arms import arm_schedule, compiled_metric, value_in
from wavescope.collect.record_options import RecordMode
from wavescope.errors import UsageError, WavescopeError
from wavescope.model.overhead_runs import ArmRun, MetricKind, OverheadRuns, TraceFacts

WALL = MetricKind("wall", "ns", higher_is_better=False)
RATE = MetricKind(r"rate ([\d.,]+)", "tok/s", higher_is_better=True)


def options(*command: str, metric: MetricKind = WALL, **values: object) -> OverheadOptions:
    modes = (RecordMode.LITE, RecordMode.FULL)
    return OverheadOptions(command, modes, metric, **values)  # type: ignore[arg-type]


def measured(asked: OverheadOptions) -> tuple[OverheadRuns, list[tuple[ArmRun, int, int]]]:
    told: list[tuple[ArmRun, int, int]] = []
    runs = measured_arms(
        asked, os.environ, lambda path: TraceFacts(op_count=1), lambda *row: told.append(row)
    )
    return runs, told


def test_every_round_runs_every_arm_once_in_an_order_of_its_own() -> None:
    schedule = arm_schedule(options("x", rounds=30))

    for number in range(1, 31):
        arms = [arm for place, arm in schedule if place == number]
        assert sorted(arms) == ["baseline", "full", "lite"]
    firsts = Counter(arm for index, (_, arm) in enumerate(schedule) if index % 3 == 0)
    assert min(firsts.values()) >= 4, "no arm is always first"
    assert schedule == arm_schedule(options("x", rounds=30))
    assert schedule != arm_schedule(options("x", rounds=30, seed=1))


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("rate 97.3 tok/s", 97.3),
        ("rate 1.0\nrate 2,285.9 tok/s\n", 2285.9),
        ("rate 12", 12.0),
        ("nothing", None),
        ("rate ,", None),
        ("rate 0", None),
    ],
)
def test_the_last_number_that_matches_counts(output: str, expected: float | None) -> None:
    assert value_in(output, re.compile(RATE.name)) == expected


def test_a_group_that_took_no_part_is_no_value() -> None:
    assert value_in("b", re.compile(r"(\d+)|b")) is None
    assert value_in("took 1.5e3", re.compile(r"took (\S+)")) == 1500.0


def test_an_expression_needs_a_group() -> None:
    assert compiled_metric(WALL) is None
    with pytest.raises(UsageError, match="which part"):
        compiled_metric(MetricKind("rate", "", higher_is_better=True))
    with pytest.raises(UsageError, match="not a regular expression"):
        compiled_metric(MetricKind("rate (", "", higher_is_better=True))


class TestRuns:
    """With the real collector, and a program that uses no GPU."""

    @pytest.fixture(autouse=True)
    def _own_folders(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        collector()
        runtime = tmp_path / "runtime"
        runtime.mkdir()
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.setattr("tempfile.tempdir", None)
        monkeypatch.chdir(tmp_path)

    def test_all_arms_run_and_the_metric_is_read(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        script = (
            "import os; open('ran','a').write(os.environ.get('WAVESCOPE_MODE','-')+' ');"
            "print('rate', 40 + 2)"
        )

        runs, told = measured(
            options(sys.executable, "-c", script, metric=RATE, rounds=2, warm_ups=1)
        )

        assert Counter((run.arm, run.value) for run in runs.runs) == {
            ("baseline", 42.0): 2,
            ("lite", 42.0): 2,
            ("full", 42.0): 2,
        }
        assert Counter(Path("ran").read_text().split()) == {"-": 3, "lite": 2, "full": 2}
        assert [run for run, _, _ in told] == list(runs.runs)
        assert [(done, total) for _, done, total in told] == [(n, 6) for n in range(1, 7)]
        assert all(run.wall_ns > 0 and run.cpu_ns > 0 for run in runs.runs)
        assert capfd.readouterr().out == "", "the program's output is not ours"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["ran", "runtime"]

    @pytest.mark.parametrize("name", ["wall", "cpu"])
    def test_times_are_measured_from_outside(self, name: str) -> None:
        metric = MetricKind(name, "ns", higher_is_better=False)

        runs, _ = measured(options("true", metric=metric, rounds=1, warm_ups=0))

        assert runs.metric.is_time
        assert all(run.value == getattr(run, f"{name}_ns") for run in runs.runs)

    def test_a_program_that_fails_is_named_with_its_last_words(self) -> None:
        script = "import sys; print('out of luck', file=sys.stderr); sys.exit(3)"

        with pytest.raises(WavescopeError, match="exit code 3") as caught:
            measured(options(sys.executable, "-c", script, rounds=1))

        assert "alone" in str(caught.value)
        assert "out of luck" in caught.value.hint

    def test_a_program_that_prints_no_metric(self) -> None:
        with pytest.raises(WavescopeError, match="no number") as caught:
            measured(options("echo", "hello", metric=RATE, rounds=1))

        assert "hello" in caught.value.hint

    def test_a_program_that_does_not_exist(self) -> None:
        with pytest.raises(UsageError, match="no program"):
            measured(options("no-such-program", rounds=1))
