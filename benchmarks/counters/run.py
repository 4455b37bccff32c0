"""Counters: CPU seconds and peak memory of the full report of a workload.

    .venv/bin/python benchmarks/counters/run.py                       # 3 and 10,000 dispatches of MI200
    .venv/bin/python benchmarks/counters/run.py DIR...                # folders of your own as well

The folder is made up: every counter that the chip's metrics need, those of L2 channels for each channel,
and the passes of level counters. Each report is a process of its own; CPU is its user plus system time,
memory its peak resident set, the best of `--rounds` runs.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from wavescope.analyze.counters.catalogue import Catalogue, catalogue_for
from wavescope.analyze.counters.metrics.lists import counters_of

CHANNELS = 32
SYSTEM = {
    "workload_name": "made",
    "gpu_arch": "gfx90a",
    "gpu_model": "MI200",
    "cu_per_gpu": 104,
    "simd_per_cu": 4,
    "se_per_gpu": 8,
    "wave_size": 64,
    "max_waves_per_cu": 32,
    "max_sclk": 1700,
    "max_mclk": 1600,
    "total_l2_chan": CHANNELS,
    "lds_banks_per_cu": 32,
    "sqc_per_gpu": 56,
    "pipes_per_gpu": 4,
    "num_xcd": 1,
    "num_hbm_channels": CHANNELS,
}
ABOUT = {
    "GPU_ID": 0,
    "Grid_Size": 1_048_576,
    "Workgroup_Size": 256,
    "LDS_Per_Workgroup": 0,
    "Scratch_Per_Workitem": 0,
    "Arch_VGPR": 8,
    "Accum_VGPR": 0,
    "SGPR": 16,
    "wave_size": 64,
}


def write_workload(folder: Path, dispatches: int) -> None:
    """Write a workload of so many dispatches of fifty kernels."""
    catalogue = catalogue_for("gfx90a")
    folder.mkdir(parents=True)
    with (folder / "sysinfo.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([SYSTEM, SYSTEM.values()])
    counters = sorted(
        {name for metric in catalogue.metrics.values() for name in counters_of(catalogue, metric)}
    )
    levels = levels_of(catalogue)
    columns = []
    for name in counters:
        if name.endswith("[]"):
            columns += [f"{name[:-2]}[{at}]" for at in range(CHANNELS)]
        elif name not in levels:
            columns.append(name)
    write_pass(folder / "pmc_perf.csv", columns, dispatches)
    for level, inside in levels.items():
        write_pass(folder / f"{level}.csv", [*inside, "SQ_ACCUM_PREV_HIRES"], dispatches)


def levels_of(catalogue: Catalogue) -> dict[str, list[str]]:
    """By level counter: the other counters of its pass."""
    found: dict[str, list[str]] = {}
    for metric in catalogue.metrics.values():
        if metric.level_pass:
            names = [n for n in counters_of(catalogue, metric) if n.startswith("SQ")]
            found.setdefault(metric.level_pass, []).extend(names)
    return {level: sorted({*names, level, "SQ_WAVES"}) for level, names in found.items()}


def write_pass(path: Path, columns: list[str], dispatches: int) -> None:
    """Write one file of counters; values vary by kernel and dispatch."""
    randomness = random.Random(path.name)
    rows = [[randomness.randrange(1, 1_000_000) for _ in columns] for _ in range(97)]
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(
            ["Dispatch_ID", "Kernel_Name", *ABOUT, *columns, "Start_Timestamp", "End_Timestamp"]
        )
        for at in range(dispatches):
            kernel = f"void kernel_{at % 50}<float, {at % 7}>(float const*, float*, int)"
            start = 1_411_551_767_635_712 + 30_000 * at
            end = start + 15_000 + at % 5_000
            writer.writerow([at, kernel, *ABOUT.values(), *rows[at % len(rows)], start, end])


def measured(folder: Path, rounds: int) -> tuple[float, float]:
    """Least CPU seconds and greatest peak memory in MB of the full report."""
    command = [sys.executable, "-m", "wavescope", "analyze", "-q", "-p", str(folder)]
    costs = []
    for _ in range(rounds):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} failed with {process.returncode}")
        costs.append((usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000))
    return min(cpu for cpu, _ in costs), max(memory for _, memory in costs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--dispatches", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--generate-only", metavar="FOLDER", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.generate_only:
        write_workload(options.generate_only / "small", 3)
        write_workload(options.generate_only / "large", options.dispatches)
        return
    with tempfile.TemporaryDirectory(prefix="wavescope-bench-") as name:
        # Apart, because a started process counts the memory of the one that started it.
        subprocess.run(
            [sys.executable, __file__, *sys.argv[1:], "--generate-only", name], check=True
        )
        jobs = {
            "made up, 3 dispatches": Path(name) / "small",
            f"made up, {options.dispatches:,} dispatches": Path(name) / "large",
        } | {f"{folder.parent.name}/{folder.name}": folder for folder in options.folders}
        print("| workload | CPU s | peak MB |\n|---|---|---|")
        for title, folder in jobs.items():
            cpu_s, peak_mb = measured(folder, options.rounds)
            print(f"| {title} | {cpu_s:.2f} | {peak_mb:.0f} |", flush=True)


if __name__ == "__main__":
    main()
