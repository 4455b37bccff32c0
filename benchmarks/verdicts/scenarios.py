"""Simulated runs: how machines disturb measurements, with nothing else changed.

Every scenario gives for many pairs of arms the logarithms of the times of all steps, as an array
(pairs, runs in the order they were made, steps).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Shape = tuple[int, int, int]
"""Pairs of arms, runs of both arms together, steps of a run."""

RUN_NOISE = 0.005
STEP_NOISE = 0.02


def independent(rng: np.random.Generator, shape: Shape, run_noise: float = RUN_NOISE) -> FloatArray:
    """Runs differ, and so do steps."""
    return run_noise * rng.standard_normal((*shape[:2], 1)) + STEP_NOISE * rng.standard_normal(
        shape
    )


def autoregressive(rng: np.random.Generator, shape: Shape, memory: float) -> FloatArray:
    """Each step resembles the one before."""
    innovations = STEP_NOISE * np.sqrt(1 - memory**2) * rng.standard_normal(shape)
    values = np.empty(shape)
    values[..., 0] = STEP_NOISE * rng.standard_normal(shape[:2])
    for step in range(1, shape[2]):
        values[..., step] = memory * values[..., step - 1] + innovations[..., step]
    return values


def warm_up(rng: np.random.Generator, shape: Shape) -> FloatArray:
    """The first steps take up to four times as long; how long that lasts differs by run."""
    decay = rng.uniform(0.5, 2.5, (*shape[:2], 1))
    return independent(rng, shape) + np.log1p(3 * np.exp(-np.arange(shape[2]) / decay))


def two_clocks_by_run(rng: np.random.Generator, shape: Shape) -> FloatArray:
    """A run is made at one of two clocks, 4 % apart."""
    return 0.04 * rng.integers(0, 2, (*shape[:2], 1)) + independent(rng, shape, 0.001)


def two_clocks_within(rng: np.random.Generator, shape: Shape) -> FloatArray:
    """The clock changes within runs, every 30 steps on average."""
    switches = np.cumsum(rng.random(shape) < 1 / 30, axis=2) + rng.integers(0, 2, (*shape[:2], 1))
    return 0.04 * (switches % 2) + independent(rng, shape, 0.001)


def spikes(rng: np.random.Generator, shape: Shape) -> FloatArray:
    """One step in a hundred takes five times as long."""
    return independent(rng, shape) + np.log(5) * (rng.random(shape) < 0.01)


def linear_drift(rng: np.random.Generator, shape: Shape) -> FloatArray:
    """Each run is 0.2 % slower than the one before, or faster."""
    direction = rng.choice([-1.0, 1.0], (shape[0], 1, 1))
    return independent(rng, shape) + 0.002 * direction * np.arange(shape[1])[:, None]


def random_walk(rng: np.random.Generator, shape: Shape) -> FloatArray:
    """From run to run the machine becomes faster or slower by about 0.3 %."""
    walk = np.cumsum(0.003 * rng.standard_normal(shape[:2]), axis=1)
    return independent(rng, shape) + walk[..., None]


class Scenario(NamedTuple):
    """How runs are disturbed."""

    draw: Callable[[np.random.Generator, Shape], FloatArray]
    depends_on_order: bool = False


SCENARIOS: Mapping[str, Scenario] = {
    "iid, runs 0.5 %": Scenario(independent),
    "iid, runs 2 %": Scenario(lambda rng, shape: independent(rng, shape, 0.02)),
    "AR(1) 0.9": Scenario(lambda rng, shape: autoregressive(rng, shape, 0.9)),
    "AR(1) 0.95": Scenario(lambda rng, shape: autoregressive(rng, shape, 0.95)),
    "warm-up": Scenario(warm_up),
    "two clocks by run": Scenario(two_clocks_by_run),
    "two clocks within a run": Scenario(two_clocks_within),
    "1 % of steps x5": Scenario(spikes),
    "drift 0.2 % a run": Scenario(linear_drift, depends_on_order=True),
    "random walk 0.3 % a run": Scenario(random_walk, depends_on_order=True),
}


def sides_of(order: str, count: int) -> list[bool]:
    """For each run in the order they were made whether it is of the new version."""
    if order == "interleaved":
        return [False, True] * count
    return [False] * count + [True] * count
