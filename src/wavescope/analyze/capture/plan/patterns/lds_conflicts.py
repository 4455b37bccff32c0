"""LDS bank conflicts, where counters of the same kernel say that there are any."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.analyze.capture.plan.context import Opportunity, PlanContext, Sketch
from wavescope.model.capture import Flags

_CONFLICT_PERCENT = 10.0


def find(context: PlanContext, free: Flags) -> list[Opportunity]:  # noqa: ARG001  claims nothing
    """One opportunity where conflicts take at least a tenth of the LDS' busy cycles."""
    share = _conflict_percent(context)
    if share is None or share < _CONFLICT_PERCENT:
        return []
    of_lds = np.flatnonzero(context.cause_is(Kind.LDS, Kind.LDS_ATOMIC, Kind.LDS_PERMUTE))
    where, exposed, accesses = "whole kernel", 0, "none of them stalls in this trace"
    if len(of_lds):
        group = context.group_of(of_lds)
        where, exposed, accesses = group.where, group.exposed, context.quoted(group.cause_rows)
    return [
        Opportunity(
            pattern="lds-conflicts",
            title="LDS accesses conflict on their banks",
            evidence=f"{share:.1f} % of the LDS' busy cycles are bank conflicts by the counters; "
            f"LDS accesses expose {exposed:,} cycles here: {accesses}",
            cause="lanes of one access meet in the same bank at different addresses",
            fix="pad rows of the tile by one bank width or swizzle the address (xor the column "
            "with the row) so that the lanes of an access fall into different banks",
            where=where,
            gain_cycles=round(exposed * share / 100),
            gain_basis="upper bound: the conflicts' share of the exposed stall by LDS accesses",
            sketch=Sketch(
                ("lds[row * WIDTH + column]",),
                ("lds[row * WIDTH + (column ^ swizzle(row))]",),
            ),
            numbers={"conflict_percent": share, "exposed_cycles": exposed},
        )
    ]


def _conflict_percent(context: PlanContext) -> float | None:
    values = context.counters.values if context.counters else {}
    conflicts, busy = values.get("SQ_LDS_BANK_CONFLICT"), values.get("SQ_LDS_IDX_ACTIVE")
    if conflicts is not None and busy:
        return 100 * min(conflicts / busy, 1.0)
    return values.get("LDSBANKCONFLICT")
