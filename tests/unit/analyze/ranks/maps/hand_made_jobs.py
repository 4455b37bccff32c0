"""Jobs of ranks put together by hand, for tests of maps and pages.

PlayedJob(rank_count=8, slow={3: 1.25}).built()    # rank 3 computes 25 % longer
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from wavescope.analyze.ranks.digest import (
    CollectiveRows,
    CollectiveUse,
    Group,
    RankDigest,
    RankIdentity,
    StepRows,
    TimeBins,
)
from wavescope.analyze.ranks.job import ClockState, Job, MatchedBy, MatchedGroup, RankClock

Span = tuple[int, int]


def times(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def binned(spans: Sequence[Span], first_ns: int, width_ns: int, count: int) -> np.ndarray:
    """How much of each bin the spans, which do not overlap, cover: counted one by one."""
    found = np.zeros(count, np.int64)
    for number in range(count):
        low = first_ns + number * width_ns
        for start, end in spans:
            found[number] += max(0, min(end, low + width_ns) - max(start, low))
    return found


def bins_of(
    compute: Sequence[Span],
    exposed: Sequence[Span],
    first_ns: int,
    last_ns: int,
    count: int,
) -> TimeBins:
    """The bins of spans that do not overlap."""
    width_ns = max(1, -(-(last_ns - first_ns) // count))
    compute_ns = binned(compute, first_ns, width_ns, count)
    exposed_ns = binned(exposed, first_ns, width_ns, count)
    return TimeBins(first_ns, width_ns, compute_ns + exposed_ns, compute_ns, exposed_ns, exposed_ns)


def collective_rows(starts: np.ndarray, ends: np.ndarray, step: np.ndarray) -> CollectiveRows:
    count = len(starts)
    zeros, ints = np.zeros(count, np.int64), np.zeros(count, np.int32)
    return CollectiveRows(
        start_ns=starts,
        end_ns=ends,
        use=ints,
        queue=ints,
        sequence=np.arange(count, dtype=np.int64),
        peer=np.full(count, -1, np.int32),
        step=step.astype(np.int32),
        compute_before_ns=zeros,
        idle_before_ns=zeros,
        host_late_ns=zeros,
        exposed_ns=ends - starts,
        exposed_tail_ns=zeros,
    )


def step_rows(starts: np.ndarray, ends: np.ndarray, compute_ns: np.ndarray) -> StepRows:
    count = len(starts)
    zeros = np.zeros(count, np.int64)
    spent = ends - starts
    return StepRows(
        start_ns=starts,
        end_ns=ends,
        label=np.arange(count, dtype=np.int64),
        phase=np.zeros(count, np.int32),
        busy_ns=spent,
        compute_ns=compute_ns,
        collective_ns=spent - compute_ns,
        exposed_ns=spent - compute_ns,
        host_late_ns=zeros,
        moe_ns=zeros,
        kernel_count=zeros + 10,
        work_items=zeros,
    )


def digest(rank: int, first_ns: int, last_ns: int, bins: TimeBins) -> RankDigest:
    """A rank without collectives and steps."""
    none = times()
    return RankDigest(
        identity=RankIdentity(rank=rank, host=f"node{rank // 8:03d}", gpu=rank % 8),
        path=f"run/rank{rank}.db",
        format="wavescope",
        op_count=1_000,
        first_ns=first_ns,
        last_ns=last_ns,
        groups=(Group("world"),),
        uses=(CollectiveUse("all-reduce", 0, "bf16", 1 << 20, 1.5, "AllReduce"),),
        collectives=collective_rows(none, none, none),
        steps=step_rows(none, none, none),
        steps_told_by="markers",
        phases=("",),
        kernels=(),
        bins=bins,
    )


def job(
    ranks: Sequence[RankDigest],
    clocks: Sequence[RankClock] | None = None,
    groups: Sequence[MatchedGroup] = (),
    steps: np.ndarray | None = None,
) -> Job:
    count = len(ranks)
    return Job(
        ranks=tuple(ranks),
        numbers=tuple(range(count)),
        groups=tuple(groups),
        mismatches=(),
        clocks=tuple(clocks or [RankClock(ClockState.ALIGNED)] * count),
        steps=np.empty((count, 0), np.int32) if steps is None else steps.astype(np.int32),
    )


def world(rows: np.ndarray) -> MatchedGroup:
    """A group of all ranks: `rows` is [rank, exchange]."""
    return MatchedGroup(
        name="world",
        description="default_pg",
        members=np.arange(rows.shape[0], dtype=np.int32),
        size=rows.shape[0],
        uses=(CollectiveUse("all-reduce", 0, "bf16", 1 << 20, 1.5, "AllReduce"),),
        use=np.zeros(rows.shape[1], np.int32),
        rows=rows.astype(np.int32),
        matched_by=MatchedBy.SEQUENCE,
        confidence=1.0,
    )


@dataclass(frozen=True)
class PlayedJob:
    """Steps of compute and one all-reduce, which ends everywhere when the last has come."""

    rank_count: int = 8
    step_count: int = 20
    compute_ns: int = 9_000_000
    transfer_ns: int = 1_000_000
    bin_count: int = 256
    slow: dict[int, float] = field(default_factory=dict)
    """By rank: how many times as long its compute takes."""
    offsets_ns: dict[int, int] = field(default_factory=dict)
    """By rank: how far its clock is ahead of the common time."""
    unknown_clocks: frozenset[int] = frozenset()
    epoch_ns: int = 1_763_000_000_123_456_789
    seed: int = 7

    def built(self) -> Job:
        random = np.random.default_rng(self.seed)
        shape = (self.rank_count, self.step_count)
        slowness = np.array([self.slow.get(rank, 1.0) for rank in range(self.rank_count)])
        compute = self.compute_ns * slowness[:, None] * random.uniform(0.99, 1.01, shape)
        compute_ns = compute.astype(np.int64)
        ends_at = np.cumsum(compute_ns.max(axis=0) + self.transfer_ns)
        begins_at = np.concatenate([[0], ends_at[:-1]])
        digests = [
            self._digest(rank, begins_at, begins_at + compute_ns[rank], ends_at)
            for rank in range(self.rank_count)
        ]
        rows = np.tile(np.arange(self.step_count), (self.rank_count, 1))
        return job(
            digests, [self._clock(rank) for rank in range(self.rank_count)], [world(rows)], rows
        )

    def _clock(self, rank: int) -> RankClock:
        if rank in self.unknown_clocks:
            return RankClock(ClockState.UNKNOWN, reason="nothing ties it to the others")
        offset_ns = -self.offsets_ns.get(rank, 0)
        state = ClockState.REFERENCE if rank == 0 else ClockState.ALIGNED
        low, high = offset_ns - 900, offset_ns + 700
        return RankClock(state, self.epoch_ns, offset_ns, 0.0, low, high, 300, self.step_count)

    def _digest(
        self, rank: int, begins_at: np.ndarray, comes_at: np.ndarray, ends_at: np.ndarray
    ) -> RankDigest:
        own = self.epoch_ns + self.offsets_ns.get(rank, 0)
        begins, comes, ends = begins_at + own, comes_at + own, ends_at + own
        first_ns, last_ns = int(begins[0]), int(ends[-1])
        bins = fast_bins(begins, comes, ends, self.bin_count)
        made = digest(rank, first_ns, last_ns, bins)
        return replace(
            made,
            identity=replace(made.identity, gpu_model="MI300X", world_size=self.rank_count),
            collectives=collective_rows(comes, ends, np.arange(self.step_count)),
            steps=step_rows(begins, ends, comes - begins),
        )


def fast_bins(begins: np.ndarray, comes: np.ndarray, ends: np.ndarray, count: int) -> TimeBins:
    """The bins of steps that follow each other: compute until `comes`, then exposed."""
    first_ns = int(begins[0])
    width_ns = -(-int(ends[-1] - first_ns) // count)
    edges = np.arange(count + 1) * width_ns
    corners = np.stack([begins, comes], axis=1).ravel() - first_ns
    corners = np.append(corners, ends[-1] - first_ns)
    computed = np.concatenate([[0], np.cumsum(np.stack([comes - begins, 0 * begins], 1).ravel())])
    exposed = np.concatenate([[0], np.cumsum(np.stack([0 * begins, ends - comes], 1).ravel())])
    compute_ns = np.diff(np.interp(edges, corners, computed)).astype(np.int64)
    exposed_ns = np.diff(np.interp(edges, corners, exposed)).astype(np.int64)
    busy_ns = compute_ns + exposed_ns
    return TimeBins(first_ns, width_ns, busy_ns, compute_ns, exposed_ns, exposed_ns)
