"""Exposed stall that no other pattern explains, by what causes it: nothing large is silent."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.instruction_kinds import KINDS, Kind
from wavescope.analyze.capture.plan.context import Group, Opportunity, PlanContext, Sketch
from wavescope.model.capture import Flags, Integers

_LEAST_PERCENT = 3.0
"""Of all waves' time: less is not told where nobody knows more than what instructions stalled."""


class _Family(NamedTuple):
    """Kinds of instructions whose stall has one cause and one way to hide it."""

    pattern: str
    kinds: tuple[Kind, ...]
    title: str
    cause: str
    fix: str
    only_waits: bool = False
    """Whether only stall counts that shows where waves wait for these instructions."""


_FAMILIES = (
    _Family(
        "lds-latency",
        (Kind.LDS, Kind.LDS_ATOMIC, Kind.LDS_PERMUTE),
        "LDS accesses have nothing to hide behind",
        "waves access LDS and wait for it with no other work to do; lanes that meet in one bank "
        "take longer, which counters tell (--counters)",
        "issue several accesses before the first wait, access LDS wider (b128), exchange values "
        "within a wave by DPP instead, or run more waves",
    ),
    _Family(
        "scalar-load",
        (Kind.SMEM,),
        "scalar loads are waited for with nothing to hide them",
        "scalar loads finish in any order, so that a wait for one of them waits for all, and the "
        "wave has no other work",
        "load what does not change before the loop, and what changes one round ahead, with one "
        "wide load for all of it",
    ),
    _Family(
        "store-wait",
        (Kind.VMEM_STORE,),
        "waves wait until their stores have completed",
        "a fence, a barrier or the end needs the stores done; where loads and stores share a "
        "counter (gfx9) a wait for a load waits for the stores before it, too",
        "store later or wait later, wait only where another wave reads what was stored, and issue "
        "loads before stores",
        only_waits=True,
    ),
    _Family(
        "store-stall",
        (Kind.VMEM_STORE,),
        "stores are issued faster than memory takes them",
        "the queue to memory takes no more stores",
        "store wider and to whole lines, spread stores over the work, and write fewer bytes "
        "(smaller types, fused kernels)",
    ),
    _Family(
        "matrix-unit",
        (Kind.MATRIX,),
        "matrix instructions wait to be issued",
        "none of the instructions just before them writes what they read: their operands come "
        "from elsewhere, or their unit takes no more",
        "look at the instructions before them; time in which the matrix unit works counts as "
        "hidden here",
    ),
    _Family(
        "arithmetic-stall",
        (
            Kind.VALU,
            Kind.VALU_TRANSCENDENTAL,
            Kind.VALU_PERMUTE,
            Kind.SALU,
            Kind.BRANCH,
            Kind.NOP,
            Kind.ALU_WAIT,
        ),
        "arithmetic waits for results with no other work",
        "instructions need what those just before them compute, or a unit that is slow (double "
        "precision, transcendental functions), and no other wave has work",
        "compute several independent elements in turn, use cheaper operations, or run more waves",
    ),
)


def find(context: PlanContext, free: Flags) -> list[Opportunity]:
    """One opportunity for each cause of what is left, and one for all other kinds of it."""
    found = []
    left = free & (context.pieces.exposed > 0)
    for family in _FAMILIES:
        chosen = left & context.cause_is(*family.kinds)
        if family.only_waits:
            chosen &= context.pieces.is_wait
        left &= ~chosen
        found += _opportunities(context, np.flatnonzero(chosen), family)
    rest = np.flatnonzero(left)
    return found + _opportunities(context, rest, _family_of_rest(context, rest))


def _family_of_rest(context: PlanContext, pieces: Integers) -> _Family:
    kinds = np.unique(context.analysis.kind_code[context.pieces.cause_row[pieces]])
    return _Family(
        "unexplained-stall",
        (),
        f"instructions of other kinds stall: {', '.join(KINDS[code].value for code in kinds)}",
        "no pattern explains it",
        "look at these instructions: `wavescope hotspots`",
    )


def _opportunities(context: PlanContext, pieces: Integers, family: _Family) -> list[Opportunity]:
    exposed = int(context.pieces.exposed[pieces].sum())
    if context.share(exposed) < _LEAST_PERCENT:
        return []
    group = _with_all_places(context, context.group_of(pieces))
    hidden, _, latency = context.hiding(pieces)
    timing = (
        f"; issued {hidden:,} cycles before it is waited for, arrives after {latency:,}"
        if latency
        else ""
    )
    return [
        Opportunity(
            pattern=family.pattern,
            title=family.title,
            evidence=context.stall_evidence(group) + timing,
            cause=family.cause,
            fix=family.fix,
            where=group.where,
            pieces=pieces,
            sketch=_sketch(context, group),
            numbers={"hidden_cycles": hidden, "latency_cycles": latency},
        )
    ]


def _with_all_places(context: PlanContext, group: Group) -> Group:
    others = len({context.place(row) for row in group.cause_rows}) - 1
    if not others:
        return group
    return replace(group, where=f"{group.where} and {others} other place{'s' * (others > 1)}")


def _sketch(context: PlanContext, group: Group) -> Sketch:
    """Only for what is waited for: a row that stalls itself has no other line to stand beside."""
    cause, wait = group.cause_rows[0], group.wait_rows[0]
    if cause == wait:
        return Sketch()
    text = context.distinct_lines(group.cause_rows, 1)[0]
    return Sketch(
        (text, f"{context.instruction(wait)}  # waits"),
        (text, "<other work>", context.instruction(wait)),
    )
