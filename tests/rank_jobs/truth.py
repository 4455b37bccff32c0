"""What is true of a simulated job: its clocks, its culprit, its delays, its exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tests.rank_jobs.conditions import ranks_of
from tests.rank_jobs.faults import FILE_FAULTS, Fault, FaultKind
from tests.rank_jobs.layout import Hosts

Integers = npt.NDArray[np.int64]

EPOCH_NS = 1_000_000_000_000_000
"""What clocks show when the job begins, up to their offsets."""


@dataclass(frozen=True)
class TrueClock:
    """own time = EPOCH_NS + true time + offset + drift; true time is 0 when the job begins."""

    offset_ns: int
    drift_ppm: float
    jump_at_ns: int | None = None
    jump_ns: int = 0

    def own(self, true_ns: npt.ArrayLike) -> Integers:
        """What the clock shows at these true times."""
        true = np.asarray(true_ns, np.float64)
        own = np.rint(true * (1 + self.drift_ppm * 1e-6)).astype(np.int64)
        own += EPOCH_NS + self.offset_ns
        if self.jump_at_ns is not None:
            own += np.where(true >= self.jump_at_ns, self.jump_ns, 0)
        return own

    def true(self, own_ns: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The true times at which a clock that never jumps shows these."""
        since = np.asarray(own_ns, np.int64) - EPOCH_NS - self.offset_ns
        result: npt.NDArray[np.float64] = since / (1 + self.drift_ppm * 1e-6)
        return result


@dataclass(frozen=True)
class Label:
    """Who is to be named, in the words of `wavescope.analyze.ranks.stragglers`."""

    kind: str = "nobody"
    """nobody, rank, host, gpu_model, link or rotating."""
    ranks: tuple[int, ...] = ()
    cause: str = ""
    """slower_compute, more_work, host_late or slow_link."""
    steps: tuple[int, int] | None = None
    """Only in these steps."""


@dataclass(frozen=True)
class TrueExchanges:
    """The collectives in the trace of a rank by their start, and which exchange each is."""

    start_ns: Integers
    """By the rank's own clock, ascending."""
    exchange: Integers
    """A number that all members of the exchange share, and no other exchange has."""


@dataclass(frozen=True)
class Truth:
    """Labels of a job. Ranks are global numbers."""

    label: Label
    delay_ns: Integers
    """Of each step: how much longer it took than in the same job without the faults."""
    step_ns: Integers
    clean_step_ns: Integers
    clocks: dict[int, TrueClock] = field(default_factory=dict)
    exchanges: dict[int, TrueExchanges] = field(default_factory=dict)
    missing_ranks: tuple[int, ...] = ()
    half_ranks: tuple[int, ...] = ()
    mismatched_ranks: tuple[int, ...] = ()
    """Whose traces lack collectives in the middle."""
    jumped_ranks: tuple[int, ...] = ()

    @property
    def delay_percent(self) -> float:
        """What the faults cost, of the time without them."""
        return 100.0 * float(self.delay_ns.sum()) / float(self.clean_step_ns.sum())


_CAUSES = {
    FaultKind.SLOW_COMPUTE: "slower_compute",
    FaultKind.OTHER_GPU_MODEL: "slower_compute",
    FaultKind.SLOW_HOST: "slower_compute",
    FaultKind.MORE_WORK: "more_work",
    FaultKind.LATE_DATA: "host_late",
    FaultKind.LATE_PYTHON: "host_late",
    FaultKind.SLOW_LINK: "slow_link",
}


def label_of(faults: Sequence[Fault], hosts: Hosts, step_count: int) -> Label:
    """The label of the first fault that is not one of files."""
    running = [fault for fault in faults if fault.kind not in FILE_FAULTS]
    if not running:
        return Label()
    fault = running[0]
    steps = range(*fault.steps) if fault.steps else range(step_count)
    ranks = sorted({rank for step in steps for rank in ranks_of(fault, hosts, step)})
    return Label(_kind(fault, len(ranks)), tuple(ranks), _CAUSES[fault.kind], fault.steps)


def _kind(fault: Fault, rank_count: int) -> str:
    if fault.rotate_every:
        return "rotating"
    if fault.kind is FaultKind.SLOW_LINK:
        return "link"
    if fault.kind is FaultKind.OTHER_GPU_MODEL:
        return "gpu_model"
    return "host" if fault.hosts else "rank" if rank_count == 1 else "group"
