"""Builds and runs GPU programs on the software GPU, and compares what was recorded with what ran."""

from __future__ import annotations

import csv
import subprocess
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.program_builds import built_program
from tests.recorded import PATIENCE_S, PROGRAMS, ProcessFiles, Rows, collector, only_process
from tests.runtimes import without_own_warnings
from tests.softgpu_programs import softgpu_variables
from wavescope.collect.libraries import with_word
from wavescope.formats import open_trace

DISPATCH, COPY = 1, 2
RAW_TICKS, APP_SIGNAL, TIMES_LOST = 1, 2, 4
SKIPPED = ("app_signal", "graph_batch", "paused", "filter", "not_intercepted")
LOST = ("buffer_full", "pending_at_exit", "timestamps", "size_limit", "no_space", "unreachable")
COPIES = 0xFFFF
_INTERNAL = "rocr_blit_shader"  # the runtime's own kernels, on queues that nobody sees
_EARLY_TOLERANCE_NS = 1_000
_READING_ERROR_NS = 20  # of two readings of the GPU's clock, which ticks every 10 ns
_COUNTER = np.dtype(
    [
        ("kind", "u1"),
        ("spare", "u1"),
        ("gpu", "<u2"),
        ("queue", "<u4"),
        ("packets", "<u8"),
        ("seen", "<u8"),
        ("timed", "<u8"),
        ("skipped", "<u8", 6),
        ("lost", "<u8", 6),
    ]
)


def built(name: str, folder: Path) -> Path:
    """A program of tests/programs/collected in `folder`; skips where a tool is missing."""
    source = PROGRAMS / "collected" / name
    flags = ["--offload-arch=gfx90a"] if source.suffix == ".hip" else []
    return built_program(source, folder / source.stem, *flags)


@dataclass(frozen=True)
class Truth:
    """One op that a GPU executed."""

    gpu: int
    queue: int
    kind: str
    name: str
    start_ns: int
    end_ns: int
    size: int


@dataclass(frozen=True)
class Run:
    """A finished program: its output, what was recorded, what ran."""

    code: int
    output: str
    errors: str
    session: Path
    truth_file: Path

    @property
    def process(self) -> ProcessFiles:
        return only_process(self.session)

    def truth(self) -> list[Truth]:
        with self.truth_file.open(newline="") as file:
            return [
                Truth(
                    int(row["gpu"]),
                    int(row["queue"]),
                    row["kind"],
                    row["name"],
                    int(row["start_ns"]),
                    int(row["end_ns"]),
                    int(row["bytes"]),
                )
                for row in csv.DictReader(file)
                if row["fault"] is not None  # a kill may have cut off the last line
            ]


def gpu_environment(
    folder: Path, mode: str | None, gpus: int, settings: dict[str, str]
) -> dict[str, str]:
    """The environment of a program on the software GPU; without a mode it is not recorded."""
    usual = {
        "WAVESCOPE_SOFTGPU_GPUS": str(gpus),
        "WAVESCOPE_SOFTGPU_TRUTH": str(folder / "truth.csv"),
    }
    environment = softgpu_variables(**(usual | settings))
    return environment if mode is None else with_collector(environment, mode, folder / "session")


def with_collector(environment: dict[str, str], mode: str, session: Path) -> dict[str, str]:
    """The environment with the collector in it, after what is preloaded already."""
    library = str(collector(mode))
    variables = {"HSA_TOOLS_LIB": library, "WAVESCOPE_OUTPUT": str(session), "WAVESCOPE_MODE": mode}
    preloaded = with_word(environment.get("LD_PRELOAD", ""), library, ":")
    return variables | environment | {"LD_PRELOAD": preloaded}


