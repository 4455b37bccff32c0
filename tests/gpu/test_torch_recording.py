"""PyTorch programs recorded on a real GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cuda_programs import (
    coverage,
    framework_scenario,
    kernel_counts,
    kernel_rows,
    marker_names,
    record,
    require_module,
    torch_scenario,
)
from wavescope.model.columns import UNKNOWN

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("mode", ["standard", "full", "hip"])
def test_operators_and_their_ranges_are_in_the_trace(tmp_path: Path, mode: str) -> None:
    recording = record(torch_scenario("operators"), tmp_path, mode=mode)

    assert recording.code == 0, recording.messages
    assert json.loads(recording.output) == {"done": "operators"}
    with recording.trace() as trace:
        counts = kernel_counts(trace)
        assert (counts["sin_kernel"], counts["exp_kernel"]) == (30, 20)
        assert marker_names(trace, kernel_rows(trace, "sin_kernel")) == {"phase one"}
        assert marker_names(trace, kernel_rows(trace, "exp_kernel")) == {"phase two"}
        counted = coverage(trace)
        assert (counted["timed"], counted["lost"]) == (counted["seen"], 0)


def test_graph_replays_of_torch_are_recorded_by_node(tmp_path: Path) -> None:
    with record(torch_scenario("graph"), tmp_path).trace() as trace:
        rows = kernel_rows(trace, "sin_kernel")
        in_graph = trace.ops["graph"][rows] != UNKNOWN
        assert (len(rows), int(in_graph.sum())) == (15 + 5 * 40, 5 * 40)


def test_lite_records_slices_of_a_long_run(tmp_path: Path) -> None:
    recording = record(torch_scenario("long_graph"), tmp_path, mode="lite")

    assert recording.code == 0, recording.messages
    with recording.trace() as trace:
        counted = coverage(trace)
        # Whatever else torch launches, the graph's kernels are most of it.
        assert counted["seen"] >= 5 * 20_000
        assert counted["timed"] + counted["skipped"] + counted["lost"] == counted["seen"]
        assert 0 < len(kernel_rows(trace, "sin_kernel")) < 5 * 20_000


def test_torch_profiler_inside_a_recorded_program_works(tmp_path: Path) -> None:
    profiled = tmp_path / "kineto.json"
    recording = record(torch_scenario("profiler", profiled), tmp_path)

    assert recording.code == 0, recording.messages
    events = json.loads(profiled.read_text())["traceEvents"]
    kernels = [event["name"] for event in events if event.get("cat") == "kernel"]
    assert sum("exp_kernel" in name for name in kernels) == len(kernels) == 20
    with recording.trace() as trace:
        counts = kernel_counts(trace)
        assert counts["sin_kernel"] == 50
        assert "exp_kernel" not in counts
        # torch.profiler keeps CUPTI until the process ends, so nothing more is recorded here;
        # where it lets go, what comes after is recorded again. The trace says which.
        notes = "\n".join(trace.metadata)
        assert "GPU work not recorded from" in notes
        assert ("GPU work recorded again from" in notes) == ("cos_kernel" in counts)


def test_spawned_workers_are_recorded_each_for_itself(tmp_path: Path) -> None:
    with record(torch_scenario("workers"), tmp_path).trace() as trace:
        rows = kernel_rows(trace, "sin_kernel")
        processes = trace.ops["process"][rows].tolist()
        assert sorted(processes.count(each) for each in set(processes)) == [10, 20]


def test_ranks_of_torchrun_are_recorded_each_for_itself(tmp_path: Path) -> None:
    program = torch_scenario("distributed")
    command = [program[0], "-m", "torch.distributed.run", "--nproc-per-node", "2", *program[1:]]
    recording = record(command, tmp_path)

    assert recording.code == 0, recording.messages
    lines = sorted(recording.output.splitlines())
    assert lines == ["3", "3", '{"done": "distributed"}', '{"done": "distributed"}']
    with recording.trace() as trace:
        rows = kernel_rows(trace, "sin_kernel")
        rank_of = dict(
            zip(trace.processes["id"].tolist(), trace.processes["rank"].tolist(), strict=True)
        )
        ranks = [rank_of[process] for process in trace.ops["process"][rows].tolist()]
        assert (ranks.count(0), ranks.count(1), len(ranks)) == (10, 20, 30)
        counted = coverage(trace)
        assert (counted["timed"], counted["lost"]) == (counted["seen"], 0)


@pytest.mark.parametrize(
    ("framework", "kernel", "runs"),
    [("cupy", "doubling_kernel", 25), ("jax", "fusion", 30), ("triton", "adding_kernel", 20)],
)
def test_programs_of_other_frameworks_are_recorded(
    tmp_path: Path, framework: str, kernel: str, runs: int
) -> None:
    require_module(framework)

    recording = record(framework_scenario(framework), tmp_path)

    assert (recording.code, recording.output) == (0, f"done {framework}\n"), recording.messages
    with recording.trace() as trace:
        assert len(kernel_rows(trace, kernel)) == runs
        counted = coverage(trace)
        assert (counted["timed"], counted["lost"]) == (counted["seen"], 0)


def test_analyses_work_on_the_trace(tmp_path: Path) -> None:
    recording = record(torch_scenario("graph"), tmp_path)
    page = tmp_path / "report.html"

    summary = _json("summary", recording.path, "--by", "full")
    rows = next(table["rows"] for table in summary["tables"] if table["name"] == "kernels")
    assert [calls for name, _, calls, *_ in rows if "sin_kernel" in name] == [15 + 5 * 40]
    steps = _json("steps", recording.path)
    assert "step" in json.dumps(steps)
    _json("phases", recording.path)
    _json("findings", recording.path)
    subprocess.run(
        [sys.executable, "-m", "wavescope", "report", str(recording.path), "-o", str(page)],
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    assert "<html" in page.read_text()[:2000]


def _json(command: str, path: Path, *options: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "wavescope", command, str(path), "--json", *options],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
