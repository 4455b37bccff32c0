"""What a capture costs per wave, so that captures with different numbers of waves compare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavescope.analyze.capture.decoded import DecodedTrace


@dataclass(frozen=True, eq=False)
class WaveCosts:
    """A decoded capture and the number that its cycles are divided by."""

    decoded: DecodedTrace
    waves: int
    basis: str

    def per_wave(self, cycles: int) -> float:
        """`cycles` of all waves as those of one."""
        return cycles / self.waves

    @property
    def cycles(self) -> float:
        """Cycles that a wave lives."""
        return self.per_wave(self.decoded.wave_cycles)

    @property
    def stall(self) -> float:
        """Cycles that a wave stalls."""
        return self.per_wave(self.decoded.total_stall)


def wave_costs(decoded: DecodedTrace) -> WaveCosts:
    """Divided by traced waves, without wave files by executions of the kernel's first row."""
    if len(decoded.waves):
        return WaveCosts(decoded, len(decoded.waves), "traced waves")
    executed = np.flatnonzero(decoded.executed_rows)
    hits = int(decoded.instructions.hits[executed[0]]) if len(executed) else 0
    return WaveCosts(decoded, max(hits, 1), "executions of the first instruction")
