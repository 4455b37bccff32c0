"""Real MPI jobs on the software GPU: a trace per rank, or one trace of all ranks."""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.recorded import PATIENCE_S, PROGRAMS, collector
from tests.softgpu_programs import require_softgpu
from wavescope.formats import open_trace

RANKS = 4
DISPATCHES = {rank: 200 + 10 * rank for rank in range(RANKS)}
WAVESCOPE = (sys.executable, "-m", "wavescope")
MPIRUN = ("mpirun", "--oversubscribe", "-n", str(RANKS))


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("mpicc") is None or shutil.which("mpirun") is None:
        pytest.skip("Open MPI is not installed (Debian: openmpi-bin libopenmpi-dev)")
    collector()
    require_softgpu()
    program = tmp_path_factory.mktemp("mpi") / "mpi_ranks"
    source = PROGRAMS / "collected" / "mpi_ranks.c"
    command = ["mpicc", "-O1", "-pthread", "-o", str(program), str(source), "-lhsa-runtime64"]
    subprocess.run(command, check=True, capture_output=True)
    return program


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(name, "1")
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.chdir(tmp_path)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(sum(DISPATCHES.values()))]
    return done


def executed() -> dict[int, int]:
    """Dispatches by process id, as the software GPUs executed them."""
    found: Counter[int] = Counter()
    for path in Path().glob("truth_*.csv"):
        with path.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["kind"] == "dispatch"]
        found[int(path.stem.partition("_")[2])] += len(rows)
    return dict(found)


def softgpu() -> str:
    return f"--softgpu=gfx90a,truth={Path().absolute()}/truth_%p.csv"


def test_each_rank_writes_its_trace_and_one_tells_how_to_merge(job: Path) -> None:
    options = ("trace", "-o", "t_%rank%.db", softgpu())
    done = run(*MPIRUN, *WAVESCOPE, *options, str(job))

    assert done.stderr.count("wavescope merge t_*.db -o all.db") == 1
    truth = executed()
    for rank, dispatches in DISPATCHES.items():
        with open_trace(f"t_{rank}.db") as trace:
            assert trace.processes["rank"].tolist() == [rank]
            assert trace.processes["world_size"].tolist() == [RANKS]
            assert trace.markers.strings("name") == [f"rank {rank} of {RANKS}"]
            assert len(trace.ops) == trace.coverage["timed"].sum() == dispatches
            assert truth[int(trace.processes["pid"][0])] == dispatches
    files = [f"t_{rank}.db" for rank in range(RANKS)]
    subprocess.run([*WAVESCOPE, "merge", *files, "-o", "all.db", "-q"], check=True)
    assert_all_ranks_in(Path("all.db"), truth)


def test_without_a_placeholder_ranks_do_not_overwrite_each_other(job: Path) -> None:
    run(*MPIRUN, *WAVESCOPE, "trace", "-q", "-o", "job.db", softgpu(), str(job))

    assert sorted(path.name for path in Path().glob("*.db")) == [
        f"job_rank{rank}.db" for rank in range(RANKS)
    ]


def test_a_recorded_launcher_gives_one_trace_of_all_ranks(job: Path) -> None:
    done = run(*WAVESCOPE, "trace", "-o", "job.db", softgpu(), *MPIRUN, str(job))

    assert f"timed all {sum(DISPATCHES.values()):,} dispatches" in done.stderr
    assert_all_ranks_in(Path("job.db"), executed())
    assert sorted(path.name for path in Path().iterdir() if path.suffix != ".csv") == [
        "job.db",
        "runtime",
    ]


def assert_all_ranks_in(path: Path, truth: dict[int, int]) -> None:
    with open_trace(path) as trace:
        processes = trace.processes
        ranks = dict(zip(processes["pid"].tolist(), processes["rank"].tolist(), strict=True))
        assert sorted(ranks.values()) == list(range(RANKS))
        assert set(processes["world_size"].tolist()) == {RANKS}
        by_process = Counter(trace.ops["process"].tolist())
        for row, pid in enumerate(processes["pid"].tolist()):
            assert by_process[row] == DISPATCHES[ranks[pid]] == truth[pid]
        assert sorted(trace.markers.strings("name")) == [
            f"rank {rank} of {RANKS}" for rank in range(RANKS)
        ]