def run_on_gpu(
    program: Path,
    *arguments: object,
    folder: Path,
    mode: str | None = "standard",
    gpus: int = 1,
    **settings: str,
) -> Run:
    """Run a program to its end on the software GPU."""
    done = subprocess.run(
        [str(program), *map(str, arguments)],
        env=gpu_environment(folder, mode, gpus, settings),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    errors = without_own_warnings(done.stderr)
    return Run(done.returncode, done.stdout, errors, folder / "session", folder / "truth.csv")


def kill_when_running(
    program: Path,
    *arguments: object,
    folder: Path,
    seconds: float,
    gpus: int = 1,
    after_first_op: bool = False,
    **settings: str,
) -> Run:
    """Start a program, wait until it says that it runs, and kill it a while later: a busy machine
    may not have executed anything by then, unless that is waited for, too."""
    truth = folder / "truth.csv"
    with subprocess.Popen(
        [str(program), *map(str, arguments)],
        env=gpu_environment(folder, "standard", gpus, settings),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        while after_first_op and process.poll() is None and truth.read_text().count("\n") < 2:
            time.sleep(0.01)
        time.sleep(seconds)
        process.kill()
        code = process.wait()
    return Run(code, "", "", folder / "session", truth)


def in_ns(process: ProcessFiles, ops: Rows) -> Rows:
    """The ops with raw ticks turned into ns by the clock pairs of their GPU."""
    converted = ops.copy()
    pairs: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for fact in process.facts("clock"):
        pairs[fact["gpu"]].append((fact["ticks"], fact["ns"]))
    raw = (ops["flags"] & RAW_TICKS != 0) & (ops["flags"] & TIMES_LOST == 0)
    for gpu, points in pairs.items():
        ticks, ns = (np.array(column, np.int64) for column in zip(*sorted(points), strict=True))
        chosen = raw & (ops["gpu"] == gpu)
        for name in ("start", "end"):
            converted[name][chosen] = _interpolated(ops[name][chosen].astype(np.int64), ticks, ns)
    return converted


def _interpolated(values: Any, ticks: Any, ns: Any) -> Any:
    if len(ticks) == 1 or ticks[-1] - ticks[0] < 1000:
        return ns[0] + (values - ticks[0]) * 10
    right = np.clip(np.searchsorted(ticks, values), 1, len(ticks) - 1)
    left = right - 1
    near = ticks[right] - ticks[left] < 100_000  # too close together to tell the rate
    left, right = np.where(near, 0, left), np.where(near, len(ticks) - 1, right)
    rate = (ns[right] - ns[left]) / (ticks[right] - ticks[left])
    return ns[left] + np.rint((values - ticks[left]) * rate).astype(np.int64)


def kernel_names(process: ProcessFiles) -> dict[int, str]:
    return {fact["object"]: fact["name"] for fact in process.facts("kernel")}


def counters(process: ProcessFiles) -> list[dict[str, Any]]:
    """Coverage per queue, and of copies (queue 0xffff) per GPU."""
    data = Path(f"{process.base}.counters").read_bytes()
    rows = np.frombuffer(data, _COUNTER, (len(data) - 4096) // _COUNTER.itemsize, 4096)
    return [
        {
            "gpu": int(row["gpu"]),
            "queue": int(row["queue"]),
            "packets": int(row["packets"]),
            "seen": int(row["seen"]),
            "timed": int(row["timed"]),
            "skipped": _named(SKIPPED, row["skipped"]),
            "lost": _named(LOST, row["lost"]),
        }
        for row in rows[rows["kind"] == 1]
    ]


def _named(names: tuple[str, ...], values: Any) -> dict[str, int]:
    return {name: int(value) for name, value in zip(names, values, strict=False) if value}


def dispatch_coverage(process: ProcessFiles) -> dict[str, Any]:
    """The sum over all queues."""
    total: dict[str, Any] = {"packets": 0, "seen": 0, "timed": 0, "skipped": {}, "lost": {}}
    for row in counters(process):
        if row["queue"] == COPIES:
            continue
        for name in ("packets", "seen", "timed"):
            total[name] += row[name]
        for name in ("skipped", "lost"):
            for reason, number in row[name].items():
                total[name][reason] = total[name].get(reason, 0) + number
    return total


def dispatches_by_queue(truth: list[Truth]) -> dict[tuple[int, int], list[Truth]]:
    """What the application's queues executed, in order of time."""
    queues: dict[tuple[int, int], list[Truth]] = defaultdict(list)
    for op in truth:
        if op.kind == "dispatch" and op.name != _INTERNAL:
            queues[op.gpu, op.queue].append(op)
    return {key: sorted(ops, key=lambda op: op.start_ns) for key, ops in queues.items()}


def recorded_dispatches(process: ProcessFiles) -> dict[tuple[int, int], list[Truth]]:
    """What was recorded, in the same form; the queue is the recorder's."""
    names = kernel_names(process)
    ops = in_ns(process, process.ops())
    queues: dict[tuple[int, int], list[Truth]] = defaultdict(list)
    for op in ops[ops["kind"] == DISPATCH]:
        start, end = int(op["start"]), int(op["end"])
        queues[int(op["gpu"]), int(op["queue"])].append(
            Truth(
                int(op["gpu"]),
                int(op["queue"]),
                "dispatch",
                names.get(int(op["kernel"]), ""),
                start,
                end,
                0,
            )
        )
    return {key: sorted(ops, key=lambda op: op.start_ns) for key, ops in queues.items()}


def traced_dispatches(session: Path) -> dict[tuple[int, int], list[Truth]]:
    """What the trace of a session has, in the same form."""
    queues: dict[tuple[int, int], list[Truth]] = defaultdict(list)
    with open_trace(session) as trace:
        kinds, names = trace.op_kind.tolist(), trace.ops.strings("name")
        columns = (trace.ops[name].tolist() for name in ("gpu", "queue", "start_ns", "end_ns"))
        for kind, name, gpu, queue, start, end in zip(kinds, names, *columns, strict=True):
            if kind == 0:
                known = "" if name.startswith("kernel at 0x") else name
                queues[gpu, queue].append(Truth(gpu, queue, "dispatch", known, start, end, 0))
    return {key: sorted(ops, key=lambda op: op.start_ns) for key, ops in queues.items()}


def _killed_tolerance_ns(process: ProcessFiles, gpu: int, last_ns: int) -> int:
    """By how much the times of a killed process may be off, up to `last_ns`.

    A process that is killed early leaves only the first readings of its clocks, and the rate between
    them is carried on to the end. How far that is depends on when the collector last had a processor.
    """
    pairs = sorted(fact["ns"] for fact in process.facts("clock") if fact["gpu"] == gpu)
    base_ns = max(1, min(pairs[-1] - pairs[0], 1_000_000_000)) if len(pairs) > 1 else 1_000_000
    carried_ns = max(0, last_ns - pairs[-1])
    return _EARLY_TOLERANCE_NS + _READING_ERROR_NS * carried_ns // base_ns


def missing_after_kill(run: Run) -> int:
    """How many dispatches, over all queues, the log of what ran has and the trace has not.

    Asserts that all else agrees, one by one; times less exactly than elsewhere. The log may have one
    dispatch of each queue whose signal was not yet completed, and lacks what ended after it was last
    written.
    """
    executed, traced = dispatches_by_queue(run.truth()), traced_dispatches(run.session)
    missing = 0
    for key, ops in executed.items():
        twins = [twin for twin in traced if twin[0] == key[0]]
        assert twins, f"nothing of queue {key} is in the trace"
        twin = min(twins, key=lambda twin: abs(traced[twin][0].start_ns - ops[0].start_ns))
        common = min(len(ops), len(traced[twin]))
        tolerance_ns = _killed_tolerance_ns(run.process, key[0], ops[-1].end_ns)
        assert differences({key: ops[:common]}, {key: traced[twin][:common]}, tolerance_ns) == []
        missing += max(0, len(ops) - common - 1)
    return missing


def differences(
    executed: dict[tuple[int, int], list[Truth]],
    recorded: dict[tuple[int, int], list[Truth]],
    tolerance_ns: int = 20,
) -> list[str]:
    """What differs, op by op; nothing when the trace is the truth."""
    left, found = dict(executed), []
    for key, ops in recorded.items():
        twins = [twin for twin in left if twin[0] == key[0]]
        if not twins:
            found.append(f"no executed queue is like recorded queue {key} of {len(ops)} ops")
            continue
        truth = left.pop(min(twins, key=lambda twin: _distance(left[twin], ops)))
        if len(truth) != len(ops):
            found.append(f"queue {key}: executed {len(truth)}, recorded {len(ops)}")
        for real, op in zip(truth, ops, strict=False):
            lengths = (real.end_ns - real.start_ns, op.end_ns - op.start_ns)
            if (
                abs(real.start_ns - op.start_ns) > tolerance_ns
                or abs(lengths[0] - lengths[1]) > tolerance_ns
                or real.name != op.name
            ):
                found.append(f"queue {key}: {real} was recorded as {op}")
    found += [f"queue {key} of {len(ops)} ops is missing" for key, ops in left.items()]
    return found


def _distance(truth: list[Truth], ops: list[Truth]) -> int:
    """How far two queues are from being the same one, by their first and last ops."""
    return abs(truth[0].start_ns - ops[0].start_ns) + abs(truth[-1].start_ns - ops[-1].start_ns)


def assert_recorded_is_executed(run: Run) -> None:
    """Every dispatch that the GPUs executed is recorded as it ran, and no other."""
    assert run.code == 0, run.errors
    assert differences(dispatches_by_queue(run.truth()), recorded_dispatches(run.process)) == []


def assert_recorded_was_executed(run: Run, tolerance_ns: int = 20) -> None:
    """Each dispatch that is recorded is one that the GPUs executed, as it ran; others may be missing."""
    assert run.code == 0, run.errors
    executed = defaultdict(list)
    for op in run.truth():
        executed[op.gpu].append(op)
    recorded = [op for ops in recorded_dispatches(run.process).values() for op in ops]
    assert [
        op
        for op in recorded
        if not any(
            abs(op.start_ns - real.start_ns) <= tolerance_ns
            and abs(op.end_ns - real.end_ns) <= 2 * tolerance_ns
            for real in executed[op.gpu]
        )
    ] == []
