"""Hardware counters of a run in memory: one value of each counter for each dispatch.

Values are float64 columns, NaN where a dispatch has none. A counter of each L2 channel is a block
of dispatches x channels, the channels of die 0 first. Level counters are measured in passes of
their own and keep the other counters of that pass apart, so that a ratio is taken within a pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LAUNCH_COLUMNS = (
    "Grid_Size",
    "Workgroup_Size",
    "LDS_Per_Workgroup",
    "Scratch_Per_Workitem",
    "Arch_VGPR",
    "Accum_VGPR",
    "SGPR",
)
"""What is known of a launch beside its counters; looked up like counters."""

ACCUMULATED = "ACCUM"
"""In a level pass: the level summed up over all cycles."""


class PcSample(NamedTuple):
    """How often an instruction was seen by PC sampling."""

    kernel: str
    """Empty where the samples do not tell."""
    offset: int | None
    """Of the instruction in its code object, in bytes."""
    instruction: str
    source: str
    sample_count: int
    issued_count: int | None
    stalled_count: int | None
    stall_reasons: tuple[tuple[str, int], ...] = ()


class MultiplexedCounter(NamedTuple):
    """The mean of a counter over the launches of a kernel that it was counted in."""

    kernel: str
    counter: str
    launches: int
    mean: float
    interval_percent: float
    """Half of the mean's 95 % confidence interval, in percent of it."""


class MultiplexedKernel(NamedTuple):
    """How well a kernel was measured by a run that counted something else at each launch."""

    kernel: str
    dispatches: int
    measured_groups: int
    groups: int
    fewest_samples: int
    """Launches behind the value that has fewest."""
    widest_interval_percent: float
    """Half of the widest 95 % confidence interval of a mean, in percent of that mean."""
    widest_counter: str
    counters: tuple[MultiplexedCounter, ...] = ()


@dataclass
class CounterTable:
    """The dispatches of one workload and everything that was counted in them."""

    path: str
    kernel_names: list[str]
    kernel_codes: Integers
    """For each dispatch the index of its name."""
    dispatch_ids: Integers
    gpu_ids: Integers
    durations_ns: Floats
    """End minus start, NaN without times; a mean over passes may have a fraction."""
    columns: dict[str, Floats] = field(default_factory=dict)
    channels: dict[str, Floats] = field(default_factory=dict)
    levels: dict[str, dict[str, Floats]] = field(default_factory=dict)
    """By level counter: the columns of its pass, `ACCUMULATED` among them."""
    facts: dict[str, float] = field(default_factory=dict)
    """Numbers of the chip: clocks in MHz, compute units, channels."""
    system: dict[str, str] = field(default_factory=dict)
    """All that was noted of the machine, as text."""
    ceilings: list[dict[str, float]] = field(default_factory=list)
    """Measured peaks of each GPU: bandwidths in GB/s, rates in GFLOP/s."""
    pc_samples: list[PcSample] = field(default_factory=list)
    pass_durations_ns: dict[str, Floats] = field(default_factory=dict)
    """By pass: how long each dispatch took in it, where the workload still tells."""
    multiplexed: list[MultiplexedKernel] = field(default_factory=list)
    """By kernel, for a run that did not count everything at each launch."""
    notes: list[str] = field(default_factory=list)
    """What was repaired, left out or could not be read."""

    @property
    def chip(self) -> str:
        """The chip's name, such as gfx942, or nothing."""
        return self.system.get("gpu_arch", "").strip().lower()

    @property
    def count(self) -> int:
        """How many dispatches there are."""
        return len(self.kernel_codes)

    def rows(self, chosen: NDArray[np.bool_]) -> CounterTable:
        """The same workload with only the dispatches that `chosen` marks."""
        if bool(chosen.all()):
            return self
        return CounterTable(
            self.path,
            self.kernel_names,
            self.kernel_codes[chosen],
            self.dispatch_ids[chosen],
            self.gpu_ids[chosen],
            self.durations_ns[chosen],
            {name: values[chosen] for name, values in self.columns.items()},
            {name: values[chosen] for name, values in self.channels.items()},
            {
                level: {name: values[chosen] for name, values in columns.items()}
                for level, columns in self.levels.items()
            },
            self.facts,
            self.system,
            self.ceilings,
            self.pc_samples,
            {name: values[chosen] for name, values in self.pass_durations_ns.items()},
            self.multiplexed,
            list(self.notes),
        )
