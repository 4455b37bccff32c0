"""What a wave of a capture costs: its cycles, stall and work, however many were traced."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.kernel_waves import waves_of_launch
from wavescope.model.capture import KernelFacts
from wavescope.model.chips.chip_table import find_chip


@dataclass(frozen=True, eq=False)
class WaveCosts:
    """A capture and the number that its cycles are divided by."""

    analysis: CaptureAnalysis
    waves: int
    basis: str

    def per_wave(self, cycles: int) -> float:
        """`cycles` of all waves as those of one."""
        return cycles / self.waves

    @property
    def cycles(self) -> float:
        """Cycles that a wave lives."""
        return self.per_wave(self.analysis.wave_cycles)

    @property
    def stall(self) -> float:
        """Cycles that a wave stalls."""
        return self.per_wave(self.analysis.total_stall)

    @property
    def executed(self) -> float:
        """Instructions that a wave executes."""
        return self.per_wave(int(self.analysis.instructions.hits.sum()))

    @property
    def launch(self) -> KernelFacts | None:
        """What a kernel trace says of this very launch."""
        facts = self.analysis.capture.kernel_facts
        return facts if facts is not None and facts.is_certain else None

    @property
    def launch_ns(self) -> int | None:
        """How long the whole launch took, where a kernel trace says so."""
        launch = self.launch
        if launch is None or launch.start_ns is None or launch.end_ns is None:
            return None
        return launch.end_ns - launch.start_ns if launch.end_ns > launch.start_ns else None

    @cached_property
    def launch_waves(self) -> int | None:
        """How many waves the whole launch has, where a kernel trace says so."""
        chip = find_chip(self.analysis.chip.name)
        return waves_of_launch(self.launch, chip.wave_size) if self.launch and chip else None


def change_percent(a: WaveCosts, b: WaveCosts) -> float | None:
    """By how much the cycles of a wave changed from `a` to `b`."""
    return 100 * (b.cycles - a.cycles) / a.cycles if a.cycles else None


def wave_costs(analysis: CaptureAnalysis) -> WaveCosts:
    """Divided by traced waves, without wave files by executions of the kernel's first row."""
    if len(analysis.waves):
        return WaveCosts(analysis, len(analysis.waves), "traced waves")
    executed = np.flatnonzero(analysis.executed_rows)
    hits = int(analysis.instructions.hits[executed[0]]) if len(executed) else 0
    return WaveCosts(analysis, max(hits, 1), "executions of the first instruction")
