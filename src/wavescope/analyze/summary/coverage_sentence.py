"""Coverage in one sentence, with the step that would raise it."""

from __future__ import annotations

import numpy as np

from wavescope.model.trace import Trace
from wavescope.units import count_text


def coverage_sentence(trace: Trace) -> str:
    """Such as 'timed 3.8 % of 5,490,000 dispatches: ... replayed from graphs, ...'."""
    table = trace.coverage
    if not len(table):
        return "the recorder counted no dispatches"
    table.load("seen", "timed", "skipped", "lost", "reason")
    seen, timed = (int(np.maximum(table[name], 0).sum()) for name in ("seen", "timed"))
    if not seen:
        return "the program dispatched no kernels"
    if timed >= seen:
        return f"timed all {count_text(seen)} dispatches"
    share = 100 * timed / seen
    shown = f"{share:.1f}" if share < 99.95 else "over 99.9"
    sentence = f"timed {shown} % of {count_text(seen)} dispatches"
    reasons = _missing_by_reason(trace)
    if not reasons:
        return f"{sentence}; the others are not accounted for"
    parts = [f"{count_text(count)} {reason}" for reason, count in reasons]
    return f"{sentence}: {'; '.join(parts)}"


def _missing_by_reason(trace: Trace) -> list[tuple[str, int]]:
    """Why dispatches are missing and how many, the most frequent reason first."""
    table = trace.coverage
    missing = np.maximum(table["skipped"], 0) + np.maximum(table["lost"], 0)
    totals: dict[str, int] = {}
    for reason, count in zip(table.strings("reason"), missing.tolist(), strict=True):
        if count:
            stated = reason or "for no stated reason"
            totals[stated] = totals.get(stated, 0) + count
    return sorted(totals.items(), key=lambda row: -row[1])
