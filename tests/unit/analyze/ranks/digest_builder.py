"""Small digests of ranks made by hand, and coherent jobs of several ranks with known times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.digest import (
    UNKNOWN,
    CollectiveRows,
    CollectiveUse,
    Group,
    KernelTotal,
    RankDigest,
    RankIdentity,
    StepRows,
    TimeBins,
)

WORLD = Group("world")


class Collective(NamedTuple):
    """One row of a rank's collectives; what is None follows from the times."""

    start_ns: int
    end_ns: int
    operation: str = "all-reduce"
    size_bytes: int = 1 << 20
    group: Group | None = WORLD
    sequence: int = UNKNOWN
    dtype: str = "BFloat16"
    name: str = ""
    peer: int = UNKNOWN
    step: int = UNKNOWN
    queue: int = 0
    bus_factor: float = 1.0
    compute_before_ns: int | None = None
    idle_before_ns: int = 0
    host_late_ns: int = 0
    exposed_ns: int | None = None
    exposed_tail_ns: int | None = None


class Step(NamedTuple):
    """One row of a rank's steps; what is None follows from the times."""

    start_ns: int
    end_ns: int
    label: int = UNKNOWN
    compute_ns: int | None = None
    collective_ns: int = 0
    exposed_ns: int = 0
    host_late_ns: int = 0
    moe_ns: int = 0
    kernel_count: int = 10
    work_items: int = 1000
    busy_ns: int | None = None
    phase: int = 0


def a_digest(
    collectives: Sequence[Collective] = (),
    steps: Sequence[Step] = (),
    *,
    rank: int = 0,
    world_size: int | None = None,
    host: str = "",
    gpu_model: str = "MI300X",
    clock_mhz: int = 2100,
    clock: str = "",
    path: str = "",
    first_ns: int | None = None,
    last_ns: int | None = None,
    kernels: Sequence[KernelTotal] = (),
    bins: TimeBins | None = None,
    monitors: Sequence[tuple[str, float]] = (),
) -> RankDigest:
    """A digest of these rows, sorted by start; groups and uses are what the rows name."""
    ordered = sorted(collectives, key=lambda row: row.start_ns)
    groups = list(dict.fromkeys(row.group for row in ordered if row.group is not None))
    row_uses = [_use_of(row, groups) for row in ordered]
    uses = list(dict.fromkeys(row_uses))
    every_start = [row.start_ns for row in (*ordered, *steps)]
    every_end = [row.end_ns for row in (*ordered, *steps)]
    first = first_ns if first_ns is not None else min(every_start, default=0)
    last = last_ns if last_ns is not None else max(every_end, default=0)
    return RankDigest(
        identity=RankIdentity(
            rank, world_size, host, 1000 + rank, 0, f"GPU-{rank}", gpu_model, "gfx942", clock_mhz
        ),
        path=path or f"rank{rank}.json",
        format="kineto",
        op_count=len(ordered) + 10 * len(steps),
        first_ns=first,
        last_ns=last,
        groups=tuple(groups),
        uses=tuple(uses),
        collectives=_collective_rows(ordered, [uses.index(use) for use in row_uses], first),
        steps=_step_rows(steps),
        steps_told_by="ProfilerStep markers" if steps else "",
        phases=("step",),
        kernels=tuple(kernels),
        bins=bins or _bins(first, last),
        monitors=tuple(monitors),
        clock=clock,
    )


def _use_of(row: Collective, groups: list[Group]) -> CollectiveUse:
    group = UNKNOWN if row.group is None else groups.index(row.group)
    name = row.name or row.operation
    return CollectiveUse(row.operation, group, row.dtype, row.size_bytes, row.bus_factor, name)


def _collective_rows(
    rows: Sequence[Collective], uses: Sequence[int], first_ns: int
) -> CollectiveRows:
    compute_before, done_ns = [], first_ns
    for row in rows:
        free = max(row.start_ns - done_ns, 0) - row.idle_before_ns
        compute_before.append(
            max(free, 0) if row.compute_before_ns is None else row.compute_before_ns
        )
        done_ns = max(done_ns, row.end_ns)
    spans = [row.end_ns - row.start_ns for row in rows]
    exposed = [
        span if row.exposed_ns is None else row.exposed_ns
        for row, span in zip(rows, spans, strict=True)
    ]
    tail = [
        shown if row.exposed_tail_ns is None else row.exposed_tail_ns
        for row, shown in zip(rows, exposed, strict=True)
    ]
    return CollectiveRows(
        start_ns=_long(row.start_ns for row in rows),
        end_ns=_long(row.end_ns for row in rows),
        use=_short(uses),
        queue=_short(row.queue for row in rows),
        sequence=_long(row.sequence for row in rows),
        peer=_short(row.peer for row in rows),
        step=_short(row.step for row in rows),
        compute_before_ns=_long(compute_before),
        idle_before_ns=_long(row.idle_before_ns for row in rows),
        host_late_ns=_long(row.host_late_ns for row in rows),
        exposed_ns=_long(exposed),
        exposed_tail_ns=_long(tail),
    )


