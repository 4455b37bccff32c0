"""Few waves at once and stall that nothing hides: what keeps more waves away."""

from __future__ import annotations

import math

from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.analyze.capture.kernel_occupancy import TracedOccupancy
from wavescope.analyze.capture.plan.context import Opportunity, PlanContext, Sketch
from wavescope.model.capture import Flags

_UNEXPLAINED = " and no other pattern explains"
_FEW_WAVES = 4
_EXPOSED_PERCENT = 10.0
_LARGEST_CUT = 1 / 3
"""Of a resource: more than that halves the tile of a matrix kernel, which costs what it gains."""


def find(context: PlanContext, free: Flags) -> list[Opportunity]:
    """One opportunity where a resource limits occupancy and much stall is exposed.

    A kernel with matrix instructions pipelines its loads with few waves on purpose: there only
    stall counts that no other pattern explains, and only a small change is worth while.
    """
    traced = context.occupancy
    has_matrix = len(context.analysis.events_of(Kind.MATRIX)) > 0
    exposed = int(
        context.pieces.exposed[free].sum() if has_matrix else context.pieces.exposed.sum()
    )
    if traced is None or context.share(exposed) < _EXPOSED_PERCENT:
        return []
    occupancy = traced.occupancy
    step = occupancy.next_step
    if step.obstacle or not step.changes or not 0 < occupancy.waves_per_simd < _FEW_WAVES:
        return []
    if has_matrix and any(change.excess > _LARGEST_CUT * change.used for change in step.changes):
        return []
    measured = traced.measured
    if measured is None and not traced.is_lds_known:
        return []
    if measured is not None and not _agrees(measured.peak, occupancy.waves_per_simd):
        return []
    limiter = " and ".join(each.value for each in occupancy.bound_by)
    added = 1 - occupancy.waves_per_simd / step.waves_per_simd
    bound = min(exposed, round(context.lifetime * added))
    seen = f", {measured.mean_while_busy:.2f} measured on average" if measured else ""
    used = occupancy.resources
    return [
        Opportunity(
            pattern="low-occupancy",
            title=f"only {occupancy.waves_words} per SIMD, limited by {limiter}",
            evidence=f"{occupancy.waves_words} of "
            f"{occupancy.chip.waves_per_simd} fit{seen}; {context.share(exposed):.1f} % of all "
            f"wave time is stall that nothing hides{_UNEXPLAINED if has_matrix else ''}",
            cause=f"{limiter}: VGPR {used.vgprs}, AGPR {used.agprs}, {_lds(traced)}, "
            f"workgroup {used.workgroup_size} ({traced.register_origin}) on {traced.chip_words}",
            fix=f"{step.words()}; never by a register cap that spills",
            where="whole kernel",
            gain_cycles=bound,
            gain_basis=f"upper bound: the smaller of that stall and of what "
            f"{step.waves_words} instead of {occupancy.waves_words} "
            "can add, if each wave ran as fast as now",
            sketch=Sketch(
                tuple(f"{change.limiter.value}: {change.used:,}" for change in step.changes),
                tuple(f"{change.limiter.value}: {change.allowed:,}" for change in step.changes),
            ),
            numbers={
                "waves_per_simd": occupancy.waves_per_simd,
                "next_waves_per_simd": step.waves_per_simd,
            },
        )
    ]


def _agrees(peak: int, fitting: float) -> bool:
    """Whether as many waves were there as fit: fewer have another cause, more another kernel."""
    return int(fitting) <= peak <= math.ceil(fitting)


def _lds(traced: TracedOccupancy) -> str:
    if not traced.is_lds_known:
        return "LDS unknown"
    return f"LDS {traced.occupancy.resources.lds_bytes} bytes"
