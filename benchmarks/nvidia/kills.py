"""Kills: what the trace lacks of a program that is killed at a random moment, against the flush period.

    python3 benchmarks/nvidia/kills.py --kills 30 --periods 250,50,1000 -o kills.json

The program (steps.cu) waits for the GPU after each step and then logs how many kernels have run. It is
killed with SIGKILL; the recorder writes what is left. `lost` counts completed kernels that are not in
the trace, `span` is the time from the end of the newest kernel in the trace to the last line of the
log: no more than a flush period and the time a flush takes. Each kill is in a random mode of launching,
after 0.05 to 1.5 s; one takes about 3 s, most of it to start.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from arms import built_cuda, keep, recorded, say, table
from kernel_times import kernel_ends

STEP = re.compile("step_kernel")
KERNELS_PER_SECOND = 50_000


def log_of(path: Path) -> list[tuple[int, int]]:
    """Whole lines of a program's log: kernels, ns."""
    lines = path.read_text().split("\n")[:-1]
    return [(int(kernels), int(ns)) for kernels, ns in (line.split() for line in lines)]


def killed(period_ms: int, how: str, delay_s: float, folder: Path) -> dict[str, Any]:
    """Record, kill, and compare the log with the trace."""
    log, output = folder / "log.txt", folder / "killed.db"
    program = [built_cuda("steps"), log, 60, 200, how, KERNELS_PER_SECOND]
    with subprocess.Popen(
        recorded(program, output, "standard", "--flush-period", f"{period_ms}ms"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as recorder:
        assert recorder.stdout is not None
        said = recorder.stdout.readline().split()
        if said[:1] != ["running"]:
            os.killpg(recorder.pid, signal.SIGKILL)
            return {"failure": f"the program did not start: {recorder.communicate()[1][-800:]}"}
        time.sleep(delay_s)
        os.kill(int(said[1]), signal.SIGKILL)
        try:
            messages = recorder.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            os.killpg(recorder.pid, signal.SIGKILL)
            return {"failure": "the recorder did not end within 60 s after the kill"}
    if not output.exists():
        return {"failure": f"no trace, exit code {recorder.returncode}: {messages[-800:]}"}
    return compared(log_of(log), output)


def compared(log: list[tuple[int, int]], output: Path) -> dict[str, Any]:
    completed, last_ns = log[-1]
    ends = kernel_ends(output, STEP)
    newest_ns = int(ends.max()) if len(ends) else log[0][1]
    return {
        "completed": completed,
        "traced": len(ends),
        "lost": max(0, completed - len(ends)),
        "span_ms": max(0.0, (last_ns - newest_ns) / 1e6),
        "ran_ms": (last_ns - log[0][1]) / 1e6,
    }


def row_of(period_ms: int, kills: list[dict[str, Any]]) -> list[Any]:
    whole = [kill for kill in kills if "failure" not in kill]
    if not whole:
        return [period_ms, 0, len(kills), "", "", "", "", "", ""]
    lost, spans = ([kill[key] for kill in whole] for key in ("lost", "span_ms"))
    return [
        period_ms,
        len(whole),
        len(kills) - len(whole),
        f"{statistics.median(kill['completed'] for kill in whole):.0f}",
        f"{statistics.median(lost):.0f}",
        max(lost),
        f"{statistics.median(spans):.1f}",
        f"{max(spans):.1f}",
        sum(span > period_ms for span in spans),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--kills", type=int, default=30, help="at the first period; a third at others"
    )
    parser.add_argument("--periods", default="250,50,1000", help="flush periods in ms")
    parser.add_argument("--seconds", type=float, default=165, help="no kill is begun later")
    parser.add_argument("-o", "--output", type=Path, default=Path("kills.json"))
    options = parser.parse_args()
    chance = random.Random(5)
    periods = [int(period) for period in options.periods.split(",")]
    plan = [
        period
        for at, period in enumerate(periods)
        for _ in range(options.kills if at == 0 else options.kills // 3)
    ]
    end_s = time.monotonic() + options.seconds
    kills: dict[int, list[dict[str, Any]]] = {period: [] for period in periods}
    for period_ms in plan:
        if time.monotonic() > end_s:
            say("the time is over")
            break
        how = chance.choice(("launches", "graph"))
        with tempfile.TemporaryDirectory() as folder:
            kill = killed(period_ms, how, chance.uniform(0.05, 1.5), Path(folder))
        kills[period_ms].append({"how": how, **kill})
        say(f"{period_ms} ms, {how}: {kill}")
        keep(options.output, {"kills": kills})
    heads = ("flush ms", "kills", "failed", "kernels run", "lost: median", "most",
             "span ms: median", "most", "over the period")  # fmt: skip
    print(table(heads, [row_of(period, each) for period, each in kills.items()]))


if __name__ == "__main__":
    main()
