"""LDS reads whose matrix instruction follows at once: their latency is exposed each time."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.instruction_kinds import Kind, operands_of
from wavescope.analyze.capture.plan.context import Group, Opportunity, PlanContext, Sketch
from wavescope.model.capture import Flags, Integers, Rows

_SOON = 4
_FEW_MATRIX = 1
_REACH = 16


def find(context: PlanContext, free: Flags) -> list[Opportunity]:
    """Waits for LDS reads with at most one matrix instruction in between and one right after."""
    pieces = context.pieces
    chosen = free & pieces.is_wait & _is_read(context)[pieces.cause_row]
    if not chosen.any():
        return []
    reads = np.flatnonzero(chosen)
    event, cause = pieces.waits_of(reads)
    between = context.matrix_between(cause, event)
    is_direct = (between <= _FEW_MATRIX) & (_matrix_events_after(context, event) > 0)
    is_direct &= _feeds_matrix(context, event)
    chosen[reads[~is_direct]] = False
    return [_opportunity(context, group) for group in context.groups(chosen)]


def _is_read(context: PlanContext) -> Flags:
    """By row whether it reads LDS: no matrix instruction needs what is written there."""
    instructions = context.analysis.instructions
    reads = [mnemonic.startswith(("ds_read", "ds_load")) for mnemonic in instructions.mnemonics]
    return np.array(reads or [False], np.bool_)[instructions.mnemonic_code]


def _feeds_matrix(context: PlanContext, events: Rows) -> Flags:
    """Which waits are for what a matrix instruction soon reads: as seen once for each row."""
    _, first, place = np.unique(
        context.analysis.executed.row[events], return_index=True, return_inverse=True
    )
    seen = [_feeds_matrix_once(context, event) for event in events[first].tolist()]
    return np.array(seen, np.bool_)[place.reshape(-1)]


def _feeds_matrix_once(context: PlanContext, event: int) -> bool:
    executed, dependencies = context.analysis.executed, context.analysis.dependencies
    texts, is_matrix = context.analysis.instructions.text, context.is_executed_matrix
    first, last = np.searchsorted(dependencies.wait_event, [event, event + 1]).tolist()
    producers = dependencies.producer_event[
        dependencies.producer_offsets[first] : dependencies.producer_offsets[last]
    ]
    loaded = {
        one
        for row in np.unique(executed.row[producers]).tolist()
        for one in operands_of(texts[row]).written
    }
    end = executed.offsets[np.searchsorted(executed.offsets, event, side="right")]
    later = executed.row[event + 1 : min(event + 1 + _REACH, int(end))].tolist()
    return any(is_matrix[row] and loaded & operands_of(texts[row]).read for row in later)


def _matrix_events_after(context: PlanContext, events: Rows) -> Integers:
    """How many of the next few events of the same wave are matrix instructions."""
    executed = context.analysis.executed
    wave = np.searchsorted(executed.offsets, events, side="right")
    last = np.minimum(events + 1 + _SOON, executed.offsets[wave])
    return context.matrix_between(np.minimum(events + 1, last), last)


def _opportunity(context: PlanContext, group: Group) -> Opportunity:
    hidden, matrix, latency = context.hiding(group.pieces)
    read = context.distinct_lines(group.cause_rows, 1)[0]
    use = context.line_text(_next_matrix_row(context, group.wait_rows[0]))
    return Opportunity(
        pattern="lds-before-matrix",
        title="LDS is read directly before the matrix instruction that needs it",
        evidence=f"{context.stall_evidence(group)}; {hidden:,} cycles and {matrix} matrix "
        f"instructions lie between read and wait, the data takes {latency:,} cycles",
        cause="read and use are in the same step, so that each step waits for its own read",
        fix="issue all reads of the step first and its matrix instructions after them, or read for "
        "the next step during this one",
        where=group.where,
        pieces=group.pieces,
        sketch=_sketch(read, use, is_repeated=context.is_repeated(group.wait_rows[0])),
        numbers={"hidden_cycles": hidden, "latency_cycles": latency, "matrix_between": matrix},
    )


def _next_matrix_row(context: PlanContext, row: int) -> int:
    later = np.flatnonzero(context.analysis.is_of(Kind.MATRIX))
    later = later[later > row]
    return int(later[0]) if len(later) else row


def _sketch(read: str, use: str, *, is_repeated: bool) -> Sketch:
    if is_repeated:
        return Sketch(
            ("for each step:", f"    {read}", f"    {use}  # waits for the read above"),
            ("for each step:", f"    {read}  # all reads first", "for each step:", f"    {use}"),
        )
    return Sketch(
        (read, f"{use}  # waits for the read above"),
        ("<the other reads>", f"{read}  # all reads first", "<other work>", use),
    )
