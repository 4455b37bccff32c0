"""Commands around recordings, on played NVIDIA GPUs: they need nothing of ROCm."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.played_cuda import PlayedCuda
from tests.played_runs import WAVESCOPE, coverage_of, played_environment, run_traced
from tests.recorded import PATIENCE_S
from wavescope.formats import open_trace

LONG_MS = 1_000_000
"""Longer than any test waits; the program is ended when it is no longer needed."""


def wavescope(environment: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*WAVESCOPE, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@contextmanager
def running(environment: dict[str, str], *arguments: object) -> Iterator[int]:
    """The process id of a command of wavescope's that runs meanwhile."""
    command = [*WAVESCOPE, *map(str, arguments)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process.pid
        finally:
            process.terminate()


def until_there_are_ops(environment: dict[str, str], *arguments: object) -> dict[str, Any]:
    """The facts that a command prints once the program uses its GPU; it is run until then."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        done = wavescope(environment, *arguments, "--force", "--json")
        facts: dict[str, Any] = {} if done.returncode else json.loads(done.stdout)["facts"]
        if facts.get("op_count"):
            return facts
        time.sleep(0.05)
    return pytest.fail(f"no op was recorded: {done.stderr}")


def test_a_dormant_program_is_recorded_only_while_somebody_is_attached(
    played: PlayedCuda, tmp_path: Path
) -> None:
    environment = played_environment(played, tmp_path, "13", "")
    traces = [tmp_path / "first.db", tmp_path / "second.db"]

    with running(environment, "run", "--dormant", played.program(), "for", LONG_MS) as pid:
        facts = []
        for trace in traces:
            attach = ("attach", pid, "--duration", "300ms", "-o", trace)
            facts.append(until_there_are_ops(environment, *attach))

    for path, told in zip(traces, facts, strict=True):
        with open_trace(path) as trace:
            starts = trace.ops["start_ns"]
            assert told["window_start_ns"] <= starts.min()
            assert starts.max() < told["window_end_ns"]
            coverage = coverage_of(trace)
            not_timed = {**coverage["skipped"], **coverage["lost"]}
            assert coverage["seen"] == coverage["timed"] + sum(not_timed.values())
            assert 0 < (trace.op_kind == 0).sum() <= coverage["timed"]
    assert facts[0]["window_end_ns"] < facts[1]["window_start_ns"]


def test_a_dormant_program_begins_paused_and_knows_how_it_will_be_recorded(
    played: PlayedCuda, tmp_path: Path
) -> None:
    environment = played_environment(played, tmp_path, "13", "")
    names = ("START_PAUSED", "MODE", "SLICE_MS", "FLUSH_MS")
    script = "echo " + " ".join(f"$WAVESCOPE_{name}" for name in names)
    flags = ("--dormant", "-q", "--mode", "lite", "--slices", "off", "--flush-period", "50ms")

    done = wavescope(environment, "run", *flags, "--", "sh", "-c", script)

    assert done.stdout == "1 lite 0 50\n"


def test_a_recording_that_stays_paused_counts_nothing(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_traced(played, tmp_path, "steps", 5, options=["--start-paused"])

    assert len(run.kernels) == 20
    with run.trace() as trace:
        assert len(trace.ops) == 0
        assert coverage_of(trace) == {"seen": 0, "timed": 0, "skipped": {}, "lost": {}}


def test_a_snapshot_of_a_recording_that_goes_on(played: PlayedCuda, tmp_path: Path) -> None:
    environment = played_environment(played, tmp_path, "13", "")
    output = tmp_path / "now.db"
    record = ("trace", "--flush-period", "20ms", "-o", tmp_path / "trace.db")

    with running(environment, *record, played.program(), "for", LONG_MS) as pid:
        facts = until_there_are_ops(environment, "snapshot", pid, "-o", output)

    with open_trace(output) as trace:
        assert len(trace.ops) == facts["op_count"]


def test_a_session_that_was_left_is_recovered_whole(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_traced(played, tmp_path, "steps", 5, options=["--keep-chunks"])
    (session,) = tmp_path.glob("trace.db.session-*")

    done = wavescope({}, "recover", session, "-o", tmp_path / "recovered.db")

    assert done.returncode == 0, done.stderr
    with run.trace() as trace, open_trace(tmp_path / "recovered.db") as recovered:
        assert (trace.op_kind == 0).sum() == len(run.kernels) == 20
        assert recovered.ops["start_ns"].tolist() == trace.ops["start_ns"].tolist()


def test_another_tool_keeps_the_gpu_unless_it_is_turned_off(
    played: PlayedCuda, tmp_path: Path
) -> None:
    environment = played_environment(played, tmp_path, "13", "")
    environment["CUDA_INJECTION64_PATH"] = "/nowhere/libtool.so"
    command = ("trace", "-q", "--force", "-o", tmp_path / "trace.db")
    program = ("--", played.program(), "steps", 5)

    kept = wavescope(environment, *command, *program)
    with open_trace(tmp_path / "trace.db") as trace:
        kept_ops = len(trace.ops)
    off = wavescope(environment, *command, "--other-tools", "off", *program)

    assert "note: another tool is set up for CUDA (CUDA_INJECTION64_PATH=/nowhere/" in kept.stderr
    assert kept_ops == 0
    assert "note: other tools are turned off: CUDA_INJECTION64_PATH=/nowhere/" in off.stderr
    with open_trace(tmp_path / "trace.db") as trace:
        assert (trace.op_kind == 0).sum() == 20


def test_overhead_runs_its_modes_and_calls_that_of_calls_hip(
    played: PlayedCuda, tmp_path: Path
) -> None:
    environment = played_environment(played, tmp_path, "13", "")
    script = f"{played.program()} steps 5; true"
    flags = ("--modes", "standard,cuda", "--rounds", "1", "--warm-up", "0", "--json", "-q")

    done = wavescope(environment, "overhead", *flags, "--", "sh", "-c", script)

    assert done.returncode == 0, done.stderr
    tables = {table["name"]: table for table in json.loads(done.stdout)["tables"]}
    recorded = tables["modes"]
    names = [column["name"] for column in recorded["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in recorded["rows"]]
    assert [(row["mode"], row["seen"], row["timed"]) for row in rows] == [
        ("standard", 20, 20),
        ("hip", 20, 20),
    ]


def test_the_doctor_sees_the_gpu_and_the_library_that_would_be_taken(
    played: PlayedCuda, tmp_path: Path
) -> None:
    environment = played_environment(played, tmp_path, "13", "gpus=2")

    done = wavescope(environment, "doctor", "--json")

    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["facts"]["recording"] == "ready"
    rows = {row[0]: row for row in document["tables"][0]["rows"]}
    gpu = "NVIDIA H200 (played) (sm_90, 132 SMs)"
    assert rows["NVIDIA GPUs"][3] == f"{gpu}, {gpu}"
    library = played.libraries() / "libcupti.so.13"
    assert f"13 ({library}): fits the driver" in rows["CUPTI"][3]


def test_a_program_gets_the_libcupti_of_its_own_packages(
    played: PlayedCuda, tmp_path: Path
) -> None:
    """The recorder's choice reaches the collector: there is no other that it could open."""
    folder = tmp_path / "bare"
    shutil.copytree(played.libraries(), folder)
    packages = tmp_path / "venv/lib/python3.12/site-packages"
    (packages / "nvidia/cu13/lib").mkdir(parents=True)
    (folder / "libcupti.so.13").rename(packages / "nvidia/cu13/lib/libcupti.so.13")
    environment = played_environment(played, tmp_path, "13", "")
    environment |= {
        "LD_LIBRARY_PATH": str(folder),
        "VIRTUAL_ENV": str(tmp_path / "venv"),
    }
    command = ("trace", "-o", tmp_path / "trace.db", "--", folder / "cuda_program", "steps", 5)

    done = wavescope(environment, *command)

    assert done.returncode == 3, done.stderr
    with open_trace(tmp_path / "trace.db") as trace:
        assert (trace.op_kind == 0).sum() == 20
        assert str(packages) in " ".join(trace.metadata.values())
