"""What may be wrong with a job, and with its files."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class FaultKind(enum.Enum):
    """The kinds of faults; those of files leave the run itself as it is."""

    SLOW_COMPUTE = "a lower clock: the same kernels take longer"
    OTHER_GPU_MODEL = "a slower GPU model on one host"
    SLOW_HOST = "all GPUs of a host are slower"
    MORE_WORK = "larger launches: more tokens, hot experts"
    LATE_DATA = "the host launches late at the beginning of steps"
    LATE_PYTHON = "the host stalls in the middle of steps"
    SLOW_LINK = "transfers take longer: of groups with these ranks, or between two hosts"
    MISSING_FILE = "a rank has no file"
    HALF_FILE = "the file of a rank is cut off"
    RESTART = "the trace of a rank begins later, by another clock"
    CLOCK_JUMP = "the clock of a rank jumps in the middle of the trace"
    MISSING_COLLECTIVES = "a rank's trace lacks some collectives"


FILE_FAULTS = frozenset(
    {
        FaultKind.MISSING_FILE,
        FaultKind.HALF_FILE,
        FaultKind.RESTART,
        FaultKind.CLOCK_JUMP,
        FaultKind.MISSING_COLLECTIVES,
    }
)


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong."""

    kind: FaultKind
    ranks: tuple[int, ...] = ()
    hosts: tuple[int, ...] = ()
    """One host whose GPUs are meant, or two between which the link is slow."""
    size: float = 0.1
    """Slower or more by this share; of late hosts the stall as a share of a clean step; of
    restarts and half-written files the share of the time that is missing."""
    steps: tuple[int, int] | None = None
    """Only in these steps: first, and the one after the last; None for all."""
    rotate_every: int = 0
    """Another of `ranks` has it each so many steps; 0 for all of them always."""

    def is_active(self, step: int) -> bool:
        return self.steps is None or self.steps[0] <= step < self.steps[1]

    def active_ranks(self, step: int) -> tuple[int, ...]:
        """The ranks that have it in this step."""
        if not self.is_active(step):
            return ()
        if not self.rotate_every:
            return self.ranks
        return (self.ranks[step // self.rotate_every % len(self.ranks)],)
