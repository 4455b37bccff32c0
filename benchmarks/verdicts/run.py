"""How often equal versions are called different, and a slow-down is found: simulated runs.

    .venv/bin/python benchmarks/verdicts/run.py --pairs 10000

Prints the tables of docs/compare.md. Nothing here is timed.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from wavescope.analyze.compare.effects import Verdict, effect_between, verdict_of

SHAPES = ("bell-shaped", "skewed", "heavy tails", "two groups")
COUNTS = ((2, 2), (3, 3), (5, 5), (10, 10), (3, 10), (10, 1))


def run_noise(rng: np.random.Generator, shape: str, count: int) -> np.ndarray:
    """The deviations of `count` runs, about 2 % each."""
    if shape == "skewed":
        return rng.exponential(0.02, count)
    if shape == "heavy tails":
        return 0.012 * rng.standard_t(3, count)
    if shape == "two groups":
        return 0.04 * rng.integers(0, 2, count) + rng.normal(0, 0.001, count)
    return rng.normal(0, 0.02, count)


def verdicts(shape: str, counts: tuple[int, int], pairs: int, slow_down: float) -> Counter[Verdict]:
    """The verdicts on `pairs` pairs of arms of runs of 40 steps."""
    rng = np.random.default_rng(1)
    found: Counter[Verdict] = Counter()
    for _ in range(pairs):
        arms = []
        for count, factor in zip(counts, (1.0, 1.0 + slow_down), strict=True):
            runs = run_noise(rng, shape, count)[:, None] + rng.normal(0, 0.02, (count, 40))
            arms.append([factor * np.exp(run) for run in runs])
        found[verdict_of(effect_between(*arms), 1.0, 0.05)] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10_000)
    pairs = parser.parse_args().pairs
    print("| runs (base, new) | " + " | ".join(SHAPES) + " |")
    print("|---|" + "---:|" * len(SHAPES))
    for counts in COUNTS:
        cells = []
        for shape in SHAPES:
            found = verdicts(shape, counts, pairs, 0.0)
            alarms = found[Verdict.REGRESSION] + found[Verdict.IMPROVEMENT]
            cells.append(f"{100 * alarms / pairs:.1f} %")
        print(f"| {counts[0]}, {counts[1]} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
