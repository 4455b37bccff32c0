"""Throughput: CPU seconds and peak memory of wavescope's commands, beside the usual way.

    make bench                                   # 2 M ops
    .venv/bin/python benchmarks/throughput/run.py --ops 10000000 --skip-baseline

Every job is a process of its own; CPU is its user plus system time, memory its peak resident set.
Each figure is the best of `--rounds` runs, jobs taking turns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from generate import write_rtl_trace
from kineto import write_kineto_trace

HERE = Path(__file__).resolve().parent
WAVESCOPE = [sys.executable, "-m", "wavescope"]
BASELINE = [sys.executable, str(HERE / "baseline.py")]


@dataclass
class Cost:
    """CPU seconds and peak memory of one run."""

    cpu_s: float
    peak_mb: float


def measure(command: list[str]) -> Cost:
    """Run `command` to its end; what it cost."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed with {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)


def best(costs: list[Cost]) -> Cost:
    """The least CPU and the highest peak that were seen."""
    return Cost(min(c.cpu_s for c in costs), max(c.peak_mb for c in costs))


def jobs(
    folder: Path, trace: Path, kineto: Path, parts: list[Path]
) -> dict[str, Callable[[], list[str]]]:
    """The commands to measure; outputs are replaced each time."""

    def convert(source: Path, name: str) -> Callable[[], list[str]]:
        target = str(folder / name)
        return lambda: [*WAVESCOPE, "convert", str(source), "-o", target, "--force", "-q"]

    merged = str(folder / "merged.db")
    return {
        "wavescope --help": lambda: [*WAVESCOPE, "--help"],
        "summary": lambda: [*WAVESCOPE, "summary", str(trace)],
        "convert to .pftrace": convert(trace, "out.pftrace"),
        "convert to .json.gz": convert(trace, "out.json.gz"),
        "convert to .db": convert(trace, "out.db"),
        "merge of 8 parts": lambda: [
            *WAVESCOPE,
            "merge",
            *map(str, parts),
            "-o",
            merged,
            "--force",
            "-q",
        ],
        "summary of Kineto JSON": lambda: [*WAVESCOPE, "summary", str(kineto)],
        "convert Kineto JSON to .pftrace": convert(kineto, "kineto.pftrace"),
    }


def baselines(folder: Path, trace: Path) -> dict[str, list[str]]:
    """The usual way, by the job it is compared with."""
    exported = str(folder / "baseline.json.gz")
    return {
        "summary": [*BASELINE, "summary", str(trace)],
        "convert to .json.gz": [*BASELINE, "export", str(trace), exported],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ops", type=int, default=2_000_000)
    parser.add_argument("--events", type=int, default=1_000_000, help="events of the Kineto file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip-baseline", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wavescope-bench-") as name:
        folder = Path(name)
        trace, kineto = folder / "rtl.db", folder / "kineto.json"
        parts = [folder / f"rank_{rank}.db" for rank in range(8)]
        print(f"generating {options.ops:,} ops and {options.events:,} events ...", file=sys.stderr)
        write_rtl_trace(trace, options.ops)
        write_kineto_trace(kineto, options.events)
        for rank, part in enumerate(parts):
            write_rtl_trace(part, options.ops // 8, seed=rank)
        report(options, jobs(folder, trace, kineto, parts), baselines(folder, trace))


def report(
    options: argparse.Namespace,
    commands: dict[str, Callable[[], list[str]]],
    usual: dict[str, list[str]],
) -> None:
    """Measure all jobs in turns and print one table."""
    costs: dict[str, list[Cost]] = {job: [] for job in commands}
    usual_costs: dict[str, list[Cost]] = {job: [] for job in usual}
    for _ in range(options.rounds):
        for job, command in commands.items():
            costs[job].append(measure(command()))
        if not options.skip_baseline and not all(usual_costs.values()):
            for job, baseline in usual.items():
                usual_costs[job].append(measure(baseline))
    print(f"{options.ops:,} ops, 4 GPUs x 4 queues, 150 kernels; best of {options.rounds}")
    print(
        f"{'job':32} {'CPU s':>8} {'peak MB':>8} {'usual CPU s':>12} {'usual MB':>9} {'ratio':>7}"
    )
    for job, seen in costs.items():
        cost = best(seen)
        line = f"{job:32} {cost.cpu_s:8.2f} {cost.peak_mb:8.0f}"
        if usual_costs.get(job):
            other = best(usual_costs[job])
            line += f" {other.cpu_s:12.2f} {other.peak_mb:9.0f} {other.cpu_s / cost.cpu_s:6.1f}x"
        print(line)


if __name__ == "__main__":
    main()
