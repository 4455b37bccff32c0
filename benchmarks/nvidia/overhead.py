"""What recording costs: arms in alternating processes, each against the unrecorded run beside it.

    python3 benchmarks/nvidia/overhead.py --seconds 480 -o overhead.json

Every round runs step_times.py once in each arm, in a new random order, until the time is over. A ratio
compares two processes of one round; the table has the median of the ratios and a 95 % interval by
bootstrap over rounds. Arms: none; floor (CUPTI records kernels, copies and fills, and they are thrown
away); wavescope in the modes lite (slices; and whole graphs with `--slices off`), standard and hip (with
calls); torch.profiler (CUDA activities). One process at a time uses the GPU; meanwhile the next one
imports torch, and the recorder of the last one writes its trace. A run that failed or recorded nothing
is left out, and said.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from arms import HERE, built_floor, interval, keep, recorded, say, table
from kernel_times import op_count
from waiting_run import WaitingRun

WAVESCOPE = {
    "lite": ("lite",),
    "lite --slices off": ("lite", "--slices", "off"),
    "standard": ("standard",),
    "hip": ("hip",),
}
ARMS = ("none", "floor", *WAVESCOPE, "torch.profiler")
FIGURES = {
    "step_us": "graph decode step, median round",
    "step_mean_us": "graph decode step, mean",
    "launch_us": "launch, CPU of its thread",
    "cpu_us": "launch, CPU of all threads",
    "eager_us": "eager decode step, CPU of its thread",
}
Figures = dict[str, Any]
Rounds = list[dict[str, Figures]]


def started(arm: str, program: list[str]) -> WaitingRun:
    """The program in an arm, which imports and then waits."""
    folder = tempfile.TemporaryDirectory()
    command: list[Any] = [sys.executable, HERE / "step_times.py", "--wait", *program]
    environment = dict(os.environ)
    if arm == "floor":
        environment["CUDA_INJECTION64_PATH"] = str(built_floor())
        environment["FLOOR_LOG"] = str(Path(folder.name, "floor.txt"))
    elif arm == "torch.profiler":
        command.append("--torch-profiler")
    elif arm in WAVESCOPE:
        mode, *options = WAVESCOPE[arm]
        command = recorded(command, Path(folder.name, "trace.db"), mode, *options)
    return WaitingRun(command, environment, folder)


def recorded_ops(arm: str, folder: Path, figures: Figures) -> int | None:
    """How many records an arm has; None where nothing records."""
    if arm == "none":
        return None
    if arm == "torch.profiler":
        return int(figures.get("profiled", 0))
    if arm == "floor":
        said = folder / "floor.txt"
        return int(said.read_text().split()[1]) if said.exists() else 0
    trace = folder / "trace.db"
    return op_count(trace) if trace.exists() else 0


def completed(arm: str, run: WaitingRun, figures: Figures | None) -> Figures | str:
    """Wait for a run's end; its figures with what it recorded, or why they say nothing."""
    code = run.ended()
    with run.folder as folder:
        if figures is None or code != 0:
            return f"it failed with code {code}: {run.messages()[-600:]}"
        count = recorded_ops(arm, Path(folder), figures)
        if count == 0:
            return f"it recorded nothing: {run.messages()[-600:]}"
    cpu_us = figures["launch_mean_us"] + figures["other_us"]
    return {**figures, "cpu_us": cpu_us, "recorded": count}


def plan(arms: list[str], rounds: int) -> Iterator[tuple[int, str]]:
    """Each arm once in a round, in a new order."""
    chance = random.Random(3)
    for number in range(rounds):
        for arm in chance.sample(arms, len(arms)):
            yield number, arm


