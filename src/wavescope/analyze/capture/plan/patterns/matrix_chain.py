"""Instructions that wait for the result of a matrix instruction just before them."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.instruction_kinds import Kind, operands_of
from wavescope.analyze.capture.plan.context import Group, Opportunity, PlanContext, Sketch
from wavescope.model.capture import Flags

_READERS = (
    Kind.MATRIX,
    Kind.VALU,
    Kind.VALU_TRANSCENDENTAL,
    Kind.VALU_PERMUTE,
    Kind.NOP,
    Kind.VMEM_STORE,
    Kind.LDS,
)
_LOOK_BACK = 8


def find(context: PlanContext, free: Flags) -> list[Opportunity]:
    """Stalled instructions that read what a matrix instruction of the last few wrote."""
    pieces = context.pieces
    chosen = free & pieces.is_own & context.cause_is(*_READERS)
    is_matrix = context.analysis.is_of(Kind.MATRIX)
    producers = {
        row: producer
        for row in np.unique(pieces.cause_row[chosen]).tolist()
        if (producer := _producer(context, row, is_matrix)) is not None
    }
    is_reader = np.zeros(len(is_matrix), np.bool_)
    is_reader[list(producers)] = True
    chosen &= is_reader[pieces.cause_row]
    return [_opportunity(context, group, producers) for group in context.groups(chosen)]


def _producer(context: PlanContext, row: int, is_matrix: Flags) -> int | None:
    """The matrix instruction before `row` whose result it reads; a nop stands for the next row."""
    instructions = context.analysis.instructions
    reader = row
    if context.analysis.kind(row) is Kind.NOP and row + 1 < len(instructions):
        reader = row + 1
    read = operands_of(instructions.text[reader]).read
    for before in range(row - 1, max(row - 1 - _LOOK_BACK, -1), -1):
        if is_matrix[before] and read & operands_of(instructions.text[before]).written:
            return before
    return None


def _opportunity(context: PlanContext, group: Group, producers: dict[int, int]) -> Opportunity:
    reader = group.cause_rows[0]
    producer = producers[reader]
    texts = context.analysis.instructions.text
    accumulates = (
        bool(operands_of(texts[producer]).written & operands_of(texts[reader]).last_read)
        and context.analysis.kind(reader) is Kind.MATRIX
    )
    cause = (
        "matrix instructions accumulate into the same registers one after the other"
        if accumulates
        else "the result of a matrix instruction is read before it is committed"
    )
    return Opportunity(
        pattern="matrix-chain",
        title="matrix instructions wait for each other's results",
        evidence=f"{context.stall_evidence(group)}; reads what "
        f"`{context.instruction(producer)}` (row {producer}, {reader - producer} before) writes",
        cause=cause,
        fix="put independent work between them: several accumulators in turn, or the matrix "
        "instructions of another tile; time in which the matrix unit works counts as hidden here",
        where=group.where,
        pieces=group.pieces,
        sketch=Sketch(
            (
                context.instruction(producer),
                f"{context.instruction(reader)}  // needs the result above",
            ),
            (
                context.instruction(producer),
                "<independent matrix instructions, other accumulators>",
                context.instruction(reader),
            ),
        ),
        numbers={"producer_row": producer, "reader_row": reader, "accumulates": accumulates},
    )
