"""Values in scratch memory, spilled or indexed: every access goes through the memory system."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.analyze.capture.plan.context import Opportunity, PlanContext, Sketch
from wavescope.model.capture import Flags


class _Words(NamedTuple):
    """What is said of accesses to scratch memory."""

    title: str
    cause: str
    fix: str


_INDEXED = re.compile(r"scratch_load\w* [va][\d\[][^,]*, v|scratch_store\w* v", re.ASCII)
"""Accesses whose address is in a vector register; a spill's is known to the compiler."""
_SPILLED = _Words(
    "registers are spilled to scratch memory",
    "the kernel needs more registers than it may have, so the compiler keeps some in memory",
    "shorten live ranges (smaller tiles, fewer values held across the loop) or allow more "
    "registers; a cap on registers that spills costs more than the wave it buys",
)
_ARRAY = _Words(
    "an array of each work-item lies in scratch memory",
    "registers cannot be indexed by values that only the run knows, so the compiler keeps the "
    "array in memory",
    "make its indices constants (unroll the loops over it), make it smaller, or keep it in LDS",
)


def find(context: PlanContext, free: Flags) -> list[Opportunity]:
    """One opportunity for all accesses to scratch memory."""
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
    is_array = all(_INDEXED.match(context.instruction(row)) for row in rows)
    words = _ARRAY if is_array else _SPILLED
    return [
        Opportunity(
            pattern="spills",
            title=words.title,
            evidence=f"{len(rows)} scratch instructions executed {executed:,} times{size}; "
            f"{exposed:,} exposed of {stall:,} stalled cycles; most often {context.quoted(rows)}",
            cause=words.cause,
            fix=words.fix,
            where=context.place(rows[0]),
            pieces=pieces,
            sketch=Sketch(
                tuple(f"{context.instruction(row)}  // memory" for row in rows[:3]),
                (
                    "// no scratch instruction: the value stays in a register,",
                    "// or is computed again",
                ),
            ),
            numbers={"scratch_rows": len(rows), "scratch_executions": executed},
        )
    ]
