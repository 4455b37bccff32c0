"""What differs from run to run and from GPU to GPU although nothing is wrong.

Everything is drawn in the order of the program, never by what happens, so that the same seed gives
the same noise with and without a fault.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

_BLOCK_ROWS = 256


@dataclass(frozen=True)
class NoiseSize:
    """How much noise there is."""

    kernel: float = 0.01
    """Of each run of a kernel."""
    gpu_spread: tuple[float, float] = (0.003, 0.01)
    """Between the slowest and the fastest GPU, constant; drawn for each job in this range."""
    launch: float = 0.2
    """Of the host's time for a launch."""
    host_hiccup: float = 1e-4
    """How many launches take 150 us longer on average."""
    gpu_hiccup: float = 2e-5
    """How many kernels take 50 us longer on average."""
    transfer: float = 0.02
    end_jitter_ns: float = 3_000.0


class Noise:
    """Draws for one run."""

    def __init__(self, rank_count: int, size: NoiseSize, seed: int) -> None:
        self._rng = np.random.default_rng([seed, 101])
        self._size = size
        self._shape = (_BLOCK_ROWS, rank_count)
        spread = self._rng.uniform(*size.gpu_spread)
        self.gpu_factor: Values = 1 + spread * self._rng.uniform(-0.5, 0.5, rank_count)
        """How much longer each GPU takes for everything."""
        self._kernels, self._launches = iter(()), iter(())

    def kernel(self) -> tuple[Values, Values]:
        """For each rank a factor of a kernel's time, and what comes on top in ns."""
        row = next(self._kernels, None)
        if row is None:
            self._kernels = self._kernel_block()
            row = next(self._kernels)
        return row

    def launch(self) -> tuple[Values, Values]:
        """For each rank a factor of the host's time for a launch, and what comes on top in ns."""
        row = next(self._launches, None)
        if row is None:
            self._launches = self._launch_block()
            row = next(self._launches)
        return row

    def transfer(self, count: int) -> Values:
        """A factor of the transfer time of each of `count` groups."""
        return np.abs(1 + self._size.transfer * self._rng.standard_normal(count))

    def end_jitter_ns(self, shape: tuple[int, ...]) -> Values:
        """How much later than the first each member of each group is done."""
        return self._rng.uniform(0, self._size.end_jitter_ns, shape)

    def imbalance(self, size: float, count: int) -> Values:
        """A factor of the work of each of `count` ranks that is different each time."""
        return np.maximum(0.1, 1 + size * self._rng.standard_normal(count))

    def _kernel_block(self):
        factor = 1 + self._size.kernel * self._rng.standard_normal(self._shape)
        extra = self._hiccups(self._size.gpu_hiccup, 50_000)
        return iter(list(zip(np.maximum(factor, 0.5), extra, strict=True)))

    def _launch_block(self):
        factor = np.exp(self._size.launch * self._rng.standard_normal(self._shape))
        extra = self._hiccups(self._size.host_hiccup, 150_000)
        return iter(list(zip(factor, extra, strict=True)))

    def _hiccups(self, share: float, mean_ns: float) -> Values:
        happens = self._rng.random(self._shape) < share
        return np.where(happens, self._rng.exponential(mean_ns, self._shape), 0.0)
