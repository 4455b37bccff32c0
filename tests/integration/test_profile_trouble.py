"""`wavescope counters collect` with a rocprofv3 that hangs, and on a program that runs already."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.integration.test_profile_command import Profiler, Ran
from tests.processes import wait_until_killed
from tests.softgpu_programs import require_softgpu

LIMIT = ("--limit", "20")
"""Seconds that a stand-in which hangs needs to have written what it has, on a loaded machine."""


@pytest.fixture(autouse=True, scope="module")
def _software_gpu() -> None:
    require_softgpu()


@pytest.fixture
def profiler(tmp_path: Path, shared_data: Path) -> Profiler:
    return Profiler(tmp_path, shared_data / "compute-workloads" / "MI200" / "vcopy")


def words(done: Ran) -> str:
    return " ".join((done.stdout + done.stderr).split())


def test_a_pass_that_hangs_is_ended_and_what_it_counted_is_kept(profiler: Profiler) -> None:
    pids = profiler.folder / "pids"
    hangs = {"STANDIN_HANGS": "pmc_perf_0", "STANDIN_PIDS": str(pids)}

    done = profiler.run("-n", "x", "-b", "12", *LIMIT, **hangs)

    assert done.returncode == 1
    assert "partial: stopped, as it did not end within 20.00 s" in words(done)
    folder = profiler.folder / "workloads" / "x" / "MI200"
    assert "Kernel_Name" in (folder / "pmc_perf_0.csv").read_text()
    for pid in pids.read_text().split():
        wait_until_killed(int(pid))
    again = profiler.passes("-n", "x", "-b", "12")
    assert {name: each["outcome"] for name, each in again.items()} == {"pmc_perf_0": "ok"}


def test_a_pass_that_hangs_with_nothing_says_so_and_the_others_go_on(profiler: Profiler) -> None:
    pids = profiler.folder / "pids"
    hangs = {"STANDIN_HANGS_EMPTY": "pmc_perf_0", "STANDIN_PIDS": str(pids)}

    passes = profiler.passes("-n", "x", "-b", "12", "7", *LIMIT, **hangs)

    outcomes = {name: each["outcome"] for name, each in passes.items()}
    assert outcomes.pop("pmc_perf_0").startswith("failed: rocprofv3 was stopped, as it did not end")
    assert set(outcomes.values()) == {"ok"}


def attach(profiler: Profiler, *options: str, **environment: str) -> Ran:
    """`wavescope profile --attach-pid` of a process that runs meanwhile."""
    target = subprocess.Popen(["sleep", "infinity"], env={**os.environ, **environment})
    try:
        command = profiler.command("--attach-pid", str(target.pid), *options)
        return profiler.run_command(command, **environment)
    finally:
        target.kill()
        target.wait()


def test_a_running_program_is_counted_in_one_pass(profiler: Profiler) -> None:
    asked = ("-n", "live", "--set", "launch_stats", "--attach-duration-msec", "500", "--json", "-q")
    done = attach(profiler, *asked, ROCP_TOOL_ATTACH="1")

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    (row,) = json.loads(done.stdout)["tables"][0]["rows"]
    assert row[-1] == "ok"
    log = (profiler.folder / "workloads" / "live" / "MI200" / "log.txt").read_text()
    assert "--attach-pid" in log


def test_a_program_that_may_refuse_is_warned_of(profiler: Profiler) -> None:
    done = attach(profiler, "-n", "live", "--set", "launch_stats", "--attach-duration-msec", "500")

    assert "ROCP_TOOL_ATTACH=1" in done.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--iteration-multiplexing",), "--iteration-multiplexing cannot be used together"),
        (("--torch-trace",), "--torch-trace cannot be used together"),
        (("-b", "2", "17", "18"), "passes, and a running program can be attached to for one only"),
        (("--", "./app"), "a program to run cannot be used together"),
    ],
)
def test_what_cannot_be_attached_for_is_refused(
    profiler: Profiler, options: tuple[str, ...], told: str
) -> None:
    done = attach(profiler, "-n", "live", *options)

    assert done.returncode == 2
    assert told in words(done)
    assert "hint" in done.stderr


def test_a_process_that_is_not_there_is_refused(profiler: Profiler) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    done = profiler.run_command(profiler.command("-n", "x", "--attach-pid", str(gone.pid)))

    assert done.returncode == 2
    assert f"there is no process {gone.pid}" in done.stderr


def test_a_rocprofv3_that_cannot_attach_is_too_old(profiler: Profiler) -> None:
    done = attach(profiler, "-n", "live", "--set", "launch_stats", STANDIN_NO_ATTACH="1")

    assert done.returncode == 4
    assert "too old: it has no --pid" in done.stderr
    assert "ROCm 7.1" in done.stderr


@pytest.mark.parametrize(
    ("options", "folder"),
    [
        (("-n", "x", "--path", "there"), "there"),
        (("-n", "x", "-p", "there", "--subpath", "gpu_model"), "there/MI200"),
        (("-n", "x", "--subpath", "gpu_model"), "workloads/x/MI200"),
    ],
)
def test_older_words_for_the_folder_are_taken_with_a_warning(
    profiler: Profiler, options: tuple[str, ...], folder: str
) -> None:
    done = profiler.run(*options, "--set", "launch_stats")

    assert done.returncode == 0, done.stderr
    assert (profiler.folder / folder / "pmc_perf.csv").is_file()
    assert "deprecated, write --output-directory" in done.stderr


def test_two_folders_are_refused(profiler: Profiler) -> None:
    done = profiler.run("--path", "a", "--output-directory", "b")

    assert done.returncode == 2
    assert "--path and --output-directory cannot be used together" in done.stderr
