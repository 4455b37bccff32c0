"""Overhead: what recording costs a program that does nothing but dispatch, on the software GPU.

    .venv/bin/python benchmarks/overhead/run.py                # 15 alternations, one CPU
    .venv/bin/python benchmarks/overhead/run.py --runtime 6.4  # on another ROCm
    .venv/bin/python benchmarks/overhead/run.py --cpus all --kernel-ns 2000
    .venv/bin/python benchmarks/overhead/run.py --signals each
    .venv/bin/python benchmarks/overhead/run.py --before old/libwavescope_collector.so

The arms take turns in one run: no tool, bare queue interception (a tool that only passes packets
on), each mode, standard mode with completion signals of the runtime, standard mode while recording
is paused, and both with a ring of the collector's instead of the runtime's interception (own);
with --before also an earlier build in standard mode, recording and paused.
`submit` is CPU of the submitting thread per dispatch, `host` that of all
threads but the software GPU's, `process` that of all, read 200 ms after each round so that a
tool's backlog counts.
Figures are medians over all rounds; the ratio is to bare interception. It is host CPU on a
simulator: what a completion signal costs a real GPU is not in it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from operator import le
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.program_builds import built_for
from wavescope.collect.libraries import with_word
from wavescope.collect.runtimes import chosen_runtime
from wavescope.collect.softgpu import softgpu_environment
from wavescope.package_files import library_path

HERE = Path(__file__).resolve().parent
ARMS = ("none", "bare", "lite", "standard", "full", "hip", "runtime", "paused", "own", "own-paused")
BEFORE = ("before", "before-paused")
BUDGETS = {"last": (1.3, 1.5), "each": (1.5, 1.5)}
"""Ratios for submit and host, by which dispatches carry a signal of the program."""


@dataclass
class Figures:
    """What was measured of one arm, one entry per round."""

    rate: list[float] = field(default_factory=list)
    submit_ns: list[float] = field(default_factory=list)
    host_ns: list[float] = field(default_factory=list)
    process_ns: list[float] = field(default_factory=list)
    records: int = 0
    bytes_written: int = 0


def build(folder: Path, runtime: str = "") -> tuple[Path, Path]:
    """Compile the program, for a runtime or the machine's own, and the bare tool."""
    program = folder / "dispatch_rate"
    built_for(chosen_runtime(runtime or None, os.environ), HERE / "dispatch_rate.c", program, "-O2")
    return program, bare_tool(folder)


def bare_tool(folder: Path) -> Path:
    """The tool that only passes packets on, compiled."""
    tool = folder / "bare_interception.so"
    native = HERE.parents[1] / "native"
    sources = [str(HERE / "bare_interception.cpp"), str(native / "collector_hsa" / "hsa_api.cpp")]
    flags = ["-O2", "-std=c++17", "-shared", "-fPIC", f"-I{native}"]
    subprocess.run(["g++", *flags, "-o", str(tool), *sources, "-ldl"], check=True)
    return tool


def required(name: str) -> Path:
    path = library_path(name)
    if path is None:
        raise SystemExit(f"this build has no {name}")
    return path


