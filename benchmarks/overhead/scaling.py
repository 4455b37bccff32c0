"""Scaling: what a dispatch costs the thread that submits it, with ever more threads at once.

    .venv/bin/python benchmarks/overhead/scaling.py
    .venv/bin/python benchmarks/overhead/scaling.py --gpus 8 --queues 64 --threads 1,2,4,8,16

The arms are no tool, bare queue interception, standard mode, standard mode paused, and standard mode
with rings of the collector's own; they take turns. Ratios are to bare interception. CPU time of the
submitting threads is measured, not time that passes: the machine may have fewer cores than threads.
A lock that threads share would show as CPU that grows with their number, beyond what bare
interception grows. `locks` counts mutexes that the collector locks in submitting threads, per
thousand dispatches, in a run of its own, as counting costs; a queue takes a block of 1024 slots
at a time from the pool, under its lock.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from run import bare_tool

from wavescope.collect.libraries import with_word
from wavescope.collect.softgpu import softgpu_environment
from wavescope.package_files import library_path

HERE = Path(__file__).resolve().parent
ARMS = ("none", "bare", "standard", "paused", "own")


def build(folder: Path) -> None:
    """Compile the program, the bare tool and the counter of locks into `folder`."""
    scaling = ["-pthread", "-o", str(folder / "scaling"), str(HERE / "dispatch_scaling.c")]
    locks = ["-shared", "-fPIC", "-o", str(folder / "lock_count.so"), str(HERE / "lock_count.c")]
    subprocess.run(["gcc", "-O2", *scaling, "-lhsa-runtime64"], check=True)
    subprocess.run(["gcc", "-O2", *locks], check=True)
    bare_tool(folder)


def environment(arm: str, folder: Path, session: Path, gpus: int) -> dict[str, str]:
    """The environment of one run of an arm."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WAVESCOPE_")}
    kept |= softgpu_environment(f"gpus={gpus},kernel_ns=0", kept)
    if arm == "none":
        return kept
    if arm == "bare":
        return kept | {"HSA_TOOLS_LIB": str(folder / "bare_interception.so")}
    collector = library_path("wavescope_collector")
    if collector is None:
        raise SystemExit("this build has no collector")
    return kept | {
        "HSA_TOOLS_LIB": str(collector),
        "LD_PRELOAD": with_word(kept["LD_PRELOAD"], str(collector), ":"),
        "WAVESCOPE_OUTPUT": str(session),
        "WAVESCOPE_START_PAUSED": "1" if arm == "paused" else "",
        "WAVESCOPE_INTERCEPTION": "own" if arm == "own" else "",
    }


def measured(
    arm: str, threads: int, folder: Path, options: argparse.Namespace, *, count_locks: bool = False
) -> tuple[float, float]:
    """CPU ns per dispatch, and locks per thousand dispatches."""
    with tempfile.TemporaryDirectory(dir=folder) as session:
        variables = environment(arm, folder, Path(session), options.gpus)
        if count_locks:
            counter = str(folder / "lock_count.so")
            variables["LD_PRELOAD"] = f"{counter}:{variables.get('LD_PRELOAD', '')}"
        command = [str(folder / "scaling"), *map(str, (threads, options.queues, options.bursts))]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    cpu_ns, locks = map(float, done.stdout.split())
    return cpu_ns, locks


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--queues", type=int, default=64)
    parser.add_argument("--threads", default="1,2,4,8,16")
    parser.add_argument("--bursts", type=int, default=4, help="of 1024 dispatches, to each queue")
    parser.add_argument("--alternations", type=int, default=5)
    options = parser.parse_args()
    print(f"{options.gpus} GPUs, {options.queues} queues, CPU ns per dispatch (median)")
    print(
        f"{'threads':>8}"
        + "".join(f"{arm:>10}" for arm in ARMS)
        + f"{'ratio':>8}{'own':>8}{'locks':>8}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder)
        for threads in map(int, options.threads.split(",")):
            costs: dict[str, list[float]] = {arm: [] for arm in ARMS}
            for _ in range(options.alternations):
                for arm in ARMS:
                    costs[arm].append(measured(arm, threads, folder, options)[0])
            medians = {arm: statistics.median(values) for arm, values in costs.items()}
            _, locks = measured("standard", threads, folder, options, count_locks=True)
            ratios = [medians[arm] / medians["bare"] for arm in ("standard", "own")]
            shown = "".join(f"{medians[arm]:>10.1f}" for arm in ARMS)
            shown += "".join(f"{ratio:>8.2f}" for ratio in ratios)
            print(f"{threads:>8}{shown}{locks:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
