"""Waves with nothing to issue, though nothing stalls: the next instruction is not there yet."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.analyze.capture.plan.context import Opportunity, PlanContext
from wavescope.model.capture import Flags

_LEAST_PERCENT = 5.0
"""Of all waves' time: every wave begins with a fetch."""


def find(context: PlanContext, free: Flags) -> list[Opportunity]:  # noqa: ARG001  claims nothing
    """One opportunity for all gaps in which no traced wave of the SIMD did anything."""
    if not context.has_waves:
        return []
    is_other = context.analysis.is_of(Kind.END) | context.is_polling
    idle = np.where(is_other, 0, context.idle_before_row)
    cycles = int(idle.sum())
    if context.share(cycles) < _LEAST_PERCENT:
        return []
    rows = np.argsort(-idle, kind="stable")[: int((idle > 0).sum())]
    return [
        Opportunity(
            pattern="idle-gaps",
            title="waves have nothing to issue, though nothing stalls",
            evidence=f"{context.share(cycles):.1f} % of all wave time: {cycles:,} cycles in which "
            f"no traced wave of the SIMD did anything; most before {context.quoted(tuple(rows))}",
            cause="the next instruction has not come from the instruction cache, or a register it "
            "needs is not written yet: the trace does not tell which",
            fix="make the code smaller (less unrolling, fewer copies), so that it stays in the "
            "cache and waves share it, put independent instructions between dependent ones, or run "
            "more waves; counters tell of the cache: `wavescope counters DIR -b ins_cache`",
            where=context.place(int(rows[0])),
            gain_cycles=cycles,
            gain_basis="upper bound: these gaps removed from the wave timelines",
            numbers={"idle_cycles": cycles, "row": int(rows[0])},
        )
    ]
