"""A load inside the matrix loop that too few matrix instructions hide."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.analyze.capture.plan.context import Group, Opportunity, PlanContext, Sketch
from wavescope.model.capture import Flags


def find(context: PlanContext, free: Flags) -> list[Opportunity]:
    """Loads of a loop with matrix instructions whose stall, own or at the wait, is exposed."""
    chosen = free & context.cause_is(Kind.VMEM_LOAD, Kind.LOAD_TO_LDS)
    chosen &= context.in_matrix_loop[context.pieces.cause_row]
    return [_opportunity(context, group) for group in context.groups(chosen)]


def _opportunity(context: PlanContext, group: Group) -> Opportunity:
    hidden, matrix, latency = context.hiding(group.pieces)
    loop = context.loops[int(context.loop_of_row[group.cause_rows[0]])]
    is_matrix = context.is_executed_matrix
    matrix_rows = [row for row in range(loop.first, loop.last + 1) if is_matrix[row]]
    cycles = int(np.median(context.matrix_cycles[matrix_rows]))
    needed = -(-latency // max(cycles, 1))
    waited = (
        f"; {matrix} matrix instructions ({hidden:,} cycles) lie between load and wait, the data "
        f"takes {latency:,} cycles: {needed} matrix instructions of {cycles} cycles would hide it"
        if latency
        else "; the load itself stalls: the memory queue is full when it comes"
    )
    load = context.distinct_lines(group.cause_rows, 1)[0]
    use = context.line_text(matrix_rows[0])
    return Opportunity(
        pattern="load-in-matrix-loop",
        title="a load inside the matrix loop has too little work to hide behind",
        evidence=context.stall_evidence(group) + waited,
        cause=f"load and matrix instructions alternate in the loop of rows {loop.first} to "
        f"{loop.last} ({len(matrix_rows)} matrix instructions, {loop.rounds:,} rounds)",
        fix="batch the loads before the loop or issue them one round ahead into other registers, "
        "so that all matrix instructions of a round hide them",
        where=group.where,
        pieces=group.pieces,
        sketch=Sketch(
            ("for each step:", f"    {load}  # waits {latency:,} cycles", f"    {use}"),
            (
                f"{load}  # for the first step, or all steps",
                "for each step:",
                f"    {load}  # of the next step",
                f"    {use}  # hides it",
            ),
        ),
        numbers={
            "hidden_cycles": hidden,
            "latency_cycles": latency,
            "matrix_between": matrix,
            "matrix_needed": needed,
            "loop_first_row": loop.first,
            "loop_last_row": loop.last,
        },
    )
