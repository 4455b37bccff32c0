"""Waits for scalar loads at the kernel's entry, before a wave has anything else to do."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.instruction_kinds import MEMORY_KINDS, Kind
from wavescope.analyze.capture.plan.context import Opportunity, PlanContext, Sketch
from wavescope.model.capture import Flags, Rows

_WORK = (Kind.MATRIX, *(kind for kind in MEMORY_KINDS if kind is not Kind.SMEM))


def find(context: PlanContext, free: Flags) -> list[Opportunity]:
    """The waits for scalar memory before a wave's first other memory or matrix instruction."""
    pieces = context.pieces
    chosen = free & context.cause_is(Kind.SMEM) & pieces.is_wait
    waits = np.flatnonzero(chosen)
    chosen[waits] = _at_entry(context, pieces.event[waits])
    found = []
    for group in context.groups(chosen):
        rounds = len(np.unique(pieces.rows_of(group.pieces)))
        in_a_row = f"; {rounds} waits one after the other" if rounds > 1 else ""
        found.append(
            Opportunity(
                pattern="scalar-entry",
                title="waves wait for scalar loads before they begin",
                evidence=f"{context.stall_evidence(group)}{in_a_row}",
                cause="kernel arguments and descriptors are loaded at entry and needed at once",
                fix="load all arguments with one wide s_load before any wait, do what needs no "
                "argument first (ids, LDS addresses), and pass fewer indirections; preloaded "
                "kernel arguments (gfx94x and later) need no load at all",
                where=group.where,
                pieces=group.pieces,
                sketch=Sketch(
                    (
                        *(context.instruction(row) for row in group.cause_rows[:2]),
                        f"{context.instruction(group.wait_rows[0])}  // stalls",
                    ),
                    (
                        *(context.instruction(row) for row in group.cause_rows[:2]),
                        "// index arithmetic that needs no argument",
                        context.instruction(group.wait_rows[0]),
                    ),
                ),
                numbers={
                    "waits": rounds,
                    "loads": context.quoted(group.cause_rows),
                    "lines": "; ".join(context.distinct_lines(group.cause_rows)),
                },
            )
        )
    return found


def _at_entry(context: PlanContext, events: Rows) -> Flags:
    """Which events come before any other memory or matrix instruction of their waves."""
    offsets = context.analysis.executed.offsets
    work = context.analysis.events_of(*_WORK)
    wave = np.searchsorted(offsets, events, side="right") - 1
    found: Flags = np.searchsorted(work, events) == np.searchsorted(work, offsets[:-1])[wave]
    return found
