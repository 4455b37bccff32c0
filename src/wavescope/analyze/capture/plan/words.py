"""Sentences that several patterns say."""

from __future__ import annotations

from wavescope.analyze.capture.plan.context import Group, PlanContext

_SHOWN = 3


def stall_evidence(context: PlanContext, group: Group) -> str:
    """How much stall, where it shows, and which instructions cause it."""
    count = len(group.pieces)
    if not context.has_waves:
        count = int(context.decoded.instructions.hits[list(group.wait_rows)].sum())
    exposed = f"{group.exposed:,} exposed of " if context.has_waves else ""
    cost = (
        f"{context.share(group.exposed):.1f} % of all wave time: {exposed}{group.stall:,} stalled "
        f"cycles in {count:,} executions"
    )
    words = [cost, "caused by " + quoted(context, group.cause_rows)]
    causes = set(group.cause_rows)
    shown = tuple(row for row in group.wait_rows if row not in causes)
    if shown and (group.pieces >= context.pieces.own_count).any():
        words.append("shows at " + quoted(context, shown))
    return "; ".join(words)


def quoted(context: PlanContext, rows: tuple[int, ...]) -> str:
    """`instruction` (row 12), the first few of them."""
    named = [f"`{context.instruction(row)}` (row {row})" for row in rows[:_SHOWN]]
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return ", ".join(named) + more


def distinct_lines(context: PlanContext, rows: tuple[int, ...], most: int = _SHOWN) -> list[str]:
    """The source lines (or instructions) of rows, each once."""
    found: dict[str, None] = {}
    for row in rows:
        found[context.line_text(row)] = None
        if len(found) == most:
            break
    return list(found)