def environment(
    arm: str, session: Path, tool: Path, kernel_ns: int, before: Path | None = None
) -> dict[str, str]:
    """The environment of one run of an arm; `before` is the collector of those of BEFORE."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WAVESCOPE_")}
    kept |= softgpu_environment(f"kernel_ns={kernel_ns}", kept)
    if arm == "none":
        return kept
    if arm == "bare":
        return kept | {"HSA_TOOLS_LIB": str(tool)}
    library = "wavescope_collector_hip" if arm == "hip" else "wavescope_collector"
    collector = str(before if before is not None and arm in BEFORE else required(library))
    return kept | {
        "HSA_TOOLS_LIB": collector,
        "LD_PRELOAD": with_word(kept["LD_PRELOAD"], collector, ":"),
        "WAVESCOPE_OUTPUT": str(session),
        "WAVESCOPE_MODE": arm if arm in ("lite", "full", "hip") else "standard",
        "WAVESCOPE_SIGNALS": "runtime" if arm == "runtime" else "",
        "WAVESCOPE_START_PAUSED": "1" if arm.endswith("paused") else "",
        "WAVESCOPE_INTERCEPTION": "own" if arm.startswith("own") else "",
    }


def measure(arm: str, figures: Figures, options: argparse.Namespace, folder: Path) -> None:
    """One run of an arm; its rounds are added to `figures`."""
    program, tool = folder / "dispatch_rate", folder / "bare_interception.so"
    with tempfile.TemporaryDirectory(dir=folder) as session:
        command = [str(program), str(options.dispatches), str(options.rounds), options.signals]
        if options.cpus == "one":
            command = ["taskset", "-c", "0", *command]
        done = subprocess.run(
            command,
            env=environment(arm, Path(session), tool, options.kernel_ns, options.before),
            capture_output=True,
            text=True,
            check=True,
        )
        for line in done.stdout.splitlines():
            rate, submit_ns, host_ns, process_ns = map(float, line.split())
            figures.process_ns.append(process_ns)
            figures.rate.append(rate)
            figures.submit_ns.append(submit_ns)
            figures.host_ns.append(host_ns)
        ops = [path.stat().st_size for path in Path(session).glob("*.ops")]
        figures.records = sum(max(size - 4096, 0) // 64 for size in ops)
        figures.bytes_written = sum(path.stat().st_size for path in Path(session).iterdir())


def print_table(figures: dict[str, Figures], dispatches: int, budgets: tuple[float, float]) -> bool:
    """The table; whether every mode keeps the budgets."""
    bare = figures["bare"]
    kept = True
    print(
        f"{'arm':<10}{'rate/s':>12}{'submit ns':>11}{'ratio':>7}{'host ns':>9}{'ratio':>7}", end=""
    )
    print(f"{'process ns':>11}{'records':>10}{'of':>10}{'bytes':>12}")
    for arm, figure in figures.items():
        submit, host = median(figure.submit_ns), median(figure.host_ns)
        ratios = (submit / median(bare.submit_ns), host / median(bare.host_ns))
        if arm not in ("none", "bare", *BEFORE):
            kept = kept and all(map(le, ratios, budgets))
        print(f"{arm:<10}{median(figure.rate):>12,.0f}", end="")
        print(f"{submit:>11.1f}{ratios[0]:>7.2f}{host:>9.1f}{ratios[1]:>7.2f}", end="")
        print(f"{median(figure.process_ns):>11.1f}", end="")
        print(f"{figure.records:>10}{dispatches:>10}{figure.bytes_written:>12,}")
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--alternations", type=int, default=15)
    parser.add_argument("--runtime", default="", help="such as 6.4 (default: the machine's own)")
    parser.add_argument(
        "--arms", default=",".join(ARMS), help="which of them (bare is always one): paused,standard"
    )
    parser.add_argument(
        "--before", type=Path, help="an earlier build of the collector, to compare with"
    )
    parser.add_argument("--rounds", type=int, default=4, help="rounds of each run")
    parser.add_argument("--dispatches", type=int, default=81920, help="of each round")
    parser.add_argument("--kernel-ns", type=int, default=100)
    parser.add_argument(
        "--signals",
        choices=("last", "each"),
        default="last",
        help="which dispatches of a burst carry a completion signal of the program",
    )
    parser.add_argument("--cpus", choices=("one", "all"), default="one")
    options = parser.parse_args()
    options.dispatches -= options.dispatches % 8192
    if options.before is not None:
        options.before = options.before.resolve(strict=True)
    arms = [arm for arm in ARMS if arm == "bare" or arm in options.arms.split(",")]
    figures = {arm: Figures() for arm in (*arms, *(BEFORE if options.before is not None else ()))}
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), options.runtime)
        for _ in range(options.alternations):
            for arm, figure in figures.items():
                measure(arm, figure, options, Path(folder))
    budgets = BUDGETS[options.signals]
    kept = print_table(figures, options.dispatches * options.rounds, budgets)
    verdict = "kept" if kept else "NOT kept"
    print(f"budgets ({budgets[0]}x submit, {budgets[1]}x host): {verdict}")
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