def _step_rows(steps: Sequence[Step]) -> StepRows:
    def span(step: Step) -> int:
        return step.end_ns - step.start_ns

    return StepRows(
        start_ns=_long(step.start_ns for step in steps),
        end_ns=_long(step.end_ns for step in steps),
        label=_long(step.label for step in steps),
        phase=_short(step.phase for step in steps),
        busy_ns=_long(span(step) if step.busy_ns is None else step.busy_ns for step in steps),
        compute_ns=_long(
            span(step) - step.exposed_ns if step.compute_ns is None else step.compute_ns
            for step in steps
        ),
        collective_ns=_long(step.collective_ns for step in steps),
        exposed_ns=_long(step.exposed_ns for step in steps),
        host_late_ns=_long(step.host_late_ns for step in steps),
        moe_ns=_long(step.moe_ns for step in steps),
        kernel_count=_long(step.kernel_count for step in steps),
        work_items=_long(step.work_items for step in steps),
    )


def _bins(first_ns: int, last_ns: int, count: int = 8) -> TimeBins:
    width = max(-(-(last_ns - first_ns) // count), 1)
    full = np.full(count, width, np.int64)
    return TimeBins(first_ns, width, full, full // 2, full // 4, full // 4)


def _long(values: object) -> npt.NDArray[np.int64]:
    return np.array(list(values), np.int64)  # type: ignore[call-overload]


def _short(values: object) -> npt.NDArray[np.int32]:
    return np.array(list(values), np.int32)  # type: ignore[call-overload]


@dataclass(frozen=True)
class Slot:
    """One exchange of each step: every rank computes, then meets the others of its group."""

    groups: tuple[tuple[int, ...], ...] = ()
    """Which ranks exchange with each other; empty for one group of all."""
    name: str = "world"
    operation: str = "all-reduce"
    size_bytes: int = 1 << 20
    dtype: str = "BFloat16"
    compute_ns: int = 200_000
    transfer_ns: int = 20_000


@dataclass(frozen=True)
class JobShape:
    """What ranks do, and what their recordings tell of it."""

    rank_count: int = 4
    step_count: int = 3
    slots: tuple[Slot, ...] = (Slot(), Slot(size_bytes=1 << 22))
    seed: int = 0
    skew_ns: float = 50_000
    """Each rank's compute is longer by up to this, at random."""
    jitter_ns: float = 0
    """The standard deviation of the ends of an exchange."""
    extra_ns: Callable[[int, int, int], int] | None = None
    """More compute of a rank in a step before a slot."""
    start_ns: int = 1_700_000_000_000_000_000
    offset_ns: Sequence[int] = ()
    """By rank: its clock shows this much more."""
    drift_ppm: Sequence[float] = ()
    first_step: Sequence[int] = ()
    """By rank: the first step that was recorded."""
    is_listed: bool = True
    """Whether groups list their members."""
    is_grouped: bool = True
    """Whether groups are recorded at all."""
    is_sized: bool = True
    is_sequenced: bool = True
    is_labelled: bool = True
    host_ranks: int = 8


@dataclass(frozen=True)
class BuiltJob:
    """The digests of a job, with the true times of its exchanges."""

    shape: JobShape
    rows: tuple[tuple[Collective, ...], ...]
    """By rank, in its own clock."""
    steps: tuple[tuple[Step, ...], ...]
    true_start_ns: npt.NDArray[np.int64] = field(repr=False)
    """[rank, exchange] since the first step, in true time."""
    true_end_ns: npt.NDArray[np.int64] = field(repr=False)

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(range(self.shape.rank_count))

    @property
    def digests(self) -> tuple[RankDigest, ...]:
        return tuple(self.digest(rank) for rank in self.numbers)

    def digest(self, rank: int, rows: Sequence[Collective] | None = None) -> RankDigest:
        """The digest of a rank, or of other rows of it."""
        return a_digest(
            self.rows[rank] if rows is None else rows,
            self.steps[rank],
            rank=rank,
            world_size=self.shape.rank_count,
            host=f"host{rank // self.shape.host_ranks}",
        )

    def own_ns(self, rank: int, true_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What the rank's clock shows at these true times since the first step."""
        return own_times(self.shape, rank, true_ns)


def own_times(shape: JobShape, rank: int, true_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """What a rank's clock shows at true times since the start of the job."""
    offset = shape.offset_ns[rank] if len(shape.offset_ns) else 0
    drift = shape.drift_ppm[rank] if len(shape.drift_ppm) else 0.0
    drifted = np.rint(np.asarray(true_ns) * (drift * 1e-6)).astype(np.int64)
    own: npt.NDArray[np.int64] = shape.start_ns + offset + np.asarray(true_ns) + drifted
    return own


def a_job(shape: JobShape | None = None, **changes: object) -> BuiltJob:
    """Ranks that compute and exchange, step by step: an exchange ends when its last member has
    begun and the transfer is over."""
    shape = replace(shape or JobShape(), **changes)  # type: ignore[arg-type]
    starts, ends = _true_times(shape)
    rows, steps = [], []
    for rank in range(shape.rank_count):
        first = shape.first_step[rank] if len(shape.first_step) else 0
        own_starts = own_times(shape, rank, starts[rank]).tolist()
        own_ends = own_times(shape, rank, ends[rank]).tolist()
        rows.append(tuple(_rows_of_rank(shape, rank, first, own_starts, own_ends)))
        steps.append(tuple(_steps_of_rank(shape, first, own_starts, own_ends)))
    return BuiltJob(shape, tuple(rows), tuple(steps), starts, ends)


def _true_times(shape: JobShape) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    random = np.random.default_rng(shape.seed)
    count = shape.step_count * len(shape.slots)
    starts = np.zeros((shape.rank_count, count), np.int64)
    ends = np.zeros_like(starts)
    now = np.zeros(shape.rank_count)
    for exchange in range(count):
        step, place = divmod(exchange, len(shape.slots))
        slot = shape.slots[place]
        now += slot.compute_ns + random.uniform(0, shape.skew_ns, shape.rank_count)
        if shape.extra_ns is not None:
            now += [shape.extra_ns(rank, step, place) for rank in range(shape.rank_count)]
        starts[:, exchange] = np.rint(now)
        for members in slot.groups or (tuple(range(shape.rank_count)),):
            chosen = list(members)
            done = now[chosen].max() + slot.transfer_ns
            now[chosen] = done + np.abs(random.normal(0, 1, len(chosen))) * shape.jitter_ns
        ends[:, exchange] = np.rint(now)
    return starts, ends


def _rows_of_rank(
    shape: JobShape, rank: int, first_step: int, starts: list[int], ends: list[int]
) -> list[Collective]:
    rows = []
    numbers: dict[Group | None, int] = {}
    for exchange, (start, end) in enumerate(zip(starts, ends, strict=True)):
        step, place = divmod(exchange, len(shape.slots))
        slot = shape.slots[place]
        group = _group_of(shape, slot, rank)
        numbers[group] = numbers.get(group, -1) + 1
        if step >= first_step:
            rows.append(
                Collective(
                    start,
                    end,
                    slot.operation,
                    slot.size_bytes if shape.is_sized else UNKNOWN,
                    group,
                    numbers[group] if shape.is_sequenced else UNKNOWN,
                    slot.dtype if shape.is_sized else "",
                    step=step - first_step,
                )
            )
    return rows


def _group_of(shape: JobShape, slot: Slot, rank: int) -> Group | None:
    if not shape.is_grouped:
        return None
    everybody = tuple(range(shape.rank_count))
    members = next(group for group in (*slot.groups, everybody) if rank in group)
    return Group(slot.name, "", len(members), members if shape.is_listed else ())


def _steps_of_rank(
    shape: JobShape, first_step: int, starts: list[int], ends: list[int]
) -> list[Step]:
    slots = len(shape.slots)
    steps = []
    for step in range(first_step, shape.step_count):
        spans = list(zip(starts, ends, strict=True))[step * slots : (step + 1) * slots]
        exchanged = sum(end - start for start, end in spans)
        began = ends[step * slots - 1] if step else starts[0] - shape.slots[0].compute_ns
        label = step if shape.is_labelled else UNKNOWN
        steps.append(
            Step(began, spans[-1][1], label, collective_ns=exchanged, exposed_ns=exchanged)
        )
    return steps
