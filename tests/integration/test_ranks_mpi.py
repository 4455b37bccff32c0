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

from tests.made_once import made_once
from tests.recorded import PATIENCE_S, PROGRAMS, collector
from tests.softgpu_programs import require_softgpu

RANKS, STEPS, LATE_RANK = 4, 12, 2
WAVESCOPE = (sys.executable, "-m", "wavescope")
MPIRUN = ("mpirun", "--oversubscribe", "-n", str(RANKS))
CONVERSION_NS = 20_000
"""What clocks of one host may differ by where exchanges align them, as docs/ranks.md says."""
JOB = (str(STEPS), str(LATE_RANK), "2000")
ALL_REDUCE_NS = 30_000_000
DURATIONS = f"ncclDevKernel,{ALL_REDUCE_NS}\ngemm,200000\n"
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
    return made_once(tmp_path_factory, "mpi_steps", _record)


def _record(folder: Path) -> None:
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


def test_collectives_are_those_that_ran(result: dict[str, Any]) -> None:
    for row in _rows(result, "ranks"):
        assert row["collective_ns"] == pytest.approx(STEPS * ALL_REDUCE_NS, rel=0.01)
    # Who is together is told by times alone, and these depend on how busy the machine is: that
    # is told, and nothing is matched twice.
    groups = _rows(result, "groups")
    assert {group["matched_by"] for group in groups} <= {"order and operation only"}
    matched = sum(group["member_count"] * group["exchange_count"] for group in groups)
    assert matched <= RANKS * STEPS


def test_ranks_of_one_host_share_their_clock(result: dict[str, Any]) -> None:
    clocks = _rows(result, "clocks")

    assert {row["state"] for row in clocks} <= {"reference", "shared", "aligned"}
    assert [row["state"] for row in clocks].count("reference") == 1
    assert max(abs(row["offset_ns"]) for row in clocks) <= CONVERSION_NS


def test_a_verdict_names_whom_it_accuses(result: dict[str, Any]) -> None:
    assert (result["facts"]["verdict"] == "culprit") == bool(_rows(result, "stragglers"))
