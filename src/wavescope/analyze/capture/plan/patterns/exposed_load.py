"""Loads that nothing hides, outside of matrix loops: too little is under way at a time."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.analyze.capture.plan.context import Group, Opportunity, PlanContext, Sketch
from wavescope.model.capture import Flags

_LOADS = (Kind.VMEM_LOAD, Kind.LOAD_TO_LDS, Kind.ATOMIC)
_FIX = (
    "have more under way: issue all loads before the first use, load wider, give each wave more "
    "elements, or run more waves"
)
_FIX_IN_LOOP = (
    "have more under way: issue all loads of an iteration before the first use, unroll so that one "
    "iteration's loads overlap another's work, load wider, or run more waves"
)
_FIX_OF_LAST = (
    "have more under way: all loads are issued before they are waited for, so give each wave more "
    "elements, load wider, or run more waves"
)


def find(context: PlanContext, free: Flags) -> list[Opportunity]:
    """What is left of the exposed stall that loads and atomics cause."""
    chosen = free & context.cause_is(*_LOADS)
    return [_opportunity(context, group) for group in context.groups(chosen)]


def _opportunity(context: PlanContext, group: Group) -> Opportunity:
    hidden, _, latency = context.hiding(group.pieces)
    timing = (
        f"; issued {hidden:,} cycles before it is waited for, arrives after {latency:,}"
        if latency
        else ""
    )
    load = context.distinct_lines(group.cause_rows, 1)[0]
    is_repeated = context.is_repeated(group.cause_rows[0])
    is_last = not is_repeated and _is_last(context, group)
    return Opportunity(
        pattern="exposed-load",
        title="a load has nothing to hide behind",
        evidence=context.stall_evidence(group) + timing,
        cause="the wave issues the load, then waits for it with no other work to do",
        fix=_FIX_IN_LOOP if is_repeated else _FIX_OF_LAST if is_last else _FIX,
        where=group.where,
        pieces=group.pieces,
        sketch=_sketch(load, is_repeated=is_repeated, is_last=is_last),
        numbers={"hidden_cycles": hidden, "latency_cycles": latency},
    )


def _is_last(context: PlanContext, group: Group) -> bool:
    """Whether every load is issued before the wait: there is none to issue earlier."""
    loads = np.flatnonzero(context.analysis.is_of(*_LOADS))
    return int(loads[-1]) <= max(*group.wait_rows, *group.cause_rows)


def _sketch(load: str, *, is_repeated: bool, is_last: bool) -> Sketch:
    if is_repeated:
        return Sketch(
            ("for each element:", f"    {load}", "    <use it>  # waits"),
            (
                "for each group of elements:",
                f"    {load}  # for all of the group",
                "    <use them in the same order>",
            ),
        )
    if is_last:
        return Sketch(
            (load, "<use it>  # waits"),
            (
                f"{load}  # of several elements, or a wider one",
                "<other work>",
                "<use them in the same order>",
            ),
        )
    return Sketch(
        (load, "<use it>  # waits"),
        (f"{load}  # with all other loads, before any use", "<other work>", "<use it>"),
    )
