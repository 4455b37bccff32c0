"""The digests of a trace, made of its columns."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import orjson

from wavescope.analyze.collectives import RecordedGroup, listed_ranks
from wavescope.analyze.ops.coverage import older_than_kept, recorded
from wavescope.analyze.ranks.digest.collective_rows import collectives_of
from wavescope.analyze.ranks.digest.digest_options import DigestOptions
from wavescope.analyze.ranks.digest.host_late import host_late
from wavescope.analyze.ranks.digest.kernel_totals import kernel_totals
from wavescope.analyze.ranks.digest.launch_sizes import LaunchSizes, launch_sizes
from wavescope.analyze.ranks.digest.rank_digest import UNKNOWN, RankDigest
from wavescope.analyze.ranks.digest.rank_ops import RankOps
from wavescope.analyze.ranks.digest.step_rows import rank_steps
from wavescope.analyze.ranks.digest.time_bins import time_bins
from wavescope.analyze.ranks.digest.trace_ranks import TraceRank, trace_ranks
from wavescope.arrays import Array
from wavescope.model.columns import LINKS, MONITORS, OPS
from wavescope.model.trace import Trace

OP_COLUMNS = (
    "start_ns",
    "end_ns",
    "name",
    "type",
    "gpu",
    "queue",
    "process",
    "marker",
)
"""What digests are made of beside launch sizes, read from the file in one pass."""
_CALL_COLUMNS = ("id", "start_ns", "end_ns", "name", "process", "thread")
"""What tells launches, and records of collectives around them."""
_JOB = "chrome.distributedInfo"
_BOOT = "boot_id"
_MOST_NOTES = 100
_FIRST_ROWS = 1 << 12


def digests_of(trace: Trace, options: DigestOptions | None = None) -> tuple[RankDigest, ...]:
    """The digest of each rank in the trace, mostly one."""
    if trace.source.row_count(LINKS) > 0:
        trace.links.load("call", "op")
        trace.calls.load(*_CALL_COLUMNS)
    work_items = launch_sizes(trace, (*OP_COLUMNS, *_further_columns(trace)))
    chosen = options or DigestOptions()
    return tuple(_digest(rank, work_items, chosen) for rank in trace_ranks(trace))


def _further_columns(trace: Trace) -> Iterator[str]:
    """What will be needed, too: another pass over the file would cost far more."""
    if trace.source.row_count(LINKS) > 0:
        yield "id"
    first = next(iter(trace.source.batches(OPS, ("marker",), _FIRST_ROWS)), None)
    if first is not None and np.any(first["marker"] != UNKNOWN):
        yield "thread"


def _digest(rank: TraceRank, work_items: Array, options: DigestOptions) -> RankDigest:
    trace, ops = rank.trace, RankOps.of(rank.trace)
    own_items = work_items if rank.rows is None else work_items[rank.rows]
    sizes = LaunchSizes.of(ops.of_working(own_items))
    late = host_late(ops)
    steps = rank_steps(ops, sizes, late, options)
    collectives = collectives_of(ops, steps.of_collective, late, _stated_groups(trace))
    is_sampled = recorded(trace) is not None
    older_ops, missing_ops = _missing_dispatches(rank)
    return RankDigest(
        identity=rank.identity,
        path=trace.path,
        format=trace.format,
        op_count=len(trace.ops),
        first_ns=ops.first_ns,
        last_ns=ops.last_ns,
        groups=collectives.groups,
        uses=collectives.uses,
        collectives=collectives.rows,
        steps=steps.rows,
        steps_told_by=steps.told_by,
        phases=steps.phases,
        kernels=kernel_totals(ops, sizes, options.kernel_count),
        bins=time_bins(ops, options.bin_count),
        monitors=_monitors(trace, rank.identity.gpu),
        clock=_clock(trace, rank.identity.host),
        lost_ops=missing_ops + ops.unusable_count,
        older_ops=older_ops,
        is_sampled=is_sampled,
        notes=tuple(_notes(rank, ops, is_sampled))[:_MOST_NOTES],
    )


def _notes(rank: TraceRank, ops: RankOps, is_sampled: bool) -> Iterator[str]:
    yield from rank.trace.notes.sentences()
    yield from rank.notes
    if not len(ops):
        yield "there are no GPU ops in the trace"
    if ops.unusable_count:
        yield f"ops with impossible times were left out: {ops.unusable_count:,}"
    if is_sampled:
        yield "only slices of the run were recorded: collectives and steps are not complete"


def _stated_groups(trace: Trace) -> dict[str, RecordedGroup]:
    """The process groups that the file lists, by name."""
    text = trace.metadata.get(_JOB, "")
    try:
        job = orjson.loads(text) if text else {}
    except orjson.JSONDecodeError:
        return {}
    listed = job.get("pg_config") if isinstance(job, dict) else None
    if not isinstance(listed, list):
        return {}
    groups = {}
    for each in listed:
        if isinstance(each, dict) and isinstance(each.get("pg_name"), str):
            size = each.get("pg_size")
            known = size if type(size) is int and 0 < size < 1 << 31 else UNKNOWN
            ranks = listed_ranks(each.get("ranks"), known)
            description = each.get("pg_desc")
            groups[each["pg_name"]] = RecordedGroup(
                each["pg_name"],
                description if isinstance(description, str) else "",
                known if known != UNKNOWN or not ranks else len(ranks),
                ranks if known in (UNKNOWN, len(ranks)) else (),
            )
    return groups


def _monitors(trace: Trace, gpu: int) -> tuple[tuple[str, float], ...]:
    """The mean of each value that was sampled on the rank's GPU."""
    table = trace.table(MONITORS)
    if not len(table):
        return ()
    table.load("device", "quantity", "value", "device_type")
    rows = np.flatnonzero(table["device"] == gpu)
    mine = table.take(rows)
    sums: dict[str, list[float]] = {}
    columns = (mine.strings(name) for name in ("device_type", "quantity", "value"))
    for kind, quantity, text in zip(*columns, strict=True):
        value = _real(text)
        if value is not None and kind.lower() in ("gpu", ""):
            sums.setdefault(quantity, []).append(value)
    return tuple((name, math.fsum(values) / len(values)) for name, values in sorted(sums.items()))


def _real(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e18 else None


def _clock(trace: Trace, host: str) -> str:
    """The name of the clock, where the file says of which start of which machine it is."""
    boot = trace.metadata.get(_BOOT, "")
    return f"{host} {boot}" if host and boot else ""


def _missing_dispatches(rank: TraceRank) -> tuple[int, int]:
    """How many of its processes made room for newer ones, and were skipped or lost otherwise."""
    table = rank.trace.coverage
    if not len(table):
        return 0, 0
    table.load("process", "skipped", "lost")
    of_process = table["process"]
    mine = np.isin(of_process, sorted(rank.processes)) | (of_process == UNKNOWN)
    missing = sum(
        int(value)
        for name in ("skipped", "lost")
        for value in table[name][mine].tolist()
        if value > 0
    )
    older = sum(older_than_kept(rank.trace, mine).values())
    return older, missing - older
