"""Kills: what a trace lacks of a busy program that is killed at a random moment.

    .venv/bin/python benchmarks/overhead/kills.py --kills 200

The program keeps two queues on each of two software GPUs busy and is killed with SIGKILL. The
software GPU's own log says what was executed; it is written once a millisecond, so what ended after
its last line is known to nobody but the trace. `missing` counts executed dispatches that are not in
the trace (but for one on each queue, whose signal may not have been completed), `last us` is the
time by which the newest dispatch of the trace is older than the log's. Arms: dispatches without a
signal, as HIP submits them; the same with completion signals of the runtime (WAVESCOPE_SIGNALS);
and dispatches with a signal of the program on each.
"""

from __future__ import annotations

import argparse
import csv
import random
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from run import HERE, environment

from wavescope.load import open_trace
from wavescope.store.chunks.pending import move_into_session

PROGRAM = HERE.parents[1] / "tests" / "programs" / "collected" / "hsa_load.c"
ARMS = {
    "without signals": ("standard", "barrier"),
    "runtime's signals": ("runtime", "barrier"),
    "program's signals": ("standard", "each"),
}
Spans = dict[int, list[tuple[int, int]]]


def killed(program: Path, arm: str, signals: str, folder: Path, seconds: float) -> None:
    """Run the program in an arm and kill it `seconds` after it got going."""
    variables = environment(arm, folder / "session", Path(), 5000) | {
        "WAVESCOPE_SOFTGPU_GPUS": "2",
        "WAVESCOPE_SOFTGPU_TRUTH": str(folder / "truth.csv"),
    }
    command = [str(program), "2", "2", "1000", signals, "endless"]
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(seconds)
        process.kill()
    (facts,) = (folder / "session").glob("*.facts")
    move_into_session(folder / "session", facts.stem)


def executed(path: Path) -> Spans:
    """Starts and ends by GPU, as the software GPUs logged them."""
    found: Spans = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["fault"] is None:  # the kill cut it off
                continue
            if row["kind"] == "dispatch" and row["name"] != "rocr_blit_shader":
                found[int(row["gpu"])].append((int(row["start_ns"]), int(row["end_ns"])))
    return found


def traced(session: Path) -> Spans:
    found: Spans = defaultdict(list)
    with open_trace(session) as trace:
        columns = (trace.ops[name].tolist() for name in ("gpu", "start_ns", "end_ns"))
        for gpu, start_ns, end_ns in zip(*columns, strict=True):
            found[gpu].append((start_ns, end_ns))
    return found


def loss(folder: Path) -> tuple[int, float]:
    """How many executed dispatches are missing, and by how much the trace ends earlier, in us."""
    truth, trace = executed(folder / "truth.csv"), traced(folder / "session")
    missing, behind_ns = 0, 0
    for gpu, spans in truth.items():
        missing += max(0, len(spans) - len(trace[gpu]) - 2)
        newest = max((end for _, end in trace[gpu]), default=min(start for start, _ in spans))
        behind_ns = max(behind_ns, max(end for _, end in spans) - newest)
    return missing, behind_ns / 1000


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50)
    options = parser.parse_args()
    chance = random.Random(7)
    print(f"{'arm':<20}{'kills':>6}{'with loss':>11}", end="")
    print(f"{'missing: median':>17}{'most':>7}{'last us: median':>17}{'most':>10}")
    with tempfile.TemporaryDirectory() as work:
        program = Path(work) / "hsa_load"
        flags = ["-O1", "-pthread", "-o", str(program), str(PROGRAM), "-lhsa-runtime64"]
        subprocess.run(["gcc", *flags], check=True)
        for name, (arm, signals) in ARMS.items():
            losses = []
            for _ in range(options.kills):
                with tempfile.TemporaryDirectory(dir=work) as folder:
                    killed(program, arm, signals, Path(folder), chance.uniform(0, 0.2))
                    losses.append(loss(Path(folder)))
            counts, times = zip(*losses, strict=True)
            print(f"{name:<20}{len(losses):>6}{sum(count > 0 for count in counts):>11}", end="")
            print(f"{statistics.median(counts):>17.0f}{max(counts):>7}", end="")
            print(f"{statistics.median(times):>17.1f}{max(times):>10.1f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
