"""Hardware counters in memory: one value of each counter for each dispatch.

Values are float64 columns, NaN where a dispatch has none. A counter of each L2 channel is a block
of dispatches x channels, the channels of die 0 first. Level counters are measured in passes of
their own and keep the other counters of that pass apart, so that a ratio is taken within a pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wavescope.model.progress import Notes

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
MEMORY_COUNTERS_HINT = (
    "collect for example: rocprofv3 --pmc TCC_HIT_sum TCC_MISS_sum TCC_EA0_RDREQ_sum "
    "TCC_EA0_RDREQ_32B_sum -f csv -- CMD, and TCC_BUBBLE_sum in a second run"
)
"""How to get counters of memory traffic."""
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9_]*?)(?:_sum)?(?:\[(\d+)\])?", re.ASCII | re.IGNORECASE)


class CounterPass(NamedTuple):
    """One run of a program that collects some counters."""

    name: str
    """The file its counters are written to, without a suffix."""
    counters: tuple[str, ...]


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


@dataclass(frozen=True)
class CounterTable:
    """Dispatches and everything that was counted in them: of a folder, a CSV, a trace or a run."""

    path: str
    kernel_names: list[str]
    kernel_codes: Integers
    """For each dispatch the index of its name."""
    dispatch_ids: Integers
    gpu_ids: Integers
    durations_ns: Floats
    """End minus start, NaN without times; a mean over passes may have a fraction."""
    columns: Mapping[str, Floats] = field(default_factory=dict)
    channels: Mapping[str, Floats] = field(default_factory=dict)
    levels: Mapping[str, Mapping[str, Floats]] = field(default_factory=dict)
    """By level counter: the columns of its pass, `ACCUMULATED` among them."""
    facts: Mapping[str, float] = field(default_factory=dict)
    """Numbers of the chip: clocks in MHz, compute units, channels."""
    system: Mapping[str, str] = field(default_factory=dict)
    """All that was noted of the machine, as text."""
    ceilings: Sequence[Mapping[str, float]] = ()
    """Measured peaks of each GPU: bandwidths in GB/s, rates in GFLOP/s."""
    pc_samples: Sequence[PcSample] = ()
    pass_durations_ns: Mapping[str, Floats] = field(default_factory=dict)
    """By pass: how long each dispatch took in it, where the workload still tells."""
    multiplexed: Sequence[MultiplexedKernel] = ()
    """By kernel, for a run that did not count everything at each launch."""
    starts_ns: Integers | None = None
    """When each dispatch began, where all are of one run."""
    notes: Notes = field(default_factory=Notes)
    """What was repaired, left out or could not be read."""

    @property
    def measured_peaks(self) -> Mapping[str, float]:
        """Measured peaks of the GPU that most dispatches ran on, else of the first; none if none.

        A GPU id that no row has is one of the driver's numbers, not the place of the GPU.
        """
        if not self.ceilings:
            return {}
        ids, counts = np.unique(self.gpu_ids, return_counts=True)
        busiest = int(ids[counts.argmax()]) if len(ids) else 0
        return next(
            (row for row in self.ceilings if row.get("device") == busiest), self.ceilings[0]
        )

    @property
    def chip(self) -> str:
        """The chip's name, such as gfx942, or nothing."""
        return self.system.get("gpu_arch", "").strip().lower()

    @property
    def product(self) -> str:
        """What the board is called, or nothing."""
        return self.system.get("gpu_model", "").strip()

    @property
    def count(self) -> int:
        """How many dispatches there are."""
        return len(self.kernel_codes)

    @property
    def known_durations_ns(self) -> Floats:
        """The durations, NaN where there are none or a dispatch ends before it begins."""
        return np.where(self.durations_ns > 0, self.durations_ns, np.nan)

    @property
    def counters(self) -> list[str]:
        """The names of the columns that are counters."""
        return [name for name in self.columns if name not in LAUNCH_COLUMNS]

    def kernels(self) -> list[str]:
        """The kernel of each dispatch."""
        return [self.kernel_names[code] for code in self.kernel_codes.tolist()]

    def with_facts(self, facts: Mapping[str, float]) -> CounterTable:
        """The same with other facts of the chip, and no longer any note that they are missing."""
        notes = Notes()
        for sentence in self.notes.sentences():
            if not any(f"has no {name}:" in sentence for name in facts):
                notes.add(sentence)
        return replace(self, facts={**self.facts, **facts}, notes=notes)

    def rows(self, chosen: NDArray[np.bool_]) -> CounterTable:
        """The same workload with only the dispatches that `chosen` marks."""
        if bool(chosen.all()):
            return self

        def kept(columns: Mapping[str, Floats]) -> dict[str, Floats]:
            return {name: values[chosen] for name, values in columns.items()}

        return replace(
            self,
            kernel_codes=self.kernel_codes[chosen],
            dispatch_ids=self.dispatch_ids[chosen],
            gpu_ids=self.gpu_ids[chosen],
            durations_ns=self.durations_ns[chosen],
            columns=kept(self.columns),
            channels=kept(self.channels),
            levels={level: kept(columns) for level, columns in self.levels.items()},
            pass_durations_ns=kept(self.pass_durations_ns),
            starts_ns=None if self.starts_ns is None else self.starts_ns[chosen],
        )


def kernel_names_and_codes(kernels: Iterable[str]) -> tuple[list[str], Integers]:
    """The different names in the order of first sight, and for each dispatch the index of its."""
    codes: dict[str, int] = {}
    found = [codes.setdefault(name, len(codes)) for name in kernels]
    return list(codes), np.array(found, dtype=np.int64)


class CounterName(NamedTuple):
    """A counter as files spell it: `TCC_HIT_sum` is TCC_HIT over all, `TCC_HIT[3]` a part of it."""

    base: str
    is_part: bool


def counter_name(text: str) -> CounterName | None:
    """The counter that `text` names, None where it cannot be one."""
    found = _NAME.fullmatch(text.strip())
    return CounterName(found.group(1).upper(), found.group(2) is not None) if found else None


def whole_counters(table: CounterTable, wanted: Callable[[str], bool]) -> dict[str, Floats]:
    """Counters over all instances of their block, by name without `_sum`; NaN where there is none.

    A sum that was counted is preferred to adding parts; what is negative was not counted.
    """
    sums: dict[CounterName, Floats] = {}
    for text, values in table.columns.items():
        name = counter_name(text)
        if name is not None and wanted(name.base):
            known = np.where(values >= 0, values, np.nan)
            sums[name] = _added(sums[name], known) if name in sums else known
    for family, block in table.channels.items():
        if wanted(family):
            parts = np.where(block >= 0, block, np.nan)
            counted = np.isfinite(parts).any(axis=1)
            sums[CounterName(family, True)] = np.where(counted, np.nansum(parts, axis=1), np.nan)
    wholes = {name.base: values for name, values in sums.items() if not name.is_part}
    for name, values in sums.items():
        if name.is_part:
            whole = wholes.get(name.base)
            wholes[name.base] = (
                values if whole is None else np.where(np.isfinite(whole), whole, values)
            )
    return wholes


def _added(first: Floats, second: Floats) -> Floats:
    """The sum; of two values of which one is not there, the other."""
    total = np.nan_to_num(first) + np.nan_to_num(second)
    return np.where(np.isfinite(first) | np.isfinite(second), total, np.nan)
