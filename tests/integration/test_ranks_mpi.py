"""`wavescope ranks` on recordings of a real MPI job on the software GPU."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.recorded import PATIENCE_S, PROGRAMS, collector
from tests.softgpu_programs import require_softgpu

RANKS, STEPS, LATE_RANK = 4, 12, 2
WAVESCOPE = (sys.executable, "-m", "wavescope")
MPIRUN = ("mpirun", "--oversubscribe", "-n", str(RANKS))
JOB = (str(STEPS), str(LATE_RANK), "2000")
DURATIONS = "ncclDevKernel,30000000\ngemm,200000\n"
"""Longer than ranks are apart after a barrier: each exchange lasts until all have begun."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trace for each rank, and one of all ranks in a folder of its own."""
    if shutil.which("mpicc") is None or shutil.which("mpirun") is None:
        pytest.skip("Open MPI is not installed (Debian: openmpi-bin libopenmpi-dev)")
    if shutil.which("hipcc") is None:
        pytest.skip("hipcc is not installed (Debian: hipcc libamdhip64-dev)")
    collector()
    require_softgpu()
    folder = tmp_path_factory.mktemp("mpi_steps")
    program = folder / "mpi_steps"
    flags = [_told("--showme:compile"), _told("--showme:link")]
    source = PROGRAMS / "collected" / "mpi_steps.hip"
    command = ["hipcc", "--offload-arch=gfx90a", "-O1", "-w", "-DOMPI_SKIP_MPICXX", *flags[0]]
    command += ["-o", str(program), str(source), *flags[1]]
    amd = os.environ | {"HIP_PLATFORM": "amd"}
    subprocess.run(command, check=True, capture_output=True, env=amd)
    durations = folder / "durations.csv"
    durations.write_text(DURATIONS)
    softgpu = f"--softgpu=gfx90a,durations={durations}"
    for name in ("each", "together"):
        (folder / name).mkdir()
    _run(
        folder,
        *MPIRUN,
        *WAVESCOPE,
        "trace",
        "-q",
        "-o",
        "each/t_%rank%.db",
        softgpu,
        str(program),
        *JOB,
    )
    _run(
        folder,
        *WAVESCOPE,
        "trace",
        "-q",
        "-o",
        "together/job.db",
        softgpu,
        *MPIRUN,
        str(program),
        *JOB,
    )
    return folder


def _told(question: str) -> list[str]:
    done = subprocess.run(["mpicc", question], capture_output=True, text=True, check=True)
    return done.stdout.split()


def _run(folder: Path, *command: str) -> str:
    runtime = folder / "runtime"
    runtime.mkdir(exist_ok=True)
    environment = os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "XDG_RUNTIME_DIR": str(runtime),
    }
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _rows(result: dict[str, Any], name: str) -> list[dict[str, Any]]:
    (table,) = (each for each in result["tables"] if each["name"] == name)
    columns = [column["name"] for column in table["columns"]]
    return [dict(zip(columns, row, strict=True)) for row in table["rows"]]


@pytest.fixture(scope="module", params=["each", "together"])
def result(recorded: Path, request: pytest.FixtureRequest) -> dict[str, Any]:
    """What is said of a trace for each rank, and of one trace of all ranks."""
    told: dict[str, Any] = json.loads(
        _run(recorded, *WAVESCOPE, "ranks", request.param, "--json", "-q")
    )
    return told


def test_ranks_and_their_steps_are_those_that_ran(result: dict[str, Any]) -> None:
    rows = _rows(result, "ranks")

    assert [row["rank"] for row in rows] == list(range(RANKS))
    assert [row["op_count"] for row in rows] == [5 * STEPS] * RANKS
    assert [row["step_count"] for row in rows] == [STEPS] * RANKS
    assert [row["step"] for row in _rows(result, "steps")] == list(range(STEPS))
    assert {row["rank_count"] for row in _rows(result, "steps")} == {RANKS}


def test_each_exchange_has_all_ranks(result: dict[str, Any]) -> None:
    (group,) = _rows(result, "groups")

    assert result["facts"]["exchange_count"] == STEPS
    assert (group["member_count"], group["exchange_count"]) == (RANKS, STEPS)
    # Nothing but names and times says who is together: that is told.
    assert group["matched_by"] == "order and operation only"
    assert {row["kind"] for row in _rows(result, "mismatches")} <= {"order"}


def test_ranks_of_one_host_share_their_clock(result: dict[str, Any]) -> None:
    clocks = _rows(result, "clocks")

    assert sorted(row["state"] for row in clocks) == ["reference"] + ["shared"] * (RANKS - 1)
    assert [row["offset_ns"] for row in clocks] == [0] * RANKS
    assert [row["drift_ppm"] for row in clocks] == [0] * RANKS


def test_nobody_but_the_late_host_is_accused(result: dict[str, Any]) -> None:
    accused = [row["culprit"] for row in _rows(result, "stragglers")]

    assert accused in ([], [f"rank {LATE_RANK}"])
