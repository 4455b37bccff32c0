"""Jobs whose matching and clocks are given, so that measures are tested by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tests.unit.analyze.ranks.digest_builder import Collective, Step, a_digest
from wavescope.analyze.ranks.digest import CollectiveUse, RankDigest
from wavescope.analyze.ranks.job import (
    MISSING,
    ClockState,
    Job,
    MatchedBy,
    MatchedGroup,
    Mismatch,
    RankClock,
)
from wavescope.analyze.ranks.measures import JobMeasures
from wavescope.analyze.ranks.stragglers import StragglerReport, Verdict

REFERENCE = RankClock(ClockState.REFERENCE)
UNKNOWN_CLOCK = RankClock(ClockState.UNKNOWN, reason="nothing ties it to the others")

Pair = tuple[int, int]


def certified(low_ns: int = -10, high_ns: int = 10, residual_ns: int = 0) -> RankClock:
    """A clock that is right, and certain between two offsets."""
    return RankClock(ClockState.ALIGNED, low_ns=low_ns, high_ns=high_ns, residual_ns=residual_ns)


def a_timed_job(
    times: Sequence[Sequence[Pair | None]],
    *,
    clocks: Sequence[RankClock] | None = None,
    collective: Collective | None = None,
    exchanges: Sequence[Collective] | None = None,
    steps: Sequence[Sequence[Step]] = (),
    group_size: int | None = None,
    name: str = "world",
    description: str = "",
    mismatches: Sequence[Mismatch] = (),
) -> Job:
    """One group of all ranks: for each rank and exchange (start, end), None where it has none.

    `exchanges` say what each exchange is; `steps` are those of each rank, matched by their order.
    """
    count = len(times[0]) if times else 0
    kinds = list(exchanges or [collective or Collective(0, 0)] * count)
    digests = []
    for rank, row in enumerate(times):
        own = [
            kind._replace(start_ns=pair[0], end_ns=pair[1])
            for kind, pair in zip(kinds, row, strict=True)
            if pair is not None
        ]
        digest = a_digest(own, steps[rank] if steps else (), rank=rank, host=f"host{rank // 2}")
        digests.append(digest)
    group = _group(times, kinds, group_size or len(times), name, description)
    return job_of_parts(digests, (group,) if count else (), clocks, mismatches)


def job_of_parts(
    digests: Sequence[RankDigest],
    groups: Sequence[MatchedGroup] = (),
    clocks: Sequence[RankClock] | None = None,
    mismatches: Sequence[Mismatch] = (),
    numbers: Sequence[int] | None = None,
) -> Job:
    """A job of these digests, their steps matched by order."""
    step_count = max((len(digest.steps) for digest in digests), default=0)
    steps = np.full((len(digests), step_count), MISSING, np.int32)
    for place, digest in enumerate(digests):
        steps[place, : len(digest.steps)] = np.arange(len(digest.steps))
    return Job(
        ranks=tuple(digests),
        numbers=tuple(numbers if numbers is not None else range(len(digests))),
        groups=tuple(groups),
        mismatches=tuple(mismatches),
        clocks=tuple(clocks) if clocks is not None else (REFERENCE,) * len(digests),
        steps=steps,
    )


def _group(
    times: Sequence[Sequence[Pair | None]],
    kinds: Sequence[Collective],
    size: int,
    name: str,
    description: str,
) -> MatchedGroup:
    uses = [
        CollectiveUse(kind.operation, 0, kind.dtype, kind.size_bytes, kind.bus_factor)
        for kind in kinds
    ]
    distinct = list(dict.fromkeys(uses))
    return MatchedGroup(
        name=name,
        description=description,
        members=np.arange(len(times), dtype=np.int32),
        size=size,
        uses=tuple(distinct),
        use=np.array([distinct.index(use) for use in uses], np.int32),
        rows=np.array([_rows(row) for row in times], np.int32).reshape(len(times), len(kinds)),
        matched_by=MatchedBy.SEQUENCE,
        confidence=1.0,
    )


def _rows(row: Sequence[Pair | None]) -> list[int]:
    """Rows of a rank's collectives, which lie in order of their start."""
    order = sorted((pair[0], place) for place, pair in enumerate(row) if pair is not None)
    found = [MISSING] * len(row)
    for number, (_, place) in enumerate(order):
        found[place] = number
    return found


def joined_groups(*jobs: Job) -> tuple[MatchedGroup, ...]:
    """The groups of several jobs."""
    return tuple(group for job in jobs for group in job.groups)


NO_REPORT = StragglerReport(Verdict.INCONCLUSIVE, "not asked")


def measured(job: Job, report: StragglerReport = NO_REPORT) -> JobMeasures:
    """What tables are made from."""
    return JobMeasures(job, report)


def with_host(digest: RankDigest, host: str) -> RankDigest:
    """The digest on another host."""
    return replace(digest, identity=replace(digest.identity, host=host))


def whole(values: npt.NDArray[np.int64]) -> list[int]:
    """An array as Python numbers."""
    return [int(value) for value in values]
