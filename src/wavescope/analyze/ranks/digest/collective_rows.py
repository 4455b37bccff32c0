"""The collectives of a rank as rows: when, what, with whom, and what ran before and meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from wavescope.analyze.collectives import (
    RecordedCollectives,
    RecordedGroup,
    RecordedKind,
    recorded_collectives,
)
from wavescope.analyze.ranks.digest.host_late import HostLate
from wavescope.analyze.ranks.digest.rank_digest import (
    UNKNOWN,
    CollectiveRows,
    CollectiveUse,
    Group,
    Numbers,
)
from wavescope.analyze.ranks.digest.rank_ops import RankOps, Rows
from wavescope.arrays.coded_columns import DistinctRows
from wavescope.arrays.intervals import Times
from wavescope.names.kernel_names import short_name

_LARGEST_RANK = (1 << 31) - 1
_LARGEST_SIZE = 1 << 60


class Collectives(NamedTuple):
    """The collectives of a rank with what their numbers stand for."""

    rows: CollectiveRows
    uses: tuple[CollectiveUse, ...]
    groups: tuple[Group, ...]


def collectives_of(
    ops: RankOps,
    steps: Numbers,
    late: HostLate | None,
    stated_groups: Mapping[str, RecordedGroup],
) -> Collectives:
    """The collectives of a rank, given the step of each; `stated_groups` are what the file says of
    groups by name."""
    rows = ops.collective_rows
    starts, ends = ops.starts[rows], ops.ends[rows]
    before = _before(ops, starts, ends)
    # Each search among the ops of a rank costs as much as all else here.
    computed_before, computed, computed_after = (
        ops.compute.until(times) for times in (before, starts, ends)
    )
    idle_before = starts - before - ops.busy.between(before, starts)
    if late is None:
        late_before = np.full(len(rows), UNKNOWN, np.int64)
    else:
        late_before = late.between(before, starts, idle_before)
    told = _told(ops, rows)
    uses, use_of_kind, groups = _numbered(told.kinds, stated_groups)
    columns = CollectiveRows(
        start_ns=starts,
        end_ns=ends,
        use=use_of_kind[told.kind],
        queue=_queue_numbers(ops, rows),
        sequence=told.sequence,
        peer=np.where(told.peer <= _LARGEST_RANK, told.peer, UNKNOWN).astype(np.int32),
        step=steps,
        compute_before_ns=computed - computed_before,
        idle_before_ns=idle_before,
        host_late_ns=late_before,
        exposed_ns=ends - starts - (computed_after - computed),
        exposed_tail_ns=ends - np.maximum(starts, ops.compute.last_before(ends)),
    )
    return Collectives(columns, uses, groups)


def _before(ops: RankOps, starts: Times, ends: Times) -> Times:
    """For each collective the latest end of all before it, at most its own start."""
    latest = np.maximum.accumulate(np.concatenate(([ops.first_ns], ends[:-1])))
    return np.minimum(latest[: len(starts)], starts)


def _told(ops: RankOps, rows: Rows) -> RecordedCollectives:
    trace_rows = rows if ops.rows is None else ops.rows[rows]
    return recorded_collectives(ops.trace, trace_rows.astype(np.int64))


def _queue_numbers(ops: RankOps, rows: Rows) -> Numbers:
    """For each collective a small number for its queue, in the order of GPU and queue numbers."""
    gpus, queues = ops.column("gpu")[rows], ops.column("queue")[rows]
    numbers, firsts = DistinctRows(2).number((gpus, queues))
    order = np.lexsort((queues[firsts], gpus[firsts]))
    small = np.empty(len(firsts), np.int32)
    small[order] = np.arange(len(firsts))
    return small[numbers]


def _numbered(
    kinds: Sequence[RecordedKind], stated: Mapping[str, RecordedGroup]
) -> tuple[tuple[CollectiveUse, ...], Numbers, tuple[Group, ...]]:
    """Each different use once, the use of each kind, and each different group once."""
    groups: dict[Group, int] = {}
    uses: dict[CollectiveUse, int] = {}
    numbers = np.empty(len(kinds), np.int32)
    for place, kind in enumerate(kinds):
        group = UNKNOWN
        if kind.group is not None:
            group = groups.setdefault(_group(kind.group, stated), len(groups))
        numbers[place] = uses.setdefault(_use(kind, group), len(uses))
    return tuple(uses), numbers, tuple(groups)


def _group(recorded: RecordedGroup, stated: Mapping[str, RecordedGroup]) -> Group:
    """A group with what the file says of it elsewhere, where that does not contradict it."""
    size, ranks, description = recorded.size, recorded.ranks, recorded.description
    more = stated.get(recorded.name)
    if more is not None and not ranks and (size in (UNKNOWN, more.size)):
        size, ranks = more.size, more.ranks
        description = description or more.description
    return Group(recorded.name, description, size, ranks)


def _use(kind: RecordedKind, group: int) -> CollectiveUse:
    message = kind.use.message
    size_bytes = message.size_bytes
    return CollectiveUse(
        operation=message.operation.value if message.operation is not None else "",
        group=group,
        dtype=kind.use.dtype or "",
        size_bytes=UNKNOWN if size_bytes is None or size_bytes >= _LARGEST_SIZE else size_bytes,
        bus_factor=message.bus_factor or 0.0,
        name=kind.use.operation if kind.is_named else short_name(kind.kernel),
    )
