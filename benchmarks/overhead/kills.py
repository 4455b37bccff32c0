"""Kills: what a trace lacks of a busy program that is killed at a random moment.

    .venv/bin/python benchmarks/overhead/kills.py --kills 200
    .venv/bin/python benchmarks/overhead/kills.py --kills 200 --runtime 6.4

A program keeps software GPUs busy and is killed with SIGKILL. The software GPUs' own log says what
was executed and when the program could have noticed; it is written once a millisecond, so what was
completed after its last line is known to nobody but the trace. `missing` counts executed ops that
are not in the trace (but for one on each queue, whose signal may not have been completed), `oldest`
says how long before the newest line of the log the oldest of them was completed, and `late` counts
kills where that is over 2 ms. Arms: dispatches without a signal, as HIP submits them; the same with
completion signals of the runtime (WAVESCOPE_SIGNALS); dispatches with a signal of the program on
each (these three on two queues of each of two GPUs); and copies.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from run import HERE, environment

from tests.program_builds import built_for
from wavescope.collect.runtimes import chosen_runtime
from wavescope.formats import open_trace
from wavescope.formats.session.pending import move_into_session

PROGRAMS = HERE.parents[1] / "tests" / "programs" / "collected"


class Arm(NamedTuple):
    """What is killed: a mode or kind of signals of run.py, a program and its arguments."""

    tool: str
    program: str
    arguments: tuple[str, ...]


_TWO_QUEUES = ("2", "2", "1000")
ARMS = {
    "without signals": Arm("standard", "hsa_load", (*_TWO_QUEUES, "barrier", "endless")),
    "runtime's signals": Arm("runtime", "hsa_load", (*_TWO_QUEUES, "barrier", "endless")),
    "program's signals": Arm("standard", "hsa_load", (*_TWO_QUEUES, "each", "endless")),
    "own, without": Arm("own", "hsa_load", (*_TWO_QUEUES, "barrier", "endless")),
    "own, program's": Arm("own", "hsa_load", (*_TWO_QUEUES, "each", "endless")),
    "copies": Arm("standard", "hsa_copies", ("endless",)),
}
LIMIT_US = 2000.0
APART_NS = 2000  # two dispatches of a queue are 5 us apart


class Span(NamedTuple):
    """A dispatch; the trace does not know when it was completed."""

    start_ns: int
    end_ns: int
    queue: int = 0
    completed_ns: int = 0


Spans = dict[int, list[Span]]


def kill(arm: Arm, programs: Path, folder: Path, seconds: float) -> None:
    """Run an arm's program and kill it `seconds` after it got going."""
    variables = environment(arm.tool, folder / "session", Path(), 5000) | {
        "WAVESCOPE_SOFTGPU_GPUS": "2",
        "WAVESCOPE_SOFTGPU_TRUTH": str(folder / "truth.csv"),
    }
    command = [str(programs / arm.program), *arm.arguments]
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(seconds)
        process.kill()
    (facts,) = (folder / "session").glob("*.facts")
    move_into_session(folder / "session", facts.stem)


def executed(path: Path, *, copies: bool) -> Spans:
    """Dispatches or copies by GPU, as the software GPUs logged them."""
    found: Spans = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["fault"] is None:  # the kill cut it off
                continue
            is_copy = row["kind"] in {"copy", "fill"} or row["name"] == "rocr_blit_shader"
            if row["kind"] != "barrier" and is_copy == copies:
                columns = ("start_ns", "end_ns", "queue", "completed_ns")
                found[int(row["gpu"])].append(Span(*(int(row[name]) for name in columns)))
    return found


def traced(session: Path) -> Spans:
    found: Spans = defaultdict(list)
    with open_trace(session) as trace:
        columns = (trace.ops[name].tolist() for name in ("gpu", "start_ns", "end_ns"))
        for gpu, start_ns, end_ns in zip(*columns, strict=True):
            found[gpu].append(Span(start_ns, end_ns))
    return found


def missing(truth: list[Span], trace: list[Span]) -> list[Span]:
    """Those executed that have no counterpart in the trace, but for the last of each queue."""
    found, at = [], 0
    trace.sort()
    for span in sorted(truth):
        while at < len(trace) and trace[at].start_ns < span.start_ns - APART_NS:
            at += 1
        if at < len(trace) and trace[at].start_ns <= span.start_ns + APART_NS:
            at += 1
        else:
            found.append(span)
    last = {span.queue: span for span in sorted(truth)}
    return [span for span in found if last[span.queue] != span]


def loss(arm: Arm, folder: Path) -> tuple[int, float]:
    """How many executed ops are missing, and how long before the newest the oldest ended, in us."""
    truth = executed(folder / "truth.csv", copies=arm.program == "hsa_copies")
    trace = traced(folder / "session")
    lost = [span for gpu, spans in truth.items() for span in missing(spans, trace[gpu])]
    if not lost:
        return 0, 0.0
    newest_ns = max(span.completed_ns for spans in truth.values() for span in spans)
    return len(lost), (newest_ns - min(span.completed_ns for span in lost)) / 1000


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--runtime", default="", help="such as 6.4 (default: the machine's own)")
    parser.add_argument(
        "--arm", choices=ARMS, action="append", help="only this one; repeat for more"
    )
    options = parser.parse_args()
    chance = random.Random(7)
    print(f"{'arm':<20}{'kills':>6}{'with loss':>11}", end="")
    print(f"{'missing: median':>17}{'most':>7}{'oldest us: median':>19}{'most':>10}{'late':>6}")
    with tempfile.TemporaryDirectory() as work:
        runtime = chosen_runtime(options.runtime or None, os.environ)
        for name in {arm.program for arm in ARMS.values()}:
            built_for(runtime, PROGRAMS / f"{name}.c", Path(work) / name)
        for name in options.arm or ARMS:
            losses = []
            for _ in range(options.kills):
                with tempfile.TemporaryDirectory(dir=work) as folder:
                    kill(ARMS[name], Path(work), Path(folder), chance.uniform(0, 0.2))
                    losses.append(loss(ARMS[name], Path(folder)))
            counts, times = zip(*losses, strict=True)
            print(f"{name:<20}{len(losses):>6}{sum(count > 0 for count in counts):>11}", end="")
            print(f"{statistics.median(counts):>17.0f}{max(counts):>7}", end="")
            print(f"{statistics.median(times):>19.1f}{max(times):>10.1f}", end="")
            print(f"{sum(age > LIMIT_US for age in times):>6}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
