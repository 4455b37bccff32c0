"""Throughput: CPU seconds and peak memory of wavescope's commands, beside the usual way.

    make bench                                   # 2 M ops
    .venv/bin/python benchmarks/throughput/run.py --ops 10000000 --skip-baseline
    .venv/bin/python benchmarks/throughput/run.py --against ../older/.venv/bin/python

Every job is a process of its own; CPU is its user plus system time, memory its peak resident set.
Each figure is the best of `--rounds` runs, jobs taking turns. wavescope runs as it is installed: with
its modules compiled. The input is made by a process of its own, because a started process counts the
memory of the one that started it among its own. `--against` takes turns with another installation,
such as one of an older commit, and prints the ratio of their CPU seconds.
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

HERE = Path(__file__).resolve().parent
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


@dataclass
class Inputs:
    """The files that jobs read."""

    trace: Path
    kineto: Path
    parts: list[Path]

    @classmethod
    def in_folder(cls, folder: Path) -> Inputs:
        """Where the inputs lie in `folder`."""
        parts = [folder / f"rank_{rank}.db" for rank in range(8)]
        return cls(folder / "rtl.db", folder / "kineto.json", parts)


def jobs(folder: Path, inputs: Inputs, python: str) -> dict[str, Callable[[], list[str]]]:
    """The commands to measure; outputs are replaced each time."""
    trace, kineto = inputs.trace, inputs.kineto
    wavescope = [python, "-m", "wavescope"]
    page = str(folder / "report.html")

    def convert(source: Path, name: str) -> Callable[[], list[str]]:
        target = str(folder / name)
        return lambda: [*wavescope, "convert", str(source), "-o", target, "--force", "-q"]

    merged = str(folder / "merged.db")
    return {
        "wavescope --help": lambda: [*wavescope, "--help"],
        "summary": lambda: [*wavescope, "summary", "-q", str(trace)],
        "phases": lambda: [*wavescope, "phases", "-q", str(trace)],
        "findings": lambda: [*wavescope, "analyze-trace", "-q", str(trace)],
        "report": lambda: [*wavescope, "report", str(trace), "-o", page, "--force", "-q"],
        "convert to .pftrace": convert(trace, "out.pftrace"),
        "convert to .json.gz": convert(trace, "out.json.gz"),
        "convert to .db": convert(trace, "out.db"),
        "convert that .json.gz to .db": convert(folder / "out.json.gz", "again.db"),
        "merge of 8 parts": lambda: [
            *wavescope,
            "merge",
            *map(str, inputs.parts),
            "-o",
            merged,
            "--force",
            "-q",
        ],
        "summary of Kineto JSON": lambda: [*wavescope, "summary", "-q", str(kineto)],
        "convert Kineto JSON to .pftrace": convert(kineto, "kineto.pftrace"),
        "convert Kineto JSON to .db": convert(kineto, "kineto.db"),
    }


def baselines(folder: Path, trace: Path) -> dict[str, Callable[[], list[str]]]:
    """The usual way, by the job it is compared with."""
    exported = str(folder / "baseline.json.gz")
    return {
        "summary": lambda: [*BASELINE, "summary", str(trace)],
        "convert to .json.gz": lambda: [*BASELINE, "export", str(trace), exported],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ops", type=int, default=2_000_000)
    parser.add_argument("--events", type=int, default=1_000_000, help="events of the Kineto file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip-baseline", action="store_true")
    parser.add_argument("--against", metavar="PYTHON", default="", help="another installation")
    parser.add_argument("--generate-only", metavar="FOLDER", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.generate_only:
        generate(options, Inputs.in_folder(options.generate_only))
        return
    with tempfile.TemporaryDirectory(prefix="wavescope-bench-") as name:
        folder = Path(name)
        print(f"generating {options.ops:,} ops and {options.events:,} events ...", file=sys.stderr)
        subprocess.run(
            [sys.executable, __file__, *sys.argv[1:], "--generate-only", name], check=True
        )
        inputs = Inputs.in_folder(folder)
        pythons = [sys.executable, *([options.against] if options.against else [])]
        for python in pythons:
            compile_modules(python)
        commands, *others = [jobs(folder, inputs, python) for python in pythons]
        usual = {} if options.skip_baseline or others else baselines(folder, inputs.trace)
        report(options, commands, others[0] if others else usual)


def generate(options: argparse.Namespace, inputs: Inputs) -> None:
    """Write all inputs."""
    sys.path.insert(0, str(HERE))
    from generate import write_rtl_trace
    from kineto import write_kineto_trace

    write_rtl_trace(inputs.trace, options.ops)
    write_kineto_trace(inputs.kineto, options.events)
    for rank, part in enumerate(inputs.parts):
        write_rtl_trace(part, options.ops // 8, seed=rank)


def compile_modules(python: str) -> None:
    """Compile wavescope's modules, as installing a wheel does and an editable install does not."""
    code = "import compileall, wavescope; [compileall.compile_dir(f, quiet=1) for f in wavescope.__path__]"
    subprocess.run([python, "-c", code], check=True)


def report(
    options: argparse.Namespace,
    commands: dict[str, Callable[[], list[str]]],
    others: dict[str, Callable[[], list[str]]],
) -> None:
    """Measure all jobs in turns and print one table; the usual way, which is slow, only once."""
    costs: dict[str, list[Cost]] = {job: [] for job in commands}
    other_costs: dict[str, list[Cost]] = {job: [] for job in others}
    for turn in range(options.rounds):
        for job, command in commands.items():
            costs[job].append(measure(command()))
            if job in others and (options.against or not turn):
                other_costs[job].append(measure(others[job]()))
    other = "other" if options.against else "usual"
    print(f"{options.ops:,} ops, 4 GPUs x 4 queues, 150 kernels; best of {options.rounds}")
    print(
        f"{'job':32} {'CPU s':>8} {'peak MB':>8} {other + ' CPU s':>12} {other + ' MB':>9} {'ratio':>7}"
    )
    for job, seen in costs.items():
        cost = best(seen)
        line = f"{job:32} {cost.cpu_s:8.2f} {cost.peak_mb:8.0f}"
        if other_costs.get(job):
            than = best(other_costs[job])
            line += f" {than.cpu_s:12.2f} {than.peak_mb:9.0f} {than.cpu_s / cost.cpu_s:6.2f}x"
        print(line)


if __name__ == "__main__":
    main()
