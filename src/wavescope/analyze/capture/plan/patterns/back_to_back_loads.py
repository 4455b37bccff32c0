"""Loads one after the other with nothing between them: the memory queue is full, loads stall."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.instruction_kinds import WAIT_KINDS, Kind
from wavescope.analyze.capture.plan.context import Group, Opportunity, PlanContext, Sketch
from wavescope.model.capture import Flags, Integers, Rows

_LOADS = (Kind.VMEM_LOAD, Kind.LOAD_TO_LDS)
_LONG_RUN = 4
_STALLED_PERCENT = 50


_FIX = "put work between the loads, or use fewer and wider loads"
_FIX_IN_LOOP = (
    "interleave: load the next tile between the matrix instructions of this one (double "
    "buffering), or use fewer and wider loads"
)


def find(context: PlanContext, free: Flags) -> list[Opportunity]:
    """Loads that stall themselves as the fourth or later of a run without matrix work or waits."""
    pieces = context.pieces
    chosen = free & pieces.is_own & context.cause_is(*_LOADS)
    if not chosen.any():
        return []
    loads = np.flatnonzero(chosen)
    run = _place_in_run(context, pieces.event[loads])
    chosen[loads] = run >= _LONG_RUN
    return [
        _opportunity(context, group, int(run[np.searchsorted(loads, group.pieces)].max()))
        for group in context.groups(chosen)
        if _stall_rate(context, group) >= _STALLED_PERCENT
    ]


def _place_in_run(context: PlanContext, events: Rows) -> Integers:
    """How many loads their waves issued up to `events` since the last matrix work or wait."""
    begins = context.analysis.executed.offsets[:-1].astype(np.int32)
    breaks = context.analysis.events_of(Kind.MATRIX, Kind.BARRIER, *WAIT_KINDS)
    # A run begins anew with its wave, too.
    breaks = np.sort(np.concatenate([breaks, begins]))
    loads = context.analysis.events_of(*_LOADS)
    last_break = breaks[np.searchsorted(breaks, events, side="right") - 1]
    found: Integers = np.searchsorted(loads, events, side="right")
    found -= np.searchsorted(loads, last_break)
    return found


def _stall_rate(context: PlanContext, group: Group) -> float:
    """Stall of the group's instructions in percent of their latency."""
    rows = list(group.cause_rows)
    instructions = context.analysis.instructions
    return 100 * int(instructions.stall[rows].sum()) / max(int(instructions.latency[rows].sum()), 1)


def _opportunity(context: PlanContext, group: Group, longest: int) -> Opportunity:
    rate = _stall_rate(context, group)
    load = context.distinct_lines(group.cause_rows, 1)[0]
    is_repeated = context.is_repeated(group.cause_rows[0])
    return Opportunity(
        pattern="back-to-back-loads",
        title="loads are issued back to back until the memory queue is full",
        evidence=f"{context.stall_evidence(group)}; runs of up to {longest} loads without any "
        f"matrix instruction between them, {rate:.0f} % of these loads' time is stall",
        cause="the queue to memory takes no more loads, and the wave has nothing else to do",
        fix=_FIX_IN_LOOP if is_repeated else _FIX,
        where=group.where,
        pieces=group.pieces,
        sketch=_sketch(load, longest, is_repeated=is_repeated),
        numbers={"longest_run": longest, "stall_percent": rate},
    )


def _sketch(load: str, longest: int, *, is_repeated: bool) -> Sketch:
    if is_repeated:
        return Sketch(
            (
                "for each tile:",
                f"    {load}  # x {longest}, then stalls",
                "    <compute on the tile>",
            ),
            (
                f"{load}  # first tile",
                "for each tile:",
                f"    {load}  # of the next tile, between the steps below",
                "    <compute on this tile>",
            ),
        )
    return Sketch(
        (f"{load}  # x {longest}, then stalls", "<compute>"),
        (f"{load}  # what is needed first", "<compute on it, with the other loads in between>"),
    )
