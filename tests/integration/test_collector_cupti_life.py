"""CUDA programs that pause, fork, become others, are killed, or have a profiler of their own."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.played_cuda import PlayedCuda
from tests.played_runs import (
    PlayedRun,
    assert_whole,
    collected_environment,
    coverage_of,
    kernel_differences,
    run_collected,
    run_traced,
    traced_kernels,
)
from tests.recorded import PATIENCE_S
from wavescope.formats import open_trace


def is_whole(run: PlayedRun) -> None:
    with run.trace() as trace:
        assert_whole(run, trace)


@pytest.mark.parametrize(
    ("way", "code", "out"),
    [
        ("fork", 3, "child 7\ndone fork\n"),
        ("spawn", 3, "done steps\nchild 3\ndone spawn\n"),
        ("fork_late", 3, "child 5\ndone fork_late\n"),
        ("at_once", 9, "at once\n"),
    ],
)
def test_every_process_is_whole(
    played: PlayedCuda, tmp_path: Path, way: str, code: int, out: str
) -> None:
    run = run_collected(played, tmp_path, way, 10)

    assert (run.code, run.out, run.err) == (code, out, "")
    is_whole(run)


def test_a_program_that_becomes_another_is_recorded_as_both(
    played: PlayedCuda, tmp_path: Path
) -> None:
    """What the first had not been given yet when it ended is said to be lost, as after a kill."""
    run = run_collected(played, tmp_path, "exec", 10)

    assert (run.code, run.out, run.err, run.complaints) == (3, "done steps\n", "", "")
    with run.trace() as trace:
        kernels = traced_kernels(trace)
        last = max(row["process"] for row in kernels)
        assert (
            kernel_differences(run.kernels[40:], [row for row in kernels if row["process"] == last])
            == []
        )
        coverage = coverage_of(trace)
        assert (coverage["seen"], coverage["timed"]) == (80, len(kernels))
        assert sum(coverage["lost"].values()) == 80 - len(kernels)


def test_a_tree_of_processes_is_one_trace(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_traced(played, tmp_path, "spawn", 10, options=["-q"])

    assert (run.code, run.out, run.err) == (3, "done steps\nchild 3\ndone spawn\n", "")
    is_whole(run)
    with run.trace() as trace:
        assert len(trace.processes) == 2
        assert len(trace.agents) == 1


def test_what_was_delivered_survives_a_kill(played: PlayedCuda, tmp_path: Path) -> None:
    environment = collected_environment(
        played, tmp_path, "standard", "13", "", WAVESCOPE_FLUSH_MS="20"
    )
    with subprocess.Popen(
        [str(played.program()), "wait", "25"], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        deadline_s = time.monotonic() + PATIENCE_S
        while recorded_kernels(tmp_path / "session") < 100 and time.monotonic() < deadline_s:
            time.sleep(0.02)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    run = PlayedRun(-signal.SIGKILL, "", "", tmp_path)
    with run.trace() as trace:
        cut_off = f"the recording of process {process.pid} was cut off"
        assert_whole(run, trace, expected_notes=[cut_off])


def recorded_kernels(session: Path) -> int:
    with open_trace(session) as trace:
        return int((trace.op_kind == 0).sum())


def test_what_is_missing_after_an_early_kill_is_said(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_collected(played, tmp_path, "kill", 20, WAVESCOPE_FLUSH_MS="60000")

    assert run.code == -signal.SIGKILL
    with run.trace() as trace:
        coverage = coverage_of(trace)
        assert coverage["seen"] == 80
        assert coverage["timed"] == len(traced_kernels(trace))
        assert coverage["timed"] + sum(coverage["lost"].values()) == 80


@pytest.mark.parametrize("version", ["12", "13"])
def test_kernels_of_a_pause_are_skipped_and_counted(
    played: PlayedCuda, tmp_path: Path, version: str
) -> None:
    run = run_collected(played, tmp_path, "pause", 10, version=version)

    assert (run.code, run.out, run.err) == (3, "done pause\n", "")
    assert run.complaints == ""
    wanted = run.kernels[:40] + run.kernels[80:]
    with run.trace() as trace:
        assert kernel_differences(wanted, traced_kernels(trace)) == []
        assert coverage_of(trace)["timed"] == 80
        assert coverage_of(trace)["lost"] == {}


@pytest.mark.parametrize("version", ["12", "13"])
@pytest.mark.parametrize("mode", ["standard", "full", "hip"])
def test_graphs_go_on_over_a_pause(
    played: PlayedCuda, tmp_path: Path, mode: str, version: str
) -> None:
    run = run_collected(played, tmp_path, "pause_graph", 10, mode=mode, version=version)

    assert (run.code, run.out, run.err, run.complaints) == (3, "done pause_graph\n", "", "")
    third = len(run.kernels) // 3
    wanted = run.kernels[:third] + run.kernels[2 * third :]
    with run.trace() as trace:
        assert kernel_differences(wanted, traced_kernels(trace)) == []
        coverage = coverage_of(trace)
        assert coverage["timed"] == 2 * third > 0
        assert sum(coverage["skipped"].values()) == third
        assert coverage["lost"] == {}


def test_recording_can_start_paused(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_traced(played, tmp_path, "pause", 10, options=["-q", "--start-paused"])

    assert (run.code, run.out, run.err) == (3, "done pause\n", "")
    assert run.complaints == ""
    with run.trace() as trace:
        assert kernel_differences(run.kernels[80:], traced_kernels(trace)) == []


@pytest.mark.parametrize(("how", "taken_back"), [("leaves", True), ("stays", False)])
def test_a_programs_own_profiler_works_as_without_wavescope(
    played: PlayedCuda, tmp_path: Path, how: str, taken_back: bool
) -> None:
    run = run_collected(played, tmp_path, how, 10, program=played.program_with_tool())

    calls = 10 * 5 + 2  # launches and fills, and two synchronizations
    assert run.out == f"refused 0 kernels 40 calls {calls} callbacks yes\n"
    assert (run.code, run.err, run.complaints) == (4, "", "")
    wanted = run.kernels[:40] + (run.kernels[80:] if taken_back else [])
    with run.trace() as trace:
        assert kernel_differences(wanted, traced_kernels(trace)) == []
        told = [text.partition(" from ")[0] for text in trace.notes.sentences()]
        assert told[0] == "GPU work not recorded"
        assert told[1:] == (["GPU work recorded again"] if taken_back else [])
        assert "a profiler of the program took CUPTI" in trace.notes.sentences()[0]
        assert coverage_of(trace) == {
            "seen": len(wanted), "timed": len(wanted), "skipped": {}, "lost": {},
        }  # fmt: skip


def test_a_programs_own_profiler_gets_kernels_beside_runs_of_graphs(
    played: PlayedCuda, tmp_path: Path
) -> None:
    """The collector has runs of whole graphs on, which it can turn off: the program has no graph."""
    run = run_collected(
        played, tmp_path, "leaves", 10, mode="lite", program=played.program_with_tool(),
        WAVESCOPE_SLICE_MS="0",
    )  # fmt: skip

    assert run.out.startswith("refused 0 kernels 40 ")
    assert (run.code, run.err, run.complaints) == (4, "", "")
    with run.trace() as trace:
        assert kernel_differences(run.kernels[:40] + run.kernels[80:], traced_kernels(trace)) == []
        assert trace.notes.sentences()[1].startswith("runs of whole graphs not recorded after")
