"""Trees of processes that fork, spawn, become others and end in every way: no dispatch is lost."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.executed import built
from tests.recorded import PATIENCE_S, collector
from tests.softgpu_programs import require_softgpu
from wavescope.formats import open_trace

pytestmark = pytest.mark.recording


@pytest.fixture
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    collector()
    require_softgpu()
    folder = tmp_path_factory.getbasetemp() / "tree_program"
    folder.mkdir(exist_ok=True)
    return built("hsa_tree.c", folder)


def record_tree(program: Path, folder: Path, seed: int) -> None:
    """Record one tree; it must end, and its trace must have what its processes say they did."""
    folder.mkdir()
    said, trace_file = folder / "said", folder / "trace.db"
    command = ["trace", "-q", "-o", str(trace_file), "--softgpu=gfx90a,gpus=2", str(program)]
    done = subprocess.run(
        [sys.executable, "-m", "wavescope", *command, str(said), "3", str(seed)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected: Counter[int] = Counter()
    for line in said.read_text().splitlines() if said.exists() else []:
        pid, dispatches = map(int, line.split())
        expected[pid] += dispatches
    assert dispatches_by_pid(trace_file) == dict(expected), f"seed {seed}"
    assert [path.name for path in folder.iterdir() if path.is_dir()] == []


def dispatches_by_pid(trace_file: Path) -> dict[int, int]:
    if not trace_file.exists():
        return {}
    found: Counter[int] = Counter()
    with open_trace(trace_file) as trace:
        pids = trace.processes["pid"]
        for process in trace.ops["process"].tolist():
            found[int(pids[process])] += 1
        assert trace.coverage["timed"].sum() == trace.coverage["seen"].sum()
        assert trace.coverage["lost"].sum() == 0
    return dict(found)


def test_no_tree_loses_a_dispatch(program: Path, tmp_path: Path) -> None:
    for seed in range(1, 9):
        record_tree(program, tmp_path / str(seed), seed)


@pytest.mark.slow
def test_two_hundred_trees(program: Path, tmp_path: Path) -> None:
    for seed in range(100, 300):
        record_tree(program, tmp_path / str(seed), seed)
