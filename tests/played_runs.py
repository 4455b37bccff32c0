"""Records programs on played CUDA, and compares the trace with what the played GPUs ran."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.played_cuda import PlayedCuda
from tests.recorded import PATIENCE_S, collector
from wavescope.formats import open_trace
from wavescope.model.columns import UNKNOWN
from wavescope.model.trace import Trace
from wavescope.names.demangle import demangle

WAVESCOPE = (sys.executable, "-m", "wavescope")
CLOCK_ERROR_NS = 20_000
"""By how much a time may be off: the collector reads two clocks, and may lose its processor meanwhile."""
LENGTH_ERROR_NS = 100
_Thing = TypeVar("_Thing")
_Key = tuple[int, int, int]


@dataclass(frozen=True)
class PlayedOp:
    """A line of the log of what the played GPUs ran; times are CLOCK_BOOTTIME."""

    pid: int
    kind: str
    gpu: int
    context: int
    stream: int
    correlation: int
    graph: int
    node: int
    start_ns: int
    end_ns: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    bytes: int
    thread: int
    name: str

    @classmethod
    def of_line(cls, pid: int, line: str) -> PlayedOp:
        kind, *numbers, name = line.rstrip("\n").split(",", 18)
        n = [int(number) for number in numbers]
        return cls(
            pid, kind, *n[:8], (n[8], n[9], n[10]), (n[11], n[12], n[13]), n[14], n[15], name
        )


@dataclass(frozen=True)
class PlayedRun:
    """How a program on played CUDA ended, recorded or not."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def ops(self) -> list[PlayedOp]:
        """Everything that all processes ran, by process and the time of the launch."""
        logs = sorted(self.folder.glob("truth.*.csv"))
        return [
            PlayedOp.of_line(int(log.name.split(".")[1]), line)
            for log in logs
            for line in log.read_text().splitlines()
        ]

    @property
    def kernels(self) -> list[PlayedOp]:
        return [op for op in self.ops if op.kind == "kernel"]

    @property
    def complaints(self) -> str:
        """How CUPTI was used as it is not allowed."""
        path = self.folder / "complaints"
        return path.read_text() if path.exists() else ""

    @contextmanager
    def trace(self) -> Iterator[Trace]:
        """The trace file, or where only the collector ran its session."""
        file = self.folder / "trace.db"
        with open_trace(file if file.exists() else self.folder / "session") as trace:
            yield trace