class Alternation:
    """Runs the plan until the time is over; processes import while others are measured."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.rounds: Rounds = []
        self.left_out: list[str] = []
        self.waiting: list[tuple[int, str, Future[Figures | str]]] = []

    def run(self, arms: list[str]) -> None:
        steps = plan(arms, self.options.rounds)
        began_s, longest_s = time.monotonic(), 0.0
        with ThreadPoolExecutor(4) as pool:
            following = self._next(steps)
            while following is not None:
                (number, arm), run = following
                run.await_ready()
                run_s = time.monotonic()
                is_time = run_s - began_s + 2 * longest_s < self.options.seconds
                following = self._next(steps) if is_time else None
                figures = run.measured()
                longest_s = max(longest_s, time.monotonic() - run_s)
                if figures is not None:
                    say(f"round {number + 1} {arm}: step {figures['step_us']:.2f} us, "
                        f"launch {figures['launch_us']:.2f} us, {figures['measured_s']} s")  # fmt: skip
                self.waiting.append((number, arm, pool.submit(completed, arm, run, figures)))
                self._take(only_done=True)
            self._take(only_done=False)

    def _next(self, steps: Iterator[tuple[int, str]]) -> tuple[tuple[int, str], WaitingRun] | None:
        step = next(steps, None)
        return None if step is None else (step, started(step[1], self.options.program))

    def _take(self, *, only_done: bool) -> None:
        """Keep what has ended."""
        for entry in list(self.waiting):
            number, arm, future = entry
            if only_done and not future.done():
                continue
            self.waiting.remove(entry)
            while len(self.rounds) <= number:
                self.rounds.append({})
            result = future.result()
            if isinstance(result, str):
                self.left_out.append(f"round {number + 1} {arm}: {result}")
                say(self.left_out[-1])
            else:
                self.rounds[number][arm] = result
        keep(self.options.output, {"rounds": self.rounds, "left_out": self.left_out})


def rows_of(figure: str, rounds: Rounds) -> list[list[Any]]:
    """One row per arm: median and spread, its cost against none, and in points above the floor."""
    rows = []
    for arm in ARMS:
        values = [each[arm][figure] for each in rounds if arm in each]
        if not values:
            continue
        spread = f"{min(values):.2f} - {max(values):.2f}"
        rows.append(
            [arm, len(values), f"{statistics.median(values):.2f}", spread]
            + _percents(figure, rounds, arm, "none")
            + (_percents(figure, rounds, arm, "floor") if arm != "none" else ["", ""])
        )
    return rows


def _percents(figure: str, rounds: Rounds, arm: str, other: str) -> list[str]:
    """How much more than another arm, in percent of none: the median over rounds, its interval."""
    more = [
        100 * (each[arm][figure] - each[other][figure]) / each["none"][figure]
        for each in rounds
        if {arm, other, "none"} <= each.keys() and each["none"][figure] > 0
    ]
    if arm == other or not more:
        return ["", ""]
    middle, low, high = interval(more)
    return [f"{middle:+.2f}", f"{low:+.2f} to {high:+.2f}"]


def levels(values: list[float], gap: float = 0.005) -> list[list[float]]:
    """The values in groups, where each is within `gap` of the next lower one.

    A process may keep one of a few speeds for as long as it lives, whatever is recorded: then only
    the same level of two arms can be compared.
    """
    groups: list[list[float]] = []
    for value in sorted(values):
        if groups and value <= groups[-1][-1] * (1 + gap):
            groups[-1].append(value)
        else:
            groups.append([value])
    return groups


def level_rows(figure: str, rounds: Rounds) -> list[list[str]]:
    """One row per arm: the median of each level and how many runs kept it."""
    rows = []
    for arm in ARMS:
        found = levels([each[arm][figure] for each in rounds if arm in each])
        if found:
            shown = (f"{statistics.median(group):.1f} ({len(group)})" for group in found)
            rows.append([arm, ", ".join(shown)])
    return rows


def shown(rounds: Rounds) -> str:
    parts = []
    for figure, title in FIGURES.items():
        heads = (f"{title} (us)", "runs", "median", "least - most", "% above none", "95 %",
                 "points above floor", "95 %")  # fmt: skip
        parts.append(table(heads, rows_of(figure, rounds)))
    parts.append(table(("graph decode step", "levels in us (runs)"), level_rows("step_us", rounds)))
    counts = [
        [arm, ", ".join(str(each[arm]["recorded"]) for each in rounds if arm in each)]
        for arm in ARMS
        if any(each.get(arm, {}).get("recorded") for each in rounds)
    ]
    return "\n\n".join([*parts, table(("arm", "ops recorded in each round"), counts)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seconds", type=float, default=480, help="no process is begun that would end later"
    )
    parser.add_argument("--rounds", type=int, default=40, help="at most")
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("-o", "--output", type=Path, default=Path("overhead.json"))
    parser.add_argument("program", nargs="*", help="options of step_times.py, after --")
    options = parser.parse_args()
    alternation = Alternation(options)
    alternation.run([arm for arm in ARMS if arm in options.arms.split(",")])
    print(shown(alternation.rounds))
    for text in alternation.left_out:
        print("left out:", text.splitlines()[0])


if __name__ == "__main__":
    main()
