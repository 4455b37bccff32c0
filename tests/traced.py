"""Compares the kernels of a trace with those that the software GPU's log says it ran."""

from __future__ import annotations

import csv
from pathlib import Path

from wavescope.model.trace import Trace
from wavescope.names.demangle import demangle

Op = tuple[int, str, int, int]
"""GPU, name, start and end of a kernel."""


def executed(path: Path) -> list[Op]:
    """Every kernel that the software GPUs ran for the program."""
    with path.open(newline="") as file:
        return sorted(
            (int(row["gpu"]), demangle(row["name"]), int(row["start_ns"]), int(row["end_ns"]))
            for row in csv.DictReader(file)
            if row["kind"] == "dispatch" and row["name"] != "rocr_blit_shader"
        )


def traced_kernels(trace: Trace) -> dict[int, list[Op]]:
    """The kernels of a trace by process id."""
    found: dict[int, list[Op]] = {}
    pids = trace.processes["pid"].tolist()
    columns = [trace.ops[name].tolist() for name in ("process", "gpu", "start_ns", "end_ns")]
    rows = zip(trace.op_kind.tolist(), trace.ops.strings("name"), *columns, strict=True)
    for kind, name, process, gpu, start_ns, end_ns in rows:
        if kind == 0:
            found.setdefault(pids[process], []).append((gpu, name, start_ns, end_ns))
    return found


def assert_same_ops(found: list[Op], expected: list[Op]) -> None:
    """Op by op: the same kernel, start and duration within two ticks of the GPU's clock."""
    assert sorted(op[:2] for op in found) == sorted(op[:2] for op in expected)
    by_time = (sorted(ops, key=lambda op: (op[0], op[2])) for ops in (found, expected))
    for ours, theirs in zip(*by_time, strict=True):
        assert abs(ours[2] - theirs[2]) <= 20, (ours, theirs)
        assert abs((ours[3] - ours[2]) - (theirs[3] - theirs[2])) <= 20, (ours, theirs)
