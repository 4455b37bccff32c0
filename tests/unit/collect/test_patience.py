"""When a program that does not end is given up."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.processes import wait_until_killed
from wavescope.collect import launcher
from wavescope.collect.launcher import launch
from wavescope.collect.patience import Patience, Watch, cpu_ticks, patience_for


class Clock:
    now_s = 0.0
    ticks = 7

    def watch(self, patience: Patience) -> Watch:
        return Watch(patience, lambda: self.ticks, lambda: self.now_s)


def test_a_limit_is_a_limit_however_busy_the_program_is() -> None:
    clock = Clock()
    watch = clock.watch(Patience(limit_s=30))

    verdicts = []
    for clock.now_s in (0.0, 29.9, 30.0):
        clock.ticks += 1
        verdicts.append(watch.verdict())

    assert verdicts == ["", "", "it did not end within 30.00 s"]


def test_a_program_of_which_nothing_moves_is_given_up() -> None:
    clock = Clock()
    watch = clock.watch(Patience(standstill_s=300))

    assert watch.verdict() == ""
    clock.now_s = 299
    assert watch.verdict() == ""
    clock.ticks += 1
    assert watch.verdict() == ""
    clock.now_s = 598
    assert watch.verdict() == ""
    clock.now_s = 600
    assert watch.verdict() == "nothing of it has moved for 301.0 s"


def test_nobody_has_to_be_impatient() -> None:
    clock = Clock()
    watch = clock.watch(Patience(standstill_s=0))
    clock.now_s = 1e9

    assert watch.verdict() == ""


@pytest.mark.parametrize(
    ("limit_s", "longest_s", "expected_s"), [(0, 0, 0), (5, 1000, 5), (0, 2, 60), (0, 30, 300)]
)
def test_later_passes_may_take_many_times_as_long_as_earlier_ones(
    limit_s: float, longest_s: float, expected_s: float
) -> None:
    assert patience_for(limit_s, longest_s).limit_s == expected_s


def test_ticks_of_a_process_that_is_gone_are_none() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()

    assert cpu_ticks(ended.pid) == 0
    assert cpu_ticks(os.getpid()) > 0


def test_a_program_given_up_is_killed_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "GRACE_S", 0.0)
    script = "trap '' TERM; sleep infinity & echo $! > child; while :; do sleep 0.01; done"
    child = tmp_path / "child"

    class OnceTheChildIsThere(Watch):
        def verdict(self) -> str:
            is_written = child.exists() and child.read_text().endswith("\n")
            return "it was told to" if is_written else ""

    monkeypatch.setattr(launcher, "Watch", OnceTheChildIsThere)
    monkeypatch.chdir(tmp_path)

    end = launch(["sh", "-c", script], os.environ, patience=Patience())

    assert end.given_up == "it was told to"
    assert end.exit_code == 137
    wait_until_killed(int(child.read_text()))


def test_a_program_that_ends_is_not_given_up() -> None:
    end = launch(["sh", "-c", "exit 3"], os.environ, patience=Patience(limit_s=1e6))

    assert (end.exit_code, end.given_up) == (3, "")
