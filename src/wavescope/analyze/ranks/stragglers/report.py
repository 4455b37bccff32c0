"""What is told about late ranks: the account of each step, the culprits, the verdict."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Verdict(str, enum.Enum):
    """What the comparison of the ranks came to."""

    CULPRIT = "culprit"
    NOBODY = "nobody"
    """Ranks could be compared, and none of them makes the others wait more than is natural."""
    INCONCLUSIVE = "inconclusive"


class CulpritKind(str, enum.Enum):
    """What is late."""

    RANK = "rank"
    HOST = "host"
    GPU_MODEL = "gpu_model"
    LINK = "link"
    GROUP = "group"
    ROTATING = "rotating"


class Cause(str, enum.Enum):
    """Why it is late, as far as its trace tells."""

    SLOWER_COMPUTE = "slower_compute"
    MORE_WORK = "more_work"
    HOST_LATE = "host_late"
    SLOW_LINK = "slow_link"
    WAITING_ONLY = "waiting_only"
    """It looks late, but its own parts take as long as those of others: it waits for others."""
    UNKNOWN = "unknown"


class PathKind(str, enum.Enum):
    """What the whole job waited for."""

    LOCAL = "local"
    """Work of one rank, from what it last waited for."""
    TRANSFER = "transfer"
    """An exchange, from the moment its last member arrived."""


class PathPart(NamedTuple):
    """A piece of the critical path over ranks; the pieces of a step lie end to end."""

    kind: PathKind
    place: int
    """The rank that worked; of a transfer the one that waited for its end."""
    group: int
    """A place in `Job.groups`: of a local part the exchange that it led to; -1 without one."""
    exchange: int
    start_ns: int
    """In common time."""
    end_ns: int
    reference_ns: int
    """How long it typically takes: on ranks of the same role, in exchanges of the same kind."""

    @property
    def actual_ns(self) -> int:
        return self.end_ns - self.start_ns

    @property
    def excess_ns(self) -> int:
        return self.actual_ns - self.reference_ns


@dataclass(frozen=True)
class StepAccount:
    """Where the time of one step went on the critical path."""

    step: int
    """A column of `Job.steps`; without steps the number of a part of the run."""
    actual_ns: int
    ideal_ns: int
    """What it had taken if each piece took its typical time."""
    parts: tuple[PathPart, ...]
    """In order of time; their excesses add up to `actual_ns` - `ideal_ns` exactly."""


@dataclass(frozen=True)
class Culprit:
    """Who makes the others wait."""

    kind: CulpritKind
    places: tuple[int, ...]
    """The ranks that are meant, by place."""
    name: str
    cause: Cause
    phase: str
    delay_ns: int
    """Time that the whole job lost by it, in all steps together."""
    share_percent: float
    """That of the time of all steps."""
    step_count: int
    """In how many steps it was late."""
    recurrence: str
    evidence: str
    numbers: Mapping[str, float] = field(default_factory=dict)


class RankDelay(NamedTuple):
    """One rank: how much the job waited for it, and it for others."""

    place: int
    caused_ns: int
    """Excess of its local parts on the critical path; below 0 where it was faster than typical."""
    waited_ns: int
    """How long it stood in exchanges that others had not reached yet, with nothing to compute."""
    late_count: int
    """In how many exchanges it came last."""
    exchange_count: int
    """How many exchanges of several known members it took part in."""


@dataclass(frozen=True)
class StragglerReport:
    """Who is late, and the exact account behind it."""

    verdict: Verdict
    reason: str
    culprits: tuple[Culprit, ...] = ()
    """Those that cost most time first."""
    steps: tuple[StepAccount, ...] = ()
    ranks: tuple[RankDelay, ...] = ()
    """One for each place."""
