"""How often equal versions are called different, and slow-downs are found: simulated runs.

    .venv/bin/python benchmarks/verdicts/run.py
    .venv/bin/python benchmarks/verdicts/run.py --plain     # runs as if the machine never changed

Prints one table: by scenario, order and number of runs of each version the percentage of false
alarms, and of slow-downs of 2 % and of 5 % found. Exits with 1 when a rate of false alarms is
above 5 % by more than chance explains. Two to three minutes of CPU; `--pairs 1000` is what the
tables of docs/compare.md are made with. Nothing here is timed.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from scenarios import SCENARIOS, sides_of

from wavescope.analyze.compare.statistics.effects import TestOptions, effect_between
from wavescope.analyze.compare.statistics.run_order import RunOrder
from wavescope.analyze.compare.statistics.step_noise import FloatArray, Statistic
from wavescope.analyze.compare.statistics.unusual_steps import warm_up_steps
from wavescope.analyze.compare.statistics.verdicts import Verdict, verdict_of

STEPS = 64
COUNTS = (2, 3, 4, 5, 6, 8, 10)
ORDERS = ("base first", "interleaved")
SLOW_DOWNS = (0.0, 0.02, 0.05)
SIGNIFICANCE, THRESHOLD_PERCENT = 0.05, 1.0


class Cell(NamedTuple):
    """One entry of the table."""

    scenario: str
    order: str
    count: int
    pairs: int
    is_plain: bool


def judged(runs: FloatArray, sides: list[bool], *, is_plain: bool) -> Verdict:
    """The verdict on runs in the order they were made, as `wavescope compare` gives it."""
    if is_plain:
        base = [run for run, is_new in zip(runs, sides, strict=True) if not is_new]
        new = [run for run, is_new in zip(runs, sides, strict=True) if is_new]
        effect = effect_between(base, new, TestOptions(statistic=Statistic.MEAN))
        return verdict_of(effect, THRESHOLD_PERCENT, SIGNIFICANCE)
    left_out = warm_up_steps(list(runs))
    places = [
        [place for place, is_new in enumerate(sides) if is_new is wanted]
        for wanted in (False, True)
    ]
    base, new = ([runs[place][left_out:] for place in mine] for mine in places)
    order = RunOrder(tuple(places[0]), tuple(places[1]), "simulated")
    return verdict_of(effect_between(base, new, order=order), THRESHOLD_PERCENT, SIGNIFICANCE)


def rates(cell: Cell) -> list[float]:
    """False alarms, and slow-downs of each size that are found, as shares of the pairs."""
    sides = sides_of(cell.order, cell.count)
    found = []
    for slow_down in SLOW_DOWNS:
        rng = np.random.default_rng(7)
        logs = SCENARIOS[cell.scenario].draw(rng, (cell.pairs, len(sides), STEPS))
        logs[:, np.array(sides)] += math.log1p(slow_down)
        verdicts = Counter(judged(runs, sides, is_plain=cell.is_plain) for runs in np.exp(logs))
        claims = verdicts[Verdict.REGRESSION]
        if not slow_down:
            claims += verdicts[Verdict.IMPROVEMENT]
        found.append(claims / cell.pairs)
    return found


def most_by_chance(pairs: int) -> float:
    """A rate that a cell whose true rate is 5 % exceeds once in a thousand times."""
    return SIGNIFICANCE + 3.1 * math.sqrt(SIGNIFICANCE * (1 - SIGNIFICANCE) / pairs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--plain", action="store_true", help="the test alone, without any guard")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    cells = [
        Cell(scenario, order, count, arguments.pairs, arguments.plain)
        for scenario in SCENARIOS
        for order in ORDERS
        for count in COUNTS
    ]
    print("| disturbance | order | " + " | ".join(f"{n} runs" for n in COUNTS) + " |")
    print("|---|---|" + "---:|" * len(COUNTS))
    worst = 0.0
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for cell, found in zip(cells, pool.map(rates, cells), strict=True):
            worst = max(worst, found[0])
            if cell.count == COUNTS[0]:
                print(f"| {cell.scenario} | {cell.order} |", end="")
            print(" " + " / ".join(f"{100 * rate:.1f}" for rate in found) + " |", end="")
            if cell.count == COUNTS[-1]:
                print(flush=True)
    limit = most_by_chance(arguments.pairs)
    print(f"\nmost false alarms {100 * worst:.1f} %, allowed by chance {100 * limit:.1f} %")
    return int(worst > limit)


if __name__ == "__main__":
    sys.exit(main())
