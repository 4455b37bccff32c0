"""A small load (a scale, a zero point, a table entry) issued too close to where it is used."""

from __future__ import annotations

import re

import numpy as np

from wavescope.analyze.capture.instruction_kinds import Kind, operands_of
from wavescope.analyze.capture.plan.context import Group, Opportunity, PlanContext, Sketch
from wavescope.model.capture import Flags

_NARROW = re.compile(
    r"(buffer|global|flat)_load_(d16_)?(hi_)?([us]byte|[us]short|dword|[iu]8|[iu]16|b16|b32|format_x)"
    r"(_d16|_hi)*\Z"
)
_SCALES = re.compile(r"v_(pk_)?(mul|fma|mad|mac|fmac|ldexp)|v_mfma_scale|v_cvt_scalef32")
_REACH = 48


def find(context: PlanContext, free: Flags) -> list[Opportunity]:
    """Narrow loads whose value scales something soon after the wait, beside wide loads."""
    instructions = context.analysis.instructions
    loads = context.analysis.is_of(Kind.VMEM_LOAD, Kind.LOAD_TO_LDS) & (instructions.hits > 0)
    narrow = np.array(
        [bool(_NARROW.match(mnemonic)) for mnemonic in instructions.mnemonics] or [False]
    )
    is_narrow = loads & narrow[instructions.mnemonic_code] if len(instructions) else loads
    if not is_narrow.any() or not (loads & ~is_narrow).any():
        return []
    pieces = context.pieces
    chosen = free & pieces.is_wait & is_narrow[pieces.cause_row]
    found = np.flatnonzero(chosen)
    pairs = pieces.cause_row[found].astype(np.int64) * len(instructions) + pieces.rows_of(found)
    used_at = {
        (cause, wait): _use(context, cause, wait)
        for cause, wait in (divmod(pair, len(instructions)) for pair in np.unique(pairs).tolist())
    }
    scaling = [
        cause * len(instructions) + wait
        for (cause, wait), use in used_at.items()
        if use is not None
    ]
    chosen[found] = np.isin(pairs, scaling)
    return [_opportunity(context, group, used_at) for group in context.groups(chosen)]


def _use(context: PlanContext, cause: int, wait: int) -> int | None:
    """The row that scales with what `cause` loaded, if it is the first reader after the wait."""
    instructions = context.analysis.instructions
    loaded = operands_of(instructions.text[cause]).written
    for row in range(wait + 1, min(wait + 1 + _REACH, len(instructions))):
        text = instructions.text[row]
        if loaded & operands_of(text).read:
            return row if _SCALES.match(text.lstrip()) else None
    return None


def _opportunity(
    context: PlanContext, group: Group, used_at: dict[tuple[int, int], int | None]
) -> Opportunity:
    hidden, matrix, latency = context.hiding(group.pieces)
    load = group.cause_rows[0]
    use = next(use for (cause, _), use in used_at.items() if cause == load and use is not None)
    return Opportunity(
        pattern="scale-load",
        title="a scale is loaded too close to its use",
        evidence=f"{context.stall_evidence(group)}; used by `{context.instruction(use)}` "
        f"({context.place(use)}); issued {hidden:,} cycles and {matrix} matrix instructions before "
        f"it is needed, arrives after {latency:,}",
        cause="the load is issued after the wide loads of its block and waits behind them",
        fix="issue it at the very beginning of the block, before the wide loads, or a block ahead",
        where=group.where,
        pieces=group.pieces,
        sketch=Sketch(
            (
                "<wide loads of the block>",
                f"{context.line_text(load)}  # issued here",
                f"{context.line_text(use)}  # needed {hidden:,} cycles later",
            ),
            (
                f"{context.line_text(load)}  # first of the block",
                "<wide loads of the block>",
                context.line_text(use),
            ),
        ),
        numbers={"hidden_cycles": hidden, "latency_cycles": latency, "matrix_between": matrix},
    )
