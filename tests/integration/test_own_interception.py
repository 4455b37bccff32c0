"""Recording by a ring of the collector's own: what is executed is recorded, and programs do as alone.

`make test-runtimes INTERCEPTION=own` runs every test of recording this way; here are those that are
about it, on each runtime.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import wavescope
from tests.executed import (
    assert_recorded_is_executed,
    assert_recorded_was_executed,
    built,
    dispatch_coverage,
    dispatches_by_queue,
    kill_when_running,
    run_on_gpu,
)
from tests.recorded import PATIENCE_S
from wavescope.formats import open_trace

pytestmark = pytest.mark.recording

OWN = {"WAVESCOPE_INTERCEPTION": "own"}
DISPATCHES = 200


@pytest.mark.parametrize("mode", ["standard", "full"])
@pytest.mark.parametrize("signals", ["none", "each", "barrier"])
def test_every_dispatch_is_recorded_as_it_ran(
    signals: str, mode: str, programs: Path, tmp_path: Path
) -> None:
    load = built("hsa_load.c", programs)

    run = run_on_gpu(
        load, 2, 4, 600, signals, "shutdown", folder=tmp_path, gpus=2, mode=mode, **OWN
    )

    assert run.errors == ""
    assert run.process.facts("runtime")[-1]["interception"] == "own"
    assert_recorded_is_executed(run)
    coverage = dispatch_coverage(run.process)
    assert (coverage["seen"], coverage["timed"]) == (600 * 4, 600 * 4)
    assert (coverage["skipped"], coverage["lost"]) == ({}, {})


def test_a_signal_that_several_dispatches_count_down_is_left_alone(
    programs: Path, tmp_path: Path
) -> None:
    """No packet can be put behind them that would complete it, so they go untimed, and it is told."""
    load = built("hsa_load.c", programs)

    run = run_on_gpu(load, 1, 1, 600, "shared", "exit", folder=tmp_path, **OWN)

    assert (run.code, run.errors) == (0, "")
    coverage = dispatch_coverage(run.process)
    timed = coverage["timed"]
    # The last one of each of three rounds has the signal to itself where all before it were complete.
    assert timed == len(run.process.ops()) <= 3
    assert (coverage["seen"], coverage["skipped"], coverage["lost"]) == (
        600,
        {"app_signal": 600 - timed},
        {},
    )
    assert_recorded_was_executed(run)
    with open_trace(run.session) as trace:
        (reason,) = set(trace.coverage.strings("reason"))
    assert reason == (
        "with a signal that several dispatches count down, in a batch or with --interception own"
    )


@pytest.mark.parametrize("way", ["doorbell", "empty", "ahead", "refused", "again"])
def test_programs_with_ways_of_their_own_do_as_alone(
    way: str, programs: Path, tmp_path: Path
) -> None:
    program = built("hsa_unusual.c", programs)
    (tmp_path / "alone").mkdir()

    alone = run_on_gpu(program, way, folder=tmp_path / "alone", mode=None)
    run = run_on_gpu(program, way, folder=tmp_path, **OWN)

    expected = 2 * DISPATCHES if way == "again" else DISPATCHES
    assert alone.output == f"{expected} completed, {int(way == 'refused')} refused\n"
    assert (run.code, run.output, run.errors) == (alone.code, alone.output, alone.errors)
    assert dispatch_coverage(run.process)["timed"] == expected
    notes = [fact["text"] for fact in run.process.facts("note")]
    assert any("passed on late" in note for note in notes) == (way == "doorbell")


@pytest.mark.parametrize("kind", ["none", "each", "threads", "once"])
@pytest.mark.parametrize("recording", ["on", "paused"])
def test_a_queue_that_is_full_waits_as_alone(
    recording: str, kind: str, programs: Path, tmp_path: Path
) -> None:
    slow = {"WAVESCOPE_SOFTGPU_KERNEL_NS": "200000", "WAVESCOPE_START_PAUSED": "1"}
    if recording == "on":
        del slow["WAVESCOPE_START_PAUSED"]

    run = run_on_gpu(built("hsa_flood.c", programs), 64, 512, kind, folder=tmp_path, **slow, **OWN)

    assert (run.code, run.output, run.errors) == (0, "512\n", "")
    coverage = dispatch_coverage(run.process)
    assert coverage["seen"] == 512
    assert coverage["timed"] == (512 if recording == "on" else 0)


def test_a_kill_loses_nothing_that_was_completed(programs: Path, tmp_path: Path) -> None:
    load = built("hsa_load.c", programs)

    load_endlessly = (load, 1, 2, 500, "none", "endless")
    run = kill_when_running(
        *load_endlessly, folder=tmp_path, seconds=0.3, after_first_op=True, **OWN
    )

    with open_trace(run.session) as trace:
        recorded = len(trace.ops)
    (executed,) = dispatches_by_queue(run.truth()).values()
    # The last one may have been executed and not yet completed.
    assert 0 < len(executed) - 1 <= recorded
    run.process.forget_shared_memory()


def test_a_cooperative_queue_stays_the_runtimes(programs: Path, tmp_path: Path) -> None:
    program = built("hsa_cooperative.c", programs)
    (tmp_path / "usual").mkdir()

    usual = run_on_gpu(program, "beside", 200, folder=tmp_path / "usual")
    run = run_on_gpu(program, "beside", 200, folder=tmp_path, **OWN)

    assert (run.code, run.output) == (usual.code, usual.output)
    assert dispatch_coverage(run.process) == dispatch_coverage(usual.process)
    assert dispatch_coverage(run.process)["timed"] == 400


def test_rings_in_the_gpus_memory_are_left_to_the_runtime(programs: Path, tmp_path: Path) -> None:
    load = built("hsa_load.c", programs)
    setting = {"HSA_ALLOCATE_QUEUE_DEV_MEM": "1", **OWN}

    run = run_on_gpu(load, 1, 1, 100, "none", "exit", folder=tmp_path, **setting)

    assert run.process.facts("runtime")[-1]["interception"] == "runtime"
    assert dispatch_coverage(run.process)["timed"] == 100
    (note,) = [fact["text"] for fact in run.process.facts("note")]
    assert "HSA_ALLOCATE_QUEUE_DEV_MEM" in note


def test_the_option_and_the_trace_say_it(programs: Path, tmp_path: Path) -> None:
    load = built("hsa_load.c", programs)
    trace = tmp_path / "trace.db"
    command = [str(load), "1", "1", "50", "none", "exit"]
    wavescope_trace = [
        sys.executable,
        "-m",
        "wavescope",
        "trace",
        "-q",
        "--force",
        "-o",
        str(trace),
    ]
    for interception in wavescope.Interception:
        done = subprocess.run(
            [*wavescope_trace, "--softgpu", "--interception", interception.value, "--", *command],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

        assert done.returncode == 0, done.stderr
        with open_trace(trace) as opened:
            assert len(opened.ops) == 50
            assert opened.metadata["runtime hsa: interception"] == interception.value


def test_python_can_ask_for_it(programs: Path, tmp_path: Path) -> None:
    load = built("hsa_load.c", programs)
    options = wavescope.RecordOptions(
        (str(load), "1", "1", "50", "none", "exit"),
        tmp_path / "trace.db",
        softgpu="",
        interception=wavescope.Interception.OWN,
    )

    recording = wavescope.record(options)

    assert recording.output is not None
    with open_trace(recording.output) as trace:
        assert len(trace.ops) == 50
