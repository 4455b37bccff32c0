"""Registers spilled to scratch memory: every access goes through the memory system."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.analyze.capture.plan.context import Opportunity, PlanContext, Sketch
from wavescope.model.capture import Flags


def find(context: PlanContext, free: Flags) -> list[Opportunity]:
    """One opportunity for all spills of the kernel."""
    instructions = context.analysis.instructions
    scratch = context.analysis.is_of(Kind.SCRATCH) & (instructions.hits > 0)
    if not scratch.any():
        return []
    rows = tuple(np.flatnonzero(scratch)[np.argsort(-instructions.hits[scratch])].tolist())
    pieces = np.flatnonzero(free & context.cause_is(Kind.SCRATCH))
    stall = context.pieces.stall_of(pieces)
    exposed = int(context.pieces.exposed[pieces].sum())
    facts = context.analysis.capture.kernel_facts
    size = f", {facts.scratch_bytes} bytes per work-item" if facts and facts.scratch_bytes else ""
    executed = int(instructions.hits[scratch].sum())
    return [
        Opportunity(
            pattern="spills",
            title="registers are spilled to scratch memory",
            evidence=f"{len(rows)} scratch instructions executed {executed:,} times{size}; "
            f"{exposed:,} exposed of {stall:,} stalled cycles; most often {context.quoted(rows)}",
            cause="the kernel needs more registers than it may have, so the compiler keeps some in "
            "memory",
            fix="shorten live ranges (smaller tiles, fewer values held across the loop) or allow "
            "more registers; a cap on registers that spills costs more than the wave it buys",
            where=context.place(rows[0]),
            pieces=pieces,
            sketch=Sketch(
                tuple(f"{context.instruction(row)}  // spill" for row in rows[:3]),
                (
                    "// no scratch instruction: the value stays in a register,",
                    "// or is computed again",
                ),
            ),
            numbers={"scratch_rows": len(rows), "scratch_executions": executed},
        )
    ]
