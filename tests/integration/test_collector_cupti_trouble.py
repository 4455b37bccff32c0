"""CUPTI that fails, loses records or tells odd things: the program runs on, and the trace says what is missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.played_cuda import LACKING, PlayedCuda
from tests.played_runs import (
    PlayedRun,
    coverage_of,
    kernel_differences,
    run_collected,
    run_traced,
    traced_kernels,
)
from tests.recorded import collector
from wavescope.model.trace import Trace

STEPS = 30
KERNELS = 4 * STEPS


def recorded(played: PlayedCuda, folder: Path, settings: str, **variables: str) -> PlayedRun:
    """`STEPS` steps, of which the program noticed nothing, and CUPTI was used as is allowed."""
    run = run_collected(played, folder, "steps", STEPS, settings=settings, **variables)
    assert (run.code, run.out, run.err) == (3, "done steps\n", "")
    assert run.complaints == ""
    assert len(run.kernels) == KERNELS
    return run


def notes_of(trace: Trace) -> str:
    return "\n".join(text for text, _ in trace.notes)


@pytest.mark.parametrize(
    "settings",
    [
        "late_ms=40",  # records come long after their kernels
        "unknown_every=3",  # kinds of records that nobody has heard of
        "longer=64",  # a later version's records
        "complete_on_caller=1",  # buffers come on the thread that flushes
        "request_on_launcher=1",  # buffers are asked for inside of launches
        "flush_takes_ms=30",
    ],
)
def test_nothing_is_lost_of_what_comes_in_odd_ways(
    played: PlayedCuda, tmp_path: Path, settings: str
) -> None:
    run = recorded(played, tmp_path, settings)

    with run.trace() as trace:
        assert kernel_differences(run.kernels, traced_kernels(trace)) == []
        assert coverage_of(trace) == {
            "seen": KERNELS, "timed": KERNELS, "skipped": {}, "lost": {},
        }  # fmt: skip


def test_dropped_records_are_counted(played: PlayedCuda, tmp_path: Path) -> None:
    run = recorded(played, tmp_path, "drop_every=7")

    with run.trace() as trace:
        dropped = KERNELS // 7
        assert len(traced_kernels(trace)) == KERNELS - dropped
        coverage = coverage_of(trace)
        assert (coverage["seen"], coverage["timed"]) == (KERNELS, KERNELS - dropped)
        assert coverage["lost"] == {"lost because the buffers were full": dropped}
        assert f"records that CUPTI dropped: it had no buffer for them: {dropped}" in (
            trace.notes.sentences()
        )


@pytest.mark.parametrize("settings", ["zero_every=5", "inverted_every=5"])
def test_times_that_cannot_be_are_lost_and_counted(
    played: PlayedCuda, tmp_path: Path, settings: str
) -> None:
    run = recorded(played, tmp_path, settings)

    with run.trace() as trace:
        coverage = coverage_of(trace)
        assert coverage["seen"] == KERNELS
        assert coverage["timed"] == KERNELS - KERNELS // 5
        assert coverage["lost"] == {"for which the GPU left no times": KERNELS // 5}


@pytest.mark.parametrize(
    ("settings", "version", "reason"),
    [
        ("refuse_subscribe=39", "13", "another tool"),
        ("refuse_subscribe=15", "13", "NOT_INITIALIZED"),
        ("version=17", "13", "it is older than CUDA 12.0"),
        ("fail_enable=10", "13", "only administrators"),
        ("", LACKING, "cuptiActivityGetNextRecord"),
    ],
)
def test_what_keeps_from_recording_is_said_and_the_program_runs_on(
    played: PlayedCuda, tmp_path: Path, settings: str, version: str, reason: str
) -> None:
    # Loaded already, so that no other CUPTI of this machine is tried.
    loaded = f"{collector()}:{played.libraries(version)}/libcupti.so.13"
    run = run_collected(
        played, tmp_path, "steps", STEPS, version=version, settings=settings, LD_PRELOAD=loaded
    )

    assert (run.code, run.out, run.err) == (3, "done steps\n", "")
    assert run.complaints == ""
    with run.trace() as trace:
        assert traced_kernels(trace) == []
        assert reason in notes_of(trace)
        assert trace.markers.strings("name") == ["step"] * STEPS


def test_without_cupti_markers_are_left_and_a_note(played: PlayedCuda, tmp_path: Path) -> None:
    """Where the machine has another one for real GPUs, that one does not know played ones."""
    bare = tmp_path / "bare"
    shutil.copytree(played.libraries(), bare, ignore=shutil.ignore_patterns("libcupti*"))
    run = run_collected(
        played, tmp_path, "steps", 2, program=bare / "cuda_program", LD_LIBRARY_PATH=str(bare)
    )

    assert (run.code, run.out, run.err) == (3, "done steps\n", "")
    with run.trace() as trace:
        assert traced_kernels(trace) == []
        assert notes_of(trace).startswith("GPU work not recorded, because ")
        assert trace.markers.strings("name") == ["step"] * 2


def test_a_driver_that_is_gone_before_the_exit_handlers_does_no_harm(
    played: PlayedCuda, tmp_path: Path
) -> None:
    run = recorded(played, tmp_path, "torn_down=1")

    with run.trace() as trace:
        coverage = coverage_of(trace)
        assert coverage["seen"] == KERNELS
        timed = len(traced_kernels(trace))
        assert coverage["timed"] == timed
        assert sum(coverage["lost"].values()) == KERNELS - timed


def test_the_whole_command_tells_of_lost_kernels(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_traced(played, tmp_path, "steps", STEPS, settings="drop_every=4")

    assert (run.code, run.out) == (3, "done steps\n")
    assert f"{KERNELS // 4}" in run.err
    assert "lost" in run.err


def test_another_tools_subscription_is_told_by_the_whole_command(
    played: PlayedCuda, tmp_path: Path
) -> None:
    run = run_traced(played, tmp_path, "steps", 5, settings="refuse_subscribe=39")

    assert (run.code, run.out) == (3, "done steps\n")
    assert "another tool" in run.err