def played_environment(
    played: PlayedCuda, folder: Path, version: str, settings: str
) -> dict[str, str]:
    """The environment of a program whose GPUs are played; `settings` as engine.h says."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WAVESCOPE_")}
    runtime = folder / "runtime"
    runtime.mkdir(exist_ok=True)
    return kept | {
        "LD_LIBRARY_PATH": str(played.libraries(version)),
        "XDG_RUNTIME_DIR": str(runtime),
        "PLAYED_CUDA": settings,
        "PLAYED_CUDA_TRUTH": f"{folder}/truth.%p.csv",
        "PLAYED_CUDA_COMPLAINTS": f"{folder}/complaints",
    }


def run_alone(
    played: PlayedCuda, folder: Path, *way: object, version: str = "13", settings: str = ""
) -> PlayedRun:
    """The program without a recorder."""
    environment = played_environment(played, folder, version, settings)
    return _run(folder, environment, played.program(version), *way)


def run_traced(
    played: PlayedCuda,
    folder: Path,
    *way: object,
    options: Sequence[str] = (),
    version: str = "13",
    settings: str = "",
) -> PlayedRun:
    """`wavescope trace OPTIONS -- PROGRAM WAY`: the recorder finds CUPTI itself."""
    environment = played_environment(played, folder, version, settings)
    recorder = [*WAVESCOPE, "trace", "-o", f"{folder}/trace.db", *options, "--"]
    return _run(folder, environment, *recorder, played.program(version), *way)


def run_collected(
    played: PlayedCuda,
    folder: Path,
    *way: object,
    mode: str = "standard",
    version: str = "13",
    settings: str = "",
    program: Path | None = None,
    **variables: str,
) -> PlayedRun:
    """The program with the collector in it, as a recorder would start it, which leaves a session."""
    environment = collected_environment(played, folder, mode, version, settings, **variables)
    return _run(folder, environment, program or played.program(version), *way)


def collected_environment(
    played: PlayedCuda, folder: Path, mode: str, version: str, settings: str, **variables: str
) -> dict[str, str]:
    library = str(collector(mode))
    injected = {
        "LD_PRELOAD": library,
        "CUDA_INJECTION64_PATH": library,
        "NVTX_INJECTION64_PATH": library,
        "WAVESCOPE_OUTPUT": f"{folder}/session",
        "WAVESCOPE_MODE": mode,
    }
    return played_environment(played, folder, version, settings) | injected | variables


def _run(folder: Path, environment: dict[str, str], *command: object) -> PlayedRun:
    done = subprocess.run(
        [str(word) for word in command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return PlayedRun(done.returncode, done.stdout, done.stderr, folder)


def traced_kernels(trace: Trace) -> list[dict[str, Any]]:
    """The kernels of a trace as rows, with the number of their process."""
    rows = trace.ops.to_pandas()
    rows["pid"] = trace.processes["pid"][trace.ops["process"]]
    chosen: list[dict[str, Any]] = rows[trace.op_kind == 0].to_dict("records")
    return chosen


def kernel_differences(ran: Sequence[PlayedOp], traced: Sequence[dict[str, Any]]) -> list[str]:
    """What of the kernels that ran is otherwise in the trace; nothing when all is the same."""
    real = _by_stream(ran, lambda op: (op.pid, op.gpu, op.stream), lambda op: op.start_ns)
    told = _by_stream(
        traced,
        lambda row: (int(row["pid"]), int(row["gpu"]), int(row["stream"])),
        lambda row: int(row["start_ns"]),
    )
    found = []
    for key in sorted(real.keys() | told.keys()):
        ops, rows = real.get(key, []), told.get(key, [])
        if len(ops) != len(rows):
            found.append(f"stream {key}: {len(ops)} ran, {len(rows)} are in the trace")
        for op, row in zip(ops, rows, strict=False):
            found += [f"{word} of {op} in {row}" for word in _differences(op, row)]
    return found


def _by_stream(
    things: Iterable[_Thing], key: Callable[[_Thing], _Key], start: Callable[[_Thing], int]
) -> dict[_Key, list[_Thing]]:
    streams: dict[_Key, list[_Thing]] = {}
    for thing in sorted(things, key=start):
        streams.setdefault(key(thing), []).append(thing)
    return streams


def _differences(op: PlayedOp, row: dict[str, Any]) -> list[str]:
    block = tuple(int(row[f"workgroup_{axis}"]) for axis in "xyz")
    grid = tuple(int(row[f"grid_{axis}"]) for axis in "xyz")
    length_ns = op.end_ns - op.start_ns
    same = {
        "name": row["name"] == demangle(op.name),
        "start": abs(row["start_ns"] - op.start_ns) <= CLOCK_ERROR_NS,
        "length": abs(row["end_ns"] - row["start_ns"] - length_ns) <= LENGTH_ERROR_NS,
        "block": block == op.block,
        "grid": grid == tuple(a * b for a, b in zip(op.grid, op.block, strict=True)),
        "thread": int(row["thread"]) == op.thread,
        "graph node": int(row["graph_node"]) == (op.node or UNKNOWN),
    }
    return [word for word, holds in same.items() if not holds]


def names_and_counts(ops: Sequence[PlayedOp]) -> Counter[str]:
    return Counter(demangle(op.name) for op in ops)


def coverage_of(trace: Trace) -> dict[str, Any]:
    """Kernels seen and timed, and those skipped and lost by reason, over all GPUs."""
    total: dict[str, Any] = {"seen": 0, "timed": 0, "skipped": Counter(), "lost": Counter()}
    for row in trace.coverage.to_pandas().to_dict("records"):
        total["seen"] += row["seen"]
        total["timed"] += row["timed"]
        for kind in ("skipped", "lost"):
            if row[kind]:
                total[kind][row["reason"]] += row[kind]
    return {name: dict(value) if isinstance(value, Counter) else int(value)
            for name, value in total.items()}  # fmt: skip


def assert_whole(run: PlayedRun, trace: Trace, expected_notes: Sequence[str] = ()) -> None:
    """Every kernel that ran is in the trace as it ran, nothing is said to be missing, all was used well."""
    notes, coverage, count = trace.notes.sentences(), coverage_of(trace), len(run.kernels)
    differences = kernel_differences(run.kernels, traced_kernels(trace))
    assert (differences, notes, run.complaints) == ([], list(expected_notes), ""), coverage
    assert coverage == {"seen": count, "timed": count, "skipped": {}, "lost": {}}
