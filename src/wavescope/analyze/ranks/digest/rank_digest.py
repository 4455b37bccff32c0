"""The digest of one rank: who it is, its collectives, its steps, its time in bins.

All times are the rank's own clock in integer nanoseconds. What is not known is -1 (numbers), ""
(texts) or None, never a guess. Rows of one table have columns of one length.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays.intervals import Times

Numbers = npt.NDArray[np.int32]

UNKNOWN = -1


class _Columns:
    """Tables of columns are equal when all their columns are."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [each.name for each in fields(self)]  # type: ignore[arg-type]  # a dataclass
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]  # arrays inside: equal by content, so not hashable


@dataclass(frozen=True)
class RankIdentity:
    """Who a rank is, as its trace tells, and on what it ran."""

    rank: int | None = None
    world_size: int | None = None
    host: str = ""
    pid: int = UNKNOWN
    gpu: int = UNKNOWN
    """The number of its GPU in the trace file."""
    gpu_uuid: str = ""
    gpu_model: str = ""
    chip: str = ""
    clock_mhz: int = UNKNOWN
    """The highest engine clock of the GPU, as the trace says."""
    compute_units: int = UNKNOWN


class Group(NamedTuple):
    """A process group as one rank knows it; equal names on several ranks may be several groups."""

    name: str
    description: str = ""
    size: int = UNKNOWN
    ranks: tuple[int, ...] = ()
    """The members' global ranks, where the trace lists them."""


class CollectiveUse(NamedTuple):
    """What a collective does: equal for all rows with the same use number."""

    operation: str
    """As `collectives.bandwidth.Operation` calls it: all-reduce, ...; "" when unknown."""
    group: int = UNKNOWN
    """A row of `RankDigest.groups`."""
    dtype: str = ""
    size_bytes: int = UNKNOWN
    """The size that bandwidths refer to (`bandwidth.Message.size_bytes`)."""
    bus_factor: float = 0.0
    """Bus bandwidth / algorithm bandwidth; 0 when unknown."""
    name: str = ""
    """As recorded, or the kernel's short name where nothing was."""


@dataclass(frozen=True, eq=False)
class CollectiveRows(_Columns):
    """The collectives of a rank in the order in which they began on its GPU."""

    start_ns: Times
    end_ns: Times
    use: Numbers
    """A row of `RankDigest.uses`."""
    queue: Numbers
    """A small number for each GPU queue."""
    sequence: Times
    """The number that the library gave it within its group."""
    peer: Numbers
    """The global rank at the other end of a send or a receive."""
    step: Numbers
    """A row of `RankDigest.steps`."""
    compute_before_ns: Times
    """How long compute ran between the end of the collective before (the latest end of all earlier
    rows; for the first row: the rank's first op) and this start; 0 where they overlap."""
    idle_before_ns: Times
    """In the same time, how long nothing ran on the GPU."""
    host_late_ns: Times
    """Of `idle_before_ns`, how long the next op was not launched yet."""
    exposed_ns: Times
    """Of the collective's own time, how long no compute ran."""
    exposed_tail_ns: Times
    """How long right before its end no compute ran: more than 0 means somebody waited for it."""

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True, eq=False)
class StepRows(_Columns):
    """The steps of a rank in order of time, as `analyze.steps.steps_of` tells them."""

    start_ns: Times
    """When its first op began on the GPU."""
    end_ns: Times
    """When its last op ended."""
    label: Times
    """The number in its marker's name (`ProfilerStep#12`)."""
    phase: Numbers
    """A row of `RankDigest.phases`."""
    busy_ns: Times
    """The union of all its ops, within start and end."""
    compute_ns: Times
    """The union of its compute."""
    collective_ns: Times
    """The union of its collectives."""
    exposed_ns: Times
    """Of that, while no compute ran."""
    host_late_ns: Times
    """How long the GPU was idle with the next op not launched yet."""
    moe_ns: Times
    """Summed durations of kernels of the category of experts."""
    kernel_count: Times
    """Its compute kernels; collectives are rows of their own."""
    work_items: Times
    """Summed launch sizes of its compute kernels: more means more work, not a slower GPU."""

    def __len__(self) -> int:
        return len(self.start_ns)


class KernelTotal(NamedTuple):
    """All runs of one compute kernel on a rank; the digest has those with most time."""

    name: str
    """The short name that all commands show."""
    category: str
    run_count: int
    total_ns: int
    median_ns: int
    shortest_ns: int
    work_items: int


@dataclass(frozen=True, eq=False)
class TimeBins(_Columns):
    """The rank's time cut into equal bins: how long each kind of work ran in each."""

    first_ns: int
    width_ns: int
    busy_ns: Times
    compute_ns: Times
    collective_ns: Times
    exposed_ns: Times
    """Collectives while no compute ran."""

    def __len__(self) -> int:
        return len(self.busy_ns)


@dataclass(frozen=True)
class RankDigest:
    """Everything that is kept of one rank."""

    identity: RankIdentity
    path: str
    """The file or folder it was made of, as it was named; the first where there are several."""
    format: str
    op_count: int
    first_ns: int
    """When the rank's first op began."""
    last_ns: int
    """When its last op ended."""
    groups: tuple[Group, ...]
    uses: tuple[CollectiveUse, ...]
    collectives: CollectiveRows
    steps: StepRows
    steps_told_by: str
    """How steps were told, for people; "" without steps."""
    phases: tuple[str, ...]
    kernels: tuple[KernelTotal, ...]
    bins: TimeBins
    monitors: tuple[tuple[str, float], ...] = ()
    """Means of values sampled while it ran: ("sclk", 1890.0), ..."""
    clock: str = ""
    """What names the clock where two ranks may share one (host and boot); "" when unknown."""
    lost_ops: int = 0
    """Ops that are known to be missing: lost by the recorder or left out."""
    older_ops: int = 0
    """Dispatches that made room for newer ones, where the newest were to be kept; none of these."""
    is_sampled: bool = False
    notes: tuple[str, ...] = field(default=())
    """What a reader skipped or repaired, and what could not be told, as sentences."""
    later_files: tuple[tuple[int, str], ...] = ()
    """When the first op of each other file began, and its path, in order of time. Digests are put
    together where they are used, so that these never travel."""

    @property
    def paths(self) -> tuple[str, ...]:
        """All its files, in order of time."""
        return (self.path, *(path for _, path in self.later_files))

    def path_at(self, time_ns: int) -> str:
        """The file that has this time of the rank's own clock."""
        begun = [path for first_ns, path in self.later_files if first_ns <= time_ns]
        return begun[-1] if begun else self.path
