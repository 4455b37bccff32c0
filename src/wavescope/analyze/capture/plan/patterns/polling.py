"""Waves that read one place again and again until something else changes it."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.plan.context import Opportunity, PlanContext
from wavescope.model.capture import Flags

_DECIDES_PERCENT = 40.0
"""Of all waves' time: from then on what the waves poll for decides how long they take."""


def find(context: PlanContext, free: Flags) -> list[Opportunity]:
    """One opportunity for all loops that only wait for others."""
    chosen = np.flatnonzero(free & context.is_polling[context.pieces.cause_row])
    stall = context.pieces.stall_of(chosen)
    if context.share(stall) < context.LEAST_PERCENT:
        return []
    group = context.group_of(chosen)
    return [
        Opportunity(
            pattern="polling",
            title="waves read one place again and again until something else changes it",
            evidence=context.stall_evidence(group),
            cause="the loop reads the same address each round and does nothing else: another wave, "
            "kernel or GPU comes later than these waves",
            fix="find what sets the value and make that come earlier; no change of this loop or of "
            "its load does. s_sleep between reads leaves memory and SIMD to others",
            where=group.where,
            pieces=chosen,
            numbers={"stall_percent": context.share(stall)},
            comes_first=context.share(stall) >= _DECIDES_PERCENT,
            promises=False,
        )
    ]
